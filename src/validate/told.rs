//! What is kept of an event for people alone.

use std::sync::Arc;

use crate::frontier::{Attempt, Change, Found, Way};
use crate::page::{Kind, PageEvent};
use crate::parse::Derived;
use crate::visit::retry;

/// How what is linked to there came to be known.
pub(super) fn found_on(event: &PageEvent, derived: &Derived) -> Arc<Found> {
    let way = match event.kind {
        Kind::Sitemap => Way::Sitemap,
        Kind::Page if derived.feed.is_some() => Way::Feed,
        Kind::Page | Kind::Requisite => Way::Link,
    };
    Arc::new(Found { way, on: Some(event.url.clone()), at: event.ended_ms })
}

/// The attempt that an event tells of.
pub(super) fn attempt(event: &PageEvent, change: &Change) -> Attempt {
    let is_put_off = matches!(change, Change::Retry { put_off: true, .. });
    Attempt { at: event.ended_ms, outcome: retry::cause_of(&event.outcome), counts: !is_put_off, digest: None }
}

/// What the event made of its URL. `kept`: it said nothing of a page, which is as it was.
pub(super) fn made_of(event: &PageEvent, change: &Change) -> &'static str {
    match change {
        Change::Retry { .. } => "retry",
        Change::Page { record, .. } if record.fetched_ms != event.ended_ms => "kept",
        Change::Page { record, .. } => record.state.name(),
    }
}
