//! One URL of the demo site and its answer.

use std::time::Duration;

/// How many links deep a crawl of the demo goes. This is what ends the endless calendar of the tides.
pub const MAX_DEPTH: u16 = 12;

/// A host of the demo site, with what its pages need to link to other hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct House {
    /// The host name without `.localhost`.
    pub name: &'static str,
    /// All hosts answer on this port.
    pub port: u16,
}

impl House {
    /// `http://library.localhost:PORT/path`, for the host called `name`.
    pub(super) fn url(&self, name: &str, path: &str) -> String {
        format!("http://{name}.localhost:{}{path}", self.port)
    }

    /// A URL of this host.
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
    /// The body before content coding.
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
