//! A change event: the message that a topic gets for a page that is gone if tombstones are not wanted (`removed:
//! event`). One JSON object for all formats: `url` · `change` · `reason` · `status` · `time` · `event_id`.

use serde::Serialize;

use seine_parse::page::{EpochMs, Outcome, PageChange, PageEvent};

/// The value of the message header `schema`.
pub const SCHEMA: &str = "change";

#[derive(Serialize)]
struct ChangeEvent<'a> {
    url: &'a str,
    change: PageChange,
    reason: String,
    /// None if there was no answer.
    status: Option<u16>,
    /// The time when the change was found.
    time: EpochMs,
    event_id: &'a str,
}

/// Appends the change event to `out`.
pub fn write(event: &PageEvent, out: &mut Vec<u8>) {
    let change = ChangeEvent {
        url: &event.url,
        change: PageChange::Gone,
        reason: reason(event),
        status: event.response().map(|response| response.status),
        time: event.ended_ms,
        event_id: &event.id,
    };
    serde_json::to_writer(out, &change).expect("strings and numbers are always JSON, and a Vec takes every byte");
}

/// Why a page is gone: the reason for which it is withheld (`noindex`, `alias`), `duplicate`, `http_404`, `not_found` (an
/// error page with another status), or the name of a failure.
pub fn reason(event: &PageEvent) -> String {
    if let Some(withheld) = &event.withheld {
        return withheld.name().to_owned();
    }
    match &event.outcome {
        _ if event.duplicate_of().is_some() => "duplicate".to_owned(),
        Outcome::Response(response) => match response.held_wall() {
            Some(wall) => wall.kind.name().to_owned(),
            None => format!("http_{}", response.status),
        },
        Outcome::Failure(failure) => failure.reason.name().to_owned(),
    }
}
