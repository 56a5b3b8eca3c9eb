//! Unconfirmed removals. A temporary fault of a site looks like a removal, so a page is removed only when a second
//! fetch, `confirm_gone` after the first, agrees. Pure functions.

use seine_parse::page::{Doubt, EpochMs, FailureReason, Outcome, PageEvent, Withheld};
use seine_parse::url::{host, path_and_query};

/// The page as it was delivered.
pub struct Delivered<'a> {
    pub digest: Option<&'a [u8; 32]>,
    /// Its redirect target, if there were redirects.
    pub final_url: Option<&'a str>,
    /// It was noindex already, and the configuration did not obey that.
    pub noindex: bool,
    /// When the page was last live.
    pub alive_ms: EpochMs,
}

/// The new response.
pub struct Came<'a> {
    pub event: &'a PageEvent,
    pub digest: &'a [u8; 32],
    /// Its content is empty.
    pub is_empty: bool,
    /// When the robots.txt that applies was fetched.
    pub robots_ms: Option<EpochMs>,
}

/// The sign of removal in a response that the page did not show before, and since when it is known. 404 and 410 are not
/// included, since they have no page to deliver; [`change`](super::change::change) delays them.
pub fn doubt(came: &Came, page: &Delivered) -> Option<(Doubt, EpochMs)> {
    let event = came.event;
    let now = event.ended_ms;
    match (&event.outcome, &event.withheld) {
        (Outcome::Failure(_), None) if leads_nowhere(event, page.final_url) => Some((Doubt::Elsewhere, now)),
        (Outcome::Failure(failure), None) if failure.reason == FailureReason::RobotsDenied => {
            // If the page was fetched after that robots.txt, the rules are not new: the configuration obeys them only
            // now.
            let fetched_ms = came.robots_ms.filter(|fetched_ms| *fetched_ms > page.alive_ms)?;
            Some((Doubt::Forbidden, fetched_ms))
        }
        (_, Some(Withheld::Alias { target, .. })) if event.response().is_some() => {
            leads_elsewhere(target, event, page).then_some((Doubt::Elsewhere, now))
        }
        // The page is unchanged, but its header is new.
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

/// Whether the URL redirects, since its last fetch, to what cannot be a page of this crawl: no fetchable URL, out of scope, a redirect
/// loop, an unknown host name, or a forbidden target. `before`: the final URL of the page known before, if it was redirected.
pub fn leads_nowhere(event: &PageEvent, before: Option<&str>) -> bool {
    use FailureReason::{BadRedirect, PrivateAddress, RobotsDenied, TooManyRedirects, UnknownHost};
    let leads_elsewhere = !event.hops.is_empty() && before != Some(&event.final_url);
    event.failure().is_some_and(|failure| match failure.reason {
        BadRedirect | TooManyRedirects => true,
        RobotsDenied | PrivateAddress | UnknownHost => leads_elsewhere,
        _ => false,
    })
}

/// Whether redirects lead to another page than before. Another scheme, `www.` or query counts as the same page.
fn leads_elsewhere(target: &str, event: &PageEvent, page: &Delivered) -> bool {
    let before = page.final_url.unwrap_or(&event.url);
    place(target) != place(before)
}

fn place(url: &str) -> (Option<&str>, &str) {
    let name = host(url).map(|name| name.strip_prefix("www.").unwrap_or(name));
    (name, path_and_query(url).split('?').next().unwrap_or_default())
}
