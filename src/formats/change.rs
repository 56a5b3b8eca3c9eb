//! A change event: what a topic has of a page that is gone where no tombstone is wanted (`removed: event`). One JSON object,
//! whatever the format of the pages: `url` · `change` · `reason` · `status` · `time` · `event_id`.

use serde::Serialize;

use crate::page::{EpochMs, Outcome, PageChange, PageEvent};

/// What a message says of it in the header `schema`.
pub const SCHEMA: &str = "change";

#[derive(Serialize)]
struct ChangeEvent<'a> {
    url: &'a str,
    change: PageChange,
    reason: String,
    /// None when there was no answer.
    status: Option<u16>,
    /// When it was found out.
    time: EpochMs,
    event_id: &'a str,
}

/// Appends it to `out`.
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

/// Why a page is gone: what it is withheld for (`noindex`, `alias`), `duplicate` of one that is there, `http_404`, or a failure's name.
pub fn reason(event: &PageEvent) -> String {
    if let Some(withheld) = &event.withheld {
        return withheld.name().to_owned();
    }
    match &event.outcome {
        _ if event.duplicate_of().is_some() => "duplicate".to_owned(),
        Outcome::Response(response) => format!("http_{}", response.status),
        Outcome::Failure(failure) => failure.reason.name().to_owned(),
    }
}
