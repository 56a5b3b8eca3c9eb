//! The canonical URL that a page names (`canonical: obey`; RFC 6596): whether it counts, and whether it is new.

use seine_frontier::PageRecord;
use seine_frontier::scope::Scope;
use seine_parse::page::{Doubt, EpochMs, Kind, PageEvent, Withheld};
use seine_parse::url;

use super::withheld::is_noindex;
use super::{Answers, Case, Question};
use crate::config::{Canonical, FrontierConfig};

/// The statements of a response about its page. For a 304: what the last complete response said.
#[derive(Default)]
pub(super) struct PageStatements<'a> {
    pub canonical: Option<&'a str>,
    pub noindex: bool,
}

/// The canonical URL that a page names, if it counts. It does not count if the page is truncated, noindex or not a
/// page.
pub(super) fn canonical_of(
    event: &PageEvent,
    now: &PageStatements,
    before: &PageStatements,
    scope: &Scope,
    config: &FrontierConfig,
) -> Option<String> {
    let response = event.response().filter(|response| !response.is_cut() && event.kind == Kind::Page)?;
    let named = match response.status {
        200..300 => now.canonical,
        304 => before.canonical,
        _ => None,
    };
    let is_withheld =
        is_noindex(event, now.noindex, before.noindex) || event.withheld.as_ref().is_some_and(Withheld::is_of_its_own);
    let is_page = config.canonical == Canonical::Obey && !is_withheld;
    let named = named.filter(|named| is_page && may_be(named, &event.url, &event.final_url, scope))?;
    Some(named.to_owned())
}

/// Whether the page of `url`, found at `final_url`, may name this canonical URL: another URL that is admitted and of
/// the same registrable domain. A page must not decide about other sites.
fn may_be(named: &str, url: &str, final_url: &str, scope: &Scope) -> bool {
    let domain = |url: &str| url::host(url).map(|host| url::registrable_domain(host).to_owned());
    let Some(found_at) = url::parse(final_url) else { return false };
    named != url && named != found_at && domain(named) == domain(&found_at) && scope.admits(named)
}

/// Decides whether a fetched or unmodified page is an alias, by its canonical URL; none if it is delivered. Also whether
/// its reservations are dropped, because its record does not change.
pub(super) fn slot(case: &Case, answers: &Answers) -> Result<(Option<Withheld>, bool), Question> {
    if !may_be_an_alias(case) {
        return Ok((None, false));
    }
    let Case { event, known, policy, .. } = *case;
    let now = PageStatements { canonical: case.reading.canonical.as_deref(), noindex: case.reading.noindex };
    let before = PageStatements { canonical: known.known.canonical.as_deref(), noindex: known.known.noindex };
    let named = canonical_of(event, &now, &before, policy.scope, &policy.config.frontier);
    let revisit = &policy.config.frontier.revisit;
    let is_delivered = known.was_found && known.known.state.is_live();
    let ask = || Question::CanonicalSlot {
        canonical: named.clone().unwrap_or_else(|| event.url.clone()),
        leaves_after: is_delivered.then_some(revisit.confirm_gone),
    };
    let decided = answers.canonical_slot.clone().ok_or_else(ask)?;
    if decided.is_some() && is_delivered && is_news(named.as_deref(), case) {
        let believed = revisit.believed(known.known.doubt(), event.ended_ms);
        // Its redirect is confirmed, so the page behind it counts too.
        let is_there = !event.hops.is_empty() && believed.takes(Doubt::Elsewhere);
        if !believed.takes(Doubt::Named) && !is_there {
            return Ok((Some(Withheld::Doubted { doubt: Doubt::Named, seen_ms: event.ended_ms }), true));
        }
    }
    Ok((decided, false))
}

fn may_be_an_alias(case: &Case) -> bool {
    let is_page = case.event.response().is_some_and(|response| match response.status {
        304 => case.known.was_found,
        _ => response.is_success() && !response.is_cut(),
    });
    let is_obeyed = case.policy.config.frontier.canonical == Canonical::Obey;
    is_obeyed && is_page && case.is_final() && case.event.kind.is_delivered()
}

/// Whether a live page has begun to name another canonical URL only now or recently, which may be a mistake of the
/// site.
fn is_news(named: Option<&str>, case: &Case) -> bool {
    let since = named_since(named, &case.known.known, &case.reading.digest, case.event.ended_ms);
    let confirm_gone = case.policy.config.frontier.revisit.confirm_gone.as_millis() as u64;
    since.is_some_and(|since| case.event.ended_ms < since.saturating_add(confirm_gone))
}

/// Since when a page that was live names this canonical URL; none if it did so when it was new. If canonical URLs were
/// not obeyed before, an unchanged page says nothing new.
pub(super) fn named_since(
    named: Option<&str>,
    before: &PageRecord,
    digest: &[u8; 32],
    now: EpochMs,
) -> Option<EpochMs> {
    let was_passed_over = before.must_refetch && before.digest.as_ref() == Some(digest);
    match named == before.canonical.as_deref() {
        true => before.refused_since,
        false => Some(now).filter(|_| !was_passed_over),
    }
}
