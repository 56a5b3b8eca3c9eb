//! The notes about an event that the frontier stores besides the record: how links were found, and the attempt.

use std::sync::Arc;

use seine_frontier::{Attempt, Change, Found, FoundBy};
use seine_parse::Derived;
use seine_parse::page::{Kind, PageEvent};

use crate::judge::blame;

/// How the linked URLs were found.
pub(super) fn found_on(event: &PageEvent, derived: &Derived) -> Arc<Found> {
    let way = match event.kind {
        Kind::Sitemap => FoundBy::Sitemap,
        Kind::Page if derived.feed.is_some() => FoundBy::Feed,
        Kind::Page | Kind::Requisite => FoundBy::Link,
    };
    Arc::new(Found { way, on: Some(event.url.clone()), at: event.ended_ms })
}

/// The attempt that an event records.
pub(super) fn attempt(event: &PageEvent, change: &Change) -> Attempt {
    let is_put_off = matches!(change, Change::Retry { put_off: true, .. });
    Attempt { at: event.ended_ms, outcome: blame::cause_of(&event.outcome), counts: !is_put_off, digest: None }
}

/// The result of the event for its URL. `kept`: the record did not change.
pub(super) fn result_name(event: &PageEvent, change: &Change) -> &'static str {
    match change {
        Change::Retry { .. } => "retry",
        Change::Page { record, .. } if record.fetched_ms != event.ended_ms => "kept",
        Change::Page { record, .. } => record.state.name(),
    }
}
