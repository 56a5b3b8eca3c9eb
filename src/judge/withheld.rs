//! Why an answer is not delivered.

use seine_frontier::PageRecord;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{PageEvent, Response, Withheld};

use super::{Case, Owner, doubt, preferences};
use crate::config::Config;

/// Why the answer is not delivered, as far as the answer and the record tell. `said`: all statements about the use of
/// the page.
pub(super) fn withheld(case: &Case, said: Option<&[Statement]>) -> Option<Withheld> {
    let reason = alias(case).or_else(|| cut(case)).or_else(|| noindex(case));
    let reason = reason.or_else(|| preferences::opted_out(case, said)).or_else(|| irrelevant(case));
    // One bad answer does not remove a page.
    match doubt::unconfirmed(case, reason.as_ref()) {
        Some((doubt, seen_ms)) => Some(Withheld::Doubted { doubt, seen_ms }),
        None => reason,
    }
}

fn alias(case: &Case) -> Option<Withheld> {
    let Owner { url, target } = case.context.owner.clone()?;
    Some(Withheld::Alias { of: url, target })
}

/// A truncated page is not delivered while it will be retried, and never replaces a complete page. A destination that keeps
/// removed pages may still have the complete page of a URL that is gone or an alias now.
fn cut(case: &Case) -> Option<Withheld> {
    let is_cut = case.event.response().is_some_and(Response::is_cut);
    (is_cut && (!case.is_final() || case.known.was_found || case.known.had_page)).then_some(Withheld::Cut)
}

fn noindex(case: &Case) -> Option<Withheld> {
    let is_obeyed = case.policy.config.scope.obey_noindex && case.is_final();
    let before = case.known.known.noindex;
    (is_obeyed && is_noindex(case.event, case.reading.noindex, before)).then_some(Withheld::Noindex)
}

/// The page is not relevant, and such pages are withheld.
fn irrelevant(case: &Case) -> Option<Withheld> {
    let is_left_out = case.policy.config.frontier.focus.relevant_only && case.is_final();
    let is_relevant = case.reading.relevance?.is_relevant;
    (is_left_out && !is_relevant).then_some(Withheld::Irrelevant)
}

/// Why a known page is not delivered, by the settings of today. `said`: all statements about its use, as far as they are
/// known.
pub(crate) fn standing(page: &PageRecord, said: &[Statement], config: &Config) -> Option<Withheld> {
    if page.noindex && config.scope.obey_noindex {
        return Some(Withheld::Noindex);
    }
    if let Some(opted_out) = config.scope.purposes.opted_out(said) {
        return Some(Withheld::OptedOut(Box::new(opted_out)));
    }
    let is_unwanted = page.judged.as_ref().is_some_and(|judged| judged.is_unwanted(config.left_out_by()));
    is_unwanted.then_some(Withheld::Irrelevant)
}

/// Whether this page asks not to be indexed. `says`: the answer says so. `before`: the page said so at the last
/// fetch; a 304 or a cut page need not repeat it.
pub(super) fn is_noindex(event: &PageEvent, says: bool, before: bool) -> bool {
    event.kind.is_delivered()
        && event.response().is_some_and(|response| match response.status {
            304 => says || before,
            _ => response.is_success() && (says || (before && response.is_cut())),
        })
}
