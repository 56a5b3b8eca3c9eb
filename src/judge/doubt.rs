//! Unconfirmed removals. A temporary fault of a site looks like a removal, so a page is removed only when a second
//! fetch, `confirm_gone` after the first, agrees.

use seine_parse::page::{Doubt, EpochMs, FailureReason, Outcome, PageEvent, Withheld};
use seine_parse::url::{host, path_and_query};

use super::Case;

/// The sign of removal in an answer about a delivered page, and since when it is known. None if this fetch confirms the
/// removal. `withheld`: why the answer is not delivered.
///
/// 404 and 410 are not included, since they have no page to deliver; [`change`](super::change::change) delays them.
pub(super) fn unconfirmed(case: &Case, withheld: Option<&Withheld>) -> Option<(Doubt, EpochMs)> {
    let known = case.known;
    let is_delivered = known.known.state.is_live() && known.was_found && case.event.kind.is_delivered();
    if !is_delivered || !case.is_final() {
        return None;
    }
    let (doubt, seen_ms) = sign(case, withheld)?;
    let believed = case.policy.config.frontier.revisit.believed(known.known.doubt(), seen_ms);
    (!believed.takes(doubt)).then_some((doubt, seen_ms))
}

/// The sign of removal in this answer, if the last fetch did not show it already.
fn sign(case: &Case, withheld: Option<&Withheld>) -> Option<(Doubt, EpochMs)> {
    let (event, before) = (case.event, &case.known.known);
    let now = event.ended_ms;
    let final_url = before.final_url.as_deref();
    match (&event.outcome, withheld) {
        (Outcome::Failure(_), None) if leads_nowhere(event, final_url) => Some((Doubt::Elsewhere, now)),
        (Outcome::Failure(failure), None) if failure.reason == FailureReason::UnwantedType => {
            Some((Doubt::UnwantedType, now))
        }
        (Outcome::Failure(failure), None) if failure.reason == FailureReason::RobotsDenied => {
            // If the page was fetched after that robots.txt, the rules are not new: the configuration obeys them only
            // now.
            let alive_ms = before.history.map_or(before.fetched_ms, |history| history.alive_ms);
            let fetched_ms = case.context.robots_ms.filter(|fetched_ms| *fetched_ms > alive_ms)?;
            Some((Doubt::Forbidden, fetched_ms))
        }
        (_, Some(Withheld::Alias { target, .. })) if event.response().is_some() => {
            leads_elsewhere(target, event, final_url).then_some((Doubt::Elsewhere, now))
        }
        // The page is unchanged, but its header is new.
        (Outcome::Response(response), Some(Withheld::Noindex)) if response.status == 304 => {
            (!before.noindex).then_some((Doubt::Noindex, now))
        }
        (Outcome::Response(response), withheld) if response.is_success() => {
            let is_same = before.digest.as_ref() == Some(&case.reading.digest);
            let is_elsewhere =
                !event.hops.is_empty() && !is_same && leads_elsewhere(&event.final_url, event, final_url);
            match withheld {
                _ if is_elsewhere => Some((Doubt::Elsewhere, now)),
                Some(Withheld::Noindex) => (!before.noindex).then_some((Doubt::Noindex, now)),
                None => (case.reading.decoded == 0 && !is_same).then_some((Doubt::Empty, now)),
                Some(_) => None,
            }
        }
        _ => None,
    }
}

/// Whether redirects lead to another page than before. Another scheme, `www.` or query counts as the same page.
fn leads_elsewhere(target: &str, event: &PageEvent, final_url: Option<&str>) -> bool {
    place(target) != place(final_url.unwrap_or(&event.url))
}

/// Whether the URL redirects, since its last fetch, to what cannot be a page of this crawl: no fetchable URL, out of scope, a redirect
/// loop, an unknown host name, or a forbidden target. `before`: the final URL of the page known before, if it was redirected.
pub(super) fn leads_nowhere(event: &PageEvent, before: Option<&str>) -> bool {
    use FailureReason::{BadRedirect, PrivateAddress, RobotsDenied, TooManyRedirects, UnknownHost};
    let leads_elsewhere = !event.hops.is_empty() && before != Some(&event.final_url);
    event.failure().is_some_and(|failure| match failure.reason {
        BadRedirect | TooManyRedirects => true,
        RobotsDenied | PrivateAddress | UnknownHost => leads_elsewhere,
        _ => false,
    })
}

fn place(url: &str) -> (Option<&str>, &str) {
    let name = host(url).map(|name| name.strip_prefix("www.").unwrap_or(name));
    (name, path_and_query(url).split('?').next().unwrap_or_default())
}
