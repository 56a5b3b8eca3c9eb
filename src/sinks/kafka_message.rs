//! What stands beside the value in a message.

use rdkafka::message::{Header, OwnedHeaders};
use xxhash_rust::xxh3::xxh3_64;

use super::upkeep::Due;
use crate::config::Upkeep;
use crate::delivery::Entry;
use crate::formats::change;
use crate::page::{DuplicateOf, PageChange, Truncated};

/// `event_id`, `schema`, `status`, `change` (see [`PageChange`]), which events of before it was noted lack, of what has changed
/// the `distance`, where it is known, and of what is gone the `reason`. Where a page classifier was asked, what it said: `relevance`,
/// `is_relevant`, and its name as `relevance_model`. What publishers ask, if they do: `preferences`, JSON. Of a duplicate whose it is
/// (`duplicate_of`), its kind and its distance. Of a body that was cut why it was (`truncated`).
///
/// `is_tombstone`: the message has no value.
pub(super) fn headers(entry: &Entry, upkeep: Upkeep, schema: &'static str, is_tombstone: bool) -> OwnedHeaders {
    let event = &entry.event;
    let due = upkeep.due(event);
    let schema = if due == Due::Event { change::SCHEMA } else { schema };
    let status = event.response().map(|response| response.status.to_string());
    // A duplicate leaves those who skip such, and is there for others.
    let leaves = is_tombstone || due == Due::Event;
    let change = if leaves { Some(PageChange::Gone) } else { event.change };
    // What became of a page that is there, and whose format holds it no more.
    let is_not_held = is_tombstone && due == Due::Write;
    let reason = (change == Some(PageChange::Gone)).then(|| change::reason(event));
    let reason = if is_not_held { Some("not_held".to_owned()) } else { reason };
    let duplicate = event.duplicate_of();
    let duplicate_distance = duplicate.map(|of| of.distance.to_string());
    let distance = event.distance(upkeep.min_change).map(|bits| bits.to_string());
    let judged = event.model.as_deref();
    let relevance = judged.map(|_| event.relevance.relevance.to_string());
    let preferences = event.preferences_json();
    let headers = [
        ("event_id", Some(event.id.as_str())),
        ("schema", Some(schema)),
        ("status", status.as_deref()),
        ("change", change.map(PageChange::name)),
        ("distance", distance.as_deref()),
        ("reason", reason.as_deref()),
        ("relevance", relevance.as_deref()),
        ("is_relevant", judged.map(|_| if event.relevance.is_relevant { "true" } else { "false" })),
        ("relevance_model", judged),
        ("preferences", preferences.as_deref()),
        ("duplicate_of", duplicate.map(|of| of.url.as_str())),
        ("duplicate_kind", duplicate.map(DuplicateOf::kind)),
        ("duplicate_distance", duplicate_distance.as_deref()),
        ("truncated", event.response().and_then(|response| response.truncated).map(Truncated::name)),
    ];
    let given = headers.into_iter().filter(|(_, value)| value.is_some());
    given.fold(OwnedHeaders::new_with_capacity(14), |all, (key, value)| all.insert(Header { key, value }))
}

/// Of the tombstone in a partition that the page does not belong to any more, as partitions were added.
pub(super) fn moved_headers(entry: &Entry) -> OwnedHeaders {
    let headers = [("event_id", entry.event.id.as_str()), ("change", "moved")];
    headers
        .into_iter()
        .fold(OwnedHeaders::new_with_capacity(2), |all, (key, value)| all.insert(Header { key, value: Some(value) }))
}

/// The URL, escaped.
pub(super) fn key_of(entry: &Entry) -> String {
    url::form_urlencoded::byte_serialize(entry.event.url.as_bytes()).collect()
}

/// Messages of one URL have one key.
pub(super) fn key_hash(entry: &Entry) -> u64 {
    xxh3_64(entry.event.url.as_bytes())
}
