//! URLs whose page is delivered under another URL, and where redirects lead.

use crate::frontier::{PageRecord, PageState};
use crate::page::{PageChange, PageEvent, TextsGiven, Withheld};
use crate::parse;
use crate::revisit::History;

/// Where its redirects led, as a link to there would be; none when they led nowhere, or back.
pub(super) fn reached(event: &PageEvent) -> Option<String> {
    match &event.withheld {
        Some(Withheld::Alias { target, .. }) => Some(target.clone()),
        _ => parse::url::parse(&event.final_url).filter(|reached| *reached != event.url),
    }
}

/// The record of a URL whose page, that of `target`, is another's. That it leads elsewhere now is a change.
pub(super) fn alias(event: &PageEvent, target: &str, before: Option<&PageRecord>) -> PageRecord {
    let now = event.ended_ms;
    let history = match before.filter(|before| before.state == PageState::Alias) {
        Some(before) => before.history().map(|history| {
            let is_same = before.target.as_deref() == Some(target);
            history.seen(now, if is_same { PageChange::Unchanged } else { PageChange::Changed }, None)
        }),
        None => Some(History::new(now)),
    };
    PageRecord {
        url: event.url.clone(),
        kind: event.kind,
        event_id: event.id.clone(),
        state: PageState::Alias,
        status: event.response().map_or(0, |response| response.status),
        digest: None,
        etag: None,
        last_modified: None,
        fetched_ms: now,
        depth: event.depth,
        history,
        final_url: None,
        is_to_be_reread: false,
        noindex: false,
        target: Some(target.to_owned()),
        texts: TextsGiven::new(),
        passed_at: None,
    }
}
