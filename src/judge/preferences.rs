//! Statements of publishers about the use of their pages.

use seine_frontier::Work;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{PageEvent, Response, Withheld};

use super::Case;

/// The statements of the host, and then those of the response (`own`: headers and markup). A truncated or unmodified
/// response keeps earlier statements that it does not repeat.
pub(super) fn all(
    event: &PageEvent,
    own: &[Statement],
    known: &Work,
    host_statements: Option<&[Statement]>,
) -> Option<Vec<Statement>> {
    let Some(response) = event.response() else { return host_statements.map(<[Statement]>::to_vec) };
    let repeats = response.status == 304 || response.is_cut();
    let is_anew = |before: &Statement| own.iter().any(|now| (now.scheme, now.source) == (before.scheme, before.source));
    let before = known.known.preferences.iter().flatten().filter(|before| repeats && !is_anew(before));
    Some(host_statements.unwrap_or_default().iter().chain(own).chain(before).cloned().collect())
}

/// Set if the publisher objects to a purpose of this crawl.
pub(super) fn opted_out(case: &Case, said: Option<&[Statement]>) -> Option<Withheld> {
    let response = case.event.response().filter(|_| case.event.kind.is_delivered() && case.is_final())?;
    let is_page = response.status == 304 || Response::is_success(response);
    let said = said.filter(|_| is_page)?;
    Some(Withheld::OptedOut(Box::new(case.policy.config.scope.purposes.opted_out(said)?)))
}
