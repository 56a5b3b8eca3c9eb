//! The key and headers of a message.

use std::borrow::Cow;

use rdkafka::message::{Header, OwnedHeaders};
use seine_delivery::Entry;
use seine_formats::change;
use seine_parse::page::{DuplicateOf, PageChange, Truncated};
use xxhash_rust::xxh3::xxh3_64;

use crate::config::Upkeep;
use crate::judge::upkeep::DeliveryAction;

/// The headers of a message:
///
/// - `event_id`, `schema`, `status`;
/// - `change` (see [`PageChange`]); missing in events of old versions;
/// - `distance` of a changed page, if known; `reason` for a page that is gone;
/// - `relevance`, `is_relevant` and `relevance_model`, if a page classifier was used;
/// - `preferences` as JSON, if the publisher states any;
/// - `duplicate_of` with kind and distance, for a duplicate;
/// - `truncated`: why a body was cut.
///
/// `is_tombstone`: the message has no value.
pub(super) fn headers(entry: &Entry, upkeep: Upkeep, schema: &'static str, is_tombstone: bool) -> OwnedHeaders {
    let event = &entry.event;
    let due = upkeep.due(event);
    let schema = if due == DeliveryAction::Event { change::SCHEMA } else { schema };
    let status = event.response().map(|response| response.status.to_string());
    // A duplicate counts as gone at a destination that skips duplicates.
    let leaves = is_tombstone || due == DeliveryAction::Event;
    let change = if leaves { Some(PageChange::Gone) } else { event.change };
    // The page exists, but the format can no longer store it.
    let is_not_stored = is_tombstone && due == DeliveryAction::Write;
    let reason = (change == Some(PageChange::Gone)).then(|| change::reason(event));
    let reason = if is_not_stored { Some("not_stored".to_owned()) } else { reason };
    let duplicate = event.duplicate_of();
    let duplicate_distance = duplicate.map(|of| of.distance.to_string());
    let distance = event.distance(upkeep.min_change).map(|bits| bits.to_string());
    let judged = event.model.as_deref();
    let wall = event.response().and_then(|response| response.wall.as_deref());
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
        ("wall", wall.map(|wall| wall.kind.name())),
        ("wall_evidence", wall.map(|wall| wall.evidence.as_str())),
    ];
    let given = headers.into_iter().filter(|(_, value)| value.is_some());
    given.fold(OwnedHeaders::new_with_capacity(16), |all, (key, value)| all.insert(Header { key, value }))
}

/// Headers of a tombstone in a partition that the page left because partitions were added.
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

/// The URL of a message's key.
pub(super) fn url_of_key(key: &[u8]) -> Option<Cow<'_, str>> {
    url::form_urlencoded::parse(key).next().map(|(url, _)| url)
}

/// Hash of the key. All messages of one URL have the same key.
pub(super) fn key_hash(entry: &Entry) -> u64 {
    xxh3_64(entry.event.url.as_bytes())
}
