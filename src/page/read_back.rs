//! Events made from what an archive says of a page.

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::{EpochMs, Headers, HttpVersion, Kind, Outcome, PageEvent, Relevance, Response};

impl PageEvent {
    /// A successful GET of `url` of which nothing else is known: status 200, no headers, an empty body, times 0. Whoever
    /// read the page fills in what the archive holds, and then calls [`give_id`](PageEvent::give_id) if it holds no id.
    pub fn read_back(url: impl Into<String>) -> PageEvent {
        let url = url.into();
        PageEvent {
            id: String::new(),
            final_url: url.clone(),
            url,
            kind: Kind::Page,
            depth: 0,
            attempt: 0,
            method: "GET".into(),
            request_headers: Headers::default(),
            hops: Vec::new(),
            ip: None,
            started_ms: 0,
            ended_ms: 0,
            outcome: Outcome::Response(Response::read_back()),
            again: None,
            change: None,
            withheld: None,
            bytes_beside: 0,
            text: None,
            preferences: None,
            likeness: None,
            was_duplicate: Default::default(),
            relevance: Relevance::by_type(false),
            model: None,
            crawler_id: Arc::from(""),
        }
    }

    /// Sets the id that [`id_of`] makes of the event.
    pub fn give_id(&mut self) {
        let body = self.response().map_or(&[][..], |response| &response.body);
        self.id = id_of(&self.url, self.ended_ms, body);
    }
}

impl Response {
    /// A 200 of which nothing else is known.
    pub fn read_back() -> Response {
        Response {
            status: 200,
            reason: "OK".into(),
            version: HttpVersion::Http11,
            headers: Headers::default(),
            body: Bytes::new(),
            truncated: None,
            wire: None,
        }
    }
}

/// An event's id when its archive holds none: the same for the same page however often it is read. The first 32 hex
/// digits of a SHA-256 over URL, time and body.
pub fn id_of(url: &str, ended_ms: EpochMs, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update((url.len() as u64).to_le_bytes());
    hash.update(url);
    hash.update(ended_ms.to_le_bytes());
    hash.update(body);
    HEXLOWER.encode(&hash.finalize()[..16])
}
