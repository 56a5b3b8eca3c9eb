//! Page events for tests and benches. Each test sets what it needs and uses defaults for the rest.

// Each test binary and bench uses its own part of this.
#![allow(dead_code)]

use bytes::Bytes;
use seine_parse::page::{Headers, HttpVersion, Kind, Outcome, PageEvent, Relevance, Response};

/// 2026-11-21T14:37:05.985Z.
pub const FETCHED: u64 = 1_795_271_825_985;

/// An ordinary page.
pub fn page(url: impl Into<String>, headers: &[(&str, &str)], body: impl Into<Bytes>) -> PageEvent {
    let url = url.into();
    PageEvent {
        id: "0190163d8694739b9f0c1a2b3c4d5e6f".into(),
        final_url: url.clone(),
        url,
        kind: Kind::Page,
        depth: 1,
        attempt: 0,
        method: "GET".into(),
        request_headers: Headers::default(),
        hops: Vec::new(),
        ip: None,
        started_ms: FETCHED - 985,
        ended_ms: FETCHED,
        outcome: Outcome::Response(answer(headers, body)),
        again: None,
        change: None,
        withheld: None,
        bytes_beside: 0,
        text: None,
        preferences: None,
        likeness: None,
        was_duplicate: Default::default(),
        relevance: Relevance::by_type(true),
        model: None,
        crawler_id: "test".into(),
    }
}

/// `200 OK`.
pub fn answer(headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response {
    Response {
        status: 200,
        reason: "OK".into(),
        version: HttpVersion::Http11,
        headers: Headers(headers.iter().map(|&(name, value)| (name.into(), value.into())).collect()),
        body: body.into(),
        truncated: None,
        wall: None,
        wire: None,
    }
}

/// The response of an event that has one.
pub fn response(event: &mut PageEvent) -> &mut Response {
    match &mut event.outcome {
        Outcome::Response(response) => response,
        Outcome::Failure(_) => panic!("the event has a response"),
    }
}

/// The id of event `number`: 32 hex digits.
pub fn id(number: u64) -> String {
    format!("{number:032x}")
}
