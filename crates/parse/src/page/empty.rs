//! Events made from the records of an archive.

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::{EpochMs, Headers, HttpVersion, Kind, Outcome, PageEvent, Relevance, Response};

impl PageEvent {
    /// A successful GET of `url` with defaults for all else: status 200, no headers, empty body, times 0. The archive's
    /// reader fills in what it knows, then calls [`give_id`](PageEvent::give_id) if the archive has no id.
    pub fn empty(url: impl Into<String>) -> PageEvent {
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
            outcome: Outcome::Response(Response::empty()),
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

    /// Sets the id to that of [`id_of`].
    pub fn give_id(&mut self) {
        let body = self.response().map_or(&[][..], |response| &response.body);
        self.id = id_of(&self.url, self.ended_ms, body);
    }
}

impl Response {
    /// A 200 with nothing else known.
    pub fn empty() -> Response {
        Response {
            status: 200,
            reason: "OK".into(),
            version: HttpVersion::Http11,
            headers: Headers::default(),
            body: Bytes::new(),
            truncated: None,
            wire: None,
            wall: None,
        }
    }
}

/// The id of an event whose archive has none: the first 32 hex digits of a SHA-256 of URL, time and body. So reading
/// the same page again gives the same id.
pub(super) fn id_of(url: &str, ended_ms: EpochMs, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update((url.len() as u64).to_le_bytes());
    hash.update(url);
    hash.update(ended_ms.to_le_bytes());
    hash.update(body);
    HEXLOWER.encode(&hash.finalize()[..16])
}
