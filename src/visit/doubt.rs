//! What an answer says against a page that was delivered. A mishap of an hour says the same as the truth, so a page leaves its destinations only
//! when a second look, `confirm_gone` after the first, agrees. Pure functions.

use crate::page::{Doubt, EpochMs, FailureReason, Outcome, PageEvent, Withheld};
use crate::parse::url::{host, path_and_query};

/// What is known of the page, and was delivered.
pub struct Delivered<'a> {
    pub digest: Option<&'a [u8; 32]>,
    /// Where it came from, if redirects led there.
    pub final_url: Option<&'a str>,
    /// It asked not to be indexed already, and that was not obeyed.
    pub noindex: bool,
    /// When it was last there.
    pub alive_ms: EpochMs,
}

/// What came.
pub struct Came<'a> {
    pub event: &'a PageEvent,
    pub digest: &'a [u8; 32],
    /// Its content is empty.
    pub is_empty: bool,
    /// When the robots.txt was fetched that counted for it.
    pub robots_ms: Option<EpochMs>,
}

/// What an answer says against a page that it did not say before, and since when that is known. 404 and 410 are not among it: they are no
/// page that could be delivered by mistake, and [`PageChange::judge`](crate::page::PageChange::judge) has them wait.
pub fn doubt(came: &Came, page: &Delivered) -> Option<(Doubt, EpochMs)> {
    let event = came.event;
    let now = event.ended_ms;
    match (&event.outcome, &event.withheld) {
        (Outcome::Failure(_), None) if event.leads_nowhere(page.final_url) => Some((Doubt::Elsewhere, now)),
        (Outcome::Failure(failure), None) if failure.reason == FailureReason::RobotsDenied => {
            // Of a page that was there after that robots.txt was known, it is no news: robots.txt is obeyed only now.
            let fetched_ms = came.robots_ms.filter(|fetched_ms| *fetched_ms > page.alive_ms)?;
            Some((Doubt::Forbidden, fetched_ms))
        }
        (_, Some(Withheld::Alias { target, .. })) if event.response().is_some() => {
            leads_elsewhere(target, event, page).then_some((Doubt::Elsewhere, now))
        }
        // The page is as it was, and its header is not.
        (Outcome::Response(response), Some(Withheld::Noindex)) if response.status == 304 => {
            (!page.noindex).then_some((Doubt::Noindex, now))
        }
        (Outcome::Response(response), withheld) if response.is_success() => {
            let is_same = page.digest == Some(came.digest);
            let is_elsewhere = !event.hops.is_empty() && !is_same && leads_elsewhere(&event.final_url, event, page);
            match withheld {
                _ if is_elsewhere => Some((Doubt::Elsewhere, now)),
                Some(Withheld::Noindex) => (!page.noindex).then_some((Doubt::Noindex, now)),
                None => (came.is_empty && !is_same).then_some((Doubt::Empty, now)),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// Whether redirects lead to another page than before. Another scheme, `www.` or query is the same page.
fn leads_elsewhere(target: &str, event: &PageEvent, page: &Delivered) -> bool {
    let before = page.final_url.unwrap_or(&event.url);
    place(target) != place(before)
}

fn place(url: &str) -> (Option<&str>, &str) {
    let name = host(url).map(|name| name.strip_prefix("www.").unwrap_or(name));
    (name, path_and_query(url).split('?').next().unwrap_or_default())
}
