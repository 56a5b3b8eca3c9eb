//! How a page changed since its last fetch.

use seine_parse::page::{Before, Doubt, FailureReason, Outcome, PageChange, PageEvent, Withheld};

use super::Case;
use super::doubt::leads_nowhere;

/// The change of a page that a worker fetched.
pub(super) fn of(case: &Case, withheld: Option<&Withheld>) -> Option<PageChange> {
    let known = case.known;
    let revisit = &case.policy.config.frontier.revisit;
    let before = known.was_found.then(|| known.known.as_before(revisit, case.event.ended_ms));
    change(case.event, withheld, before, &case.reading.digest)
}

/// Decides the change for a final answer. `withheld`: why it is not delivered. `before` is the record of the page, if it existed; `now` is the digest of
/// the content just fetched.
///
/// Returns None if no page existed and none exists now. Also returns None if the answer says nothing about the
/// page, so the page stays as it was: a 403 or 500, a cut body, or a first 404.
pub fn change(
    event: &PageEvent,
    withheld: Option<&Withheld>,
    before: Option<Before<'_>>,
    now: &[u8; 32],
) -> Option<PageChange> {
    let was_delivered = before.is_some_and(|before| !before.was_withheld);
    match &event.outcome {
        _ if withheld.is_some_and(Withheld::is_passing) => None,
        Outcome::Response(response) if response.is_cut() && before.is_some() => None,
        _ if withheld.is_some() => was_delivered.then_some(PageChange::Gone),
        Outcome::Failure(failure) => {
            let takes_away = |before: Before| match leads_nowhere(event, before.final_url) {
                // For an hour it may lead to a login page. So a second fetch must confirm it.
                true => before.believed.takes(Doubt::Elsewhere),
                false if failure.reason == FailureReason::UnwantedType => before.believed.takes(Doubt::UnwantedType),
                false => failure.reason.takes_away(),
            };
            before.is_some_and(takes_away).then_some(PageChange::Gone)
        }
        Outcome::Response(response) => match seen(response.page_status(), before, now)? {
            PageChange::Gone => Some(PageChange::Gone),
            seen if was_delivered => Some(seen),
            // Destinations do not have a page that was withheld, so it is new to them. A 304 brings no content to
            // deliver.
            _ => response.is_success().then_some(PageChange::New),
        },
    }
}

/// Compares the fetched page with its record. Ignores whether the page was delivered. `status`: see
/// [`Response::page_status`].
///
/// [`Response::page_status`]: seine_parse::page::Response::page_status
pub fn seen(status: u16, before: Option<Before<'_>>, now: &[u8; 32]) -> Option<PageChange> {
    let was_there = before.is_some();
    let is_missing = before.is_some_and(|before| before.believed.takes(Doubt::Missing));
    let before = before.and_then(|before| before.digest);
    match (status, was_there) {
        (200..300, false) => Some(PageChange::New),
        (200..300, true) if before == Some(now) => Some(PageChange::Unchanged),
        (200..300, true) => Some(PageChange::Changed),
        (304, true) if before.is_some() => Some(PageChange::Unchanged),
        (404 | 410, true) if is_missing => Some(PageChange::Gone),
        _ => None,
    }
}
