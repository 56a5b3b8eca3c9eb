//! One URL of the demo site, before it is put on the wire.

use std::time::Duration;

/// Links followed from a seed: a crawl of the demo goes no deeper. It is what ends the calendar of the tides.
pub const MAX_DEPTH: u16 = 12;

/// A host of the town: what its pages must know to name each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct House {
    /// Without `.localhost`.
    pub name: &'static str,
    /// All hosts answer on this port.
    pub port: u16,
}

impl House {
    /// `http://library.localhost:PORT/path`, for the host called `name`.
    pub(super) fn url(&self, name: &str, path: &str) -> String {
        format!("http://{name}.localhost:{}{path}", self.port)
    }

    /// The same of this host.
    pub(super) fn own_url(&self, path: &str) -> String {
        self.url(self.name, path)
    }

    pub(super) fn entry(&self, path: impl Into<String>, content_type: &str, body: impl Into<Vec<u8>>) -> Entry {
        let headers = if content_type.is_empty() { vec![] } else { vec![("content-type".into(), content_type.into())] };
        Entry {
            path: path.into(),
            status: 200,
            headers,
            body: body.into(),
            delay: Duration::ZERO,
            busy_at_first: false,
        }
    }
}

/// A URL and its answer.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Path and query.
    pub path: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// As sent, but for content codings.
    pub body: Vec<u8>,
    pub delay: Duration,
    /// The first request gets a 503 with `Retry-After: 1` instead.
    pub busy_at_first: bool,
}

impl Entry {
    pub(super) fn header(mut self, name: &str, value: &str) -> Entry {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}
