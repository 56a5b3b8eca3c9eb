//! One URL of the demo site, before it is put on the wire.

use std::time::Duration;

/// Links followed from a seed: a crawl of the demo goes no deeper. It is what ends the calendar of the tides.
pub const MAX_DEPTH: u16 = 12;

/// The town: what its pages must know to name each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Town {
    /// All hosts answer on this port.
    pub port: u16,
}

impl Town {
    /// `http://library.localhost:PORT/path`, for the host called `name`.
    pub(super) fn url(&self, name: &str, path: &str) -> String {
        format!("http://{name}.localhost:{}{path}", self.port)
    }
}

/// A URL and its answer.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The host's name without `.localhost`.
    pub host: &'static str,
    /// Path and query.
    pub path: String,
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    /// As sent, but for content codings.
    pub body: Vec<u8>,
    pub delay: Duration,
    /// The first request gets a 503 with `Retry-After: 1` instead.
    pub busy_at_first: bool,
}

impl Entry {
    pub(super) fn new(
        host: &'static str,
        path: impl Into<String>,
        content_type: &str,
        body: impl Into<Vec<u8>>,
    ) -> Entry {
        let headers = if content_type.is_empty() { vec![] } else { vec![("content-type", content_type.to_owned())] };
        Entry {
            host,
            path: path.into(),
            status: 200,
            headers,
            body: body.into(),
            delay: Duration::ZERO,
            busy_at_first: false,
        }
    }

    /// A page in UTF-8 that says so in its header.
    pub(super) fn html(host: &'static str, path: impl Into<String>, page: String) -> Entry {
        Entry::new(host, path, "text/html; charset=utf-8", page)
    }

    /// A redirect; `target` is sent as it is.
    pub(super) fn moved(host: &'static str, path: &str, status: u16, target: &str) -> Entry {
        Entry::new(host, path, "", Vec::new()).header("location", target).status(status)
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Entry {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn status(mut self, status: u16) -> Entry {
        self.status = status;
        self
    }
}
