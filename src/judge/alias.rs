//! Aliases, redirect targets and canonical URLs.

use seine_frontier::{PageRecord, PageState, Reached};
use seine_parse::Derived;
use seine_parse::page::{PageChange, PageEvent, Withheld};
use seine_policies::revisit::History;
use seine_simulation_hooks::planted;

use super::canonical::{PageStatements, canonical_of};
use super::record::{Seen, Settings};
use super::withheld::is_noindex;

/// The normalised redirect target, or the URL that it is an alias of; none if redirects led nowhere or back.
pub(super) fn target(event: &PageEvent) -> Option<String> {
    match &event.withheld {
        Some(Withheld::Alias { target, .. }) => Some(target.clone()),
        _ => seine_parse::url::parse(&event.final_url).filter(|reached| *reached != event.url),
    }
}

/// The end of the redirects, and whether its page was found there.
pub(crate) fn reached(seen: Seen) -> Option<Reached> {
    let Seen { event, derived, before, .. } = seen;
    let url = target(event)?;
    let has_answered = event.response().is_some_and(|response| match response.status {
        304 => before.is_some_and(|before| before.final_url.as_ref() == Some(&event.final_url)),
        _ => response.is_success() && !response.is_cut() && !derived.body.is_empty(),
    });
    let was_noindex = before.is_some_and(|before| before.noindex);
    let has_page = has_answered && !event.hops.is_empty() && !is_noindex(event, derived.robots.noindex, was_noindex);
    Some(Reached { url, has_page })
}

/// The canonical URL of an event's page, if it counts. `there`: the record, if the page was live.
pub(super) fn canonical(seen: Seen, there: Option<&PageRecord>, settings: Settings) -> Option<String> {
    let Seen { event, derived, .. } = seen;
    let now = PageStatements { canonical: derived.canonical.as_deref(), noindex: derived.robots.noindex };
    let before = there.map_or_else(PageStatements::default, |there| PageStatements {
        canonical: there.canonical.as_deref(),
        noindex: there.noindex,
    });
    canonical_of(event, &now, &before, settings.scope, settings.config)
}

/// The record of an alias of `target`. A new target is a change.
pub(super) fn record(seen: Seen, target: &str, settings: Settings) -> PageRecord {
    let Seen { event, derived, before, .. } = seen;
    let now = event.ended_ms;
    let history = match before.filter(|before| before.state == PageState::Alias) {
        Some(before) => before.history().map(|history| {
            let is_same = before.target.as_deref() == Some(target);
            history.seen(now, if is_same { PageChange::Unchanged } else { PageChange::Changed }, None)
        }),
        None => Some(History::new(now)),
    };
    let led_there = before.filter(|before| {
        before.state == PageState::Alias && before.target.as_deref() == Some(target) && before.digest.is_none()
    });
    let named = canonical(seen, before.filter(|before| before.state.is_found()), settings);
    PageRecord {
        url: event.url.clone(),
        kind: event.kind,
        event_id: event.id.clone(),
        state: PageState::Alias,
        status: event.response().map_or(0, |response| response.status),
        digest: digest(event, derived, before),
        fetched_ms: now,
        depth: event.depth,
        history,
        target: Some(target.to_owned()),
        canonical: named.filter(|named| named != target),
        refused_since: Some(led_there.and_then(|before| before.refused_since).unwrap_or(now)),
        ..PageRecord::default()
    }
}

/// The digest of a page that names a canonical URL. Redirects and URLs without a request have none.
fn digest(event: &PageEvent, derived: &Derived, before: Option<&PageRecord>) -> Option<[u8; 32]> {
    match event.response()? {
        response if response.is_success() => Some(derived.digest),
        response if response.status == 304 => before?.digest,
        _ => None,
    }
}

/// Whether the links of a page may be new.
pub(crate) fn may_have_new_links(record: &PageRecord, before: Option<&PageRecord>) -> bool {
    before.is_some_and(|before| before.must_refetch)
        || match record.state {
            PageState::Changed if planted::is("new_links_lost") => false,
            PageState::New | PageState::Changed | PageState::Withheld => true,
            PageState::Alias => record.digest.is_some() && record.digest != before.and_then(|before| before.digest),
            _ => false,
        }
}
