//! A client's request and its answer: plain data between [`super::server`] and a handler.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

/// Decides every answer. Called on the runtime's threads, so it must not block.
pub type Handler = Arc<dyn Fn(&Ask) -> Answer + Send + Sync>;

/// One request, as a handler sees it.
#[derive(Debug, Clone)]
pub struct Ask {
    pub method: Method,
    /// The `Host` header without its port, lower case; empty if there is none.
    pub host: String,
    /// The server's address that received the request.
    pub address: IpAddr,
    /// The request target: `/path?query`.
    pub path_and_query: String,
    pub headers: HeaderMap,
}

impl Ask {
    /// A request header as text; none if it is missing or not visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        self.path_and_query.split('?').next().unwrap_or_default()
    }
}

/// One response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// The reason phrase; none: the registered one of the status.
    pub reason: Option<String>,
    /// In the order they are sent; names keep their order, not their case.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Body,
    /// How long the server waits before the first byte.
    pub delay: Duration,
}

/// The body after the head, or something in place of the head.
#[derive(Debug, Clone)]
pub enum Body {
    /// All at once, with its Content-Length.
    Whole(Bytes),
    /// `piece` bytes at a time, one piece every `every`, with its Content-Length.
    Trickle { bytes: Bytes, piece: usize, every: Duration },
    /// The same piece again and again, chunked, until the client disconnects or the server stops.
    Endless(Bytes),
    /// These bytes under a Content-Length of `announced`; then the connection is closed.
    Cut { bytes: Bytes, announced: u64 },
    /// The exact bytes of the whole response with its status line; then the connection is closed.
    Raw(Bytes),
    /// The connection is closed without an answer.
    Close,
}

impl Answer {
    /// An answer without headers of its own.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Answer {
        Answer { status, reason: None, headers: Vec::new(), body: Body::Whole(body.into()), delay: Duration::ZERO }
    }

    /// 200 with `text/html; charset=utf-8`.
    pub fn html(page: impl Into<Bytes>) -> Answer {
        Answer::new(200, page).header("content-type", "text/html; charset=utf-8")
    }

    /// 200 with `text/plain; charset=utf-8`.
    pub fn text(text: impl Into<Bytes>) -> Answer {
        Answer::new(200, text).header("content-type", "text/plain; charset=utf-8")
    }

    /// A redirect; `location` is sent unchanged.
    pub fn redirect(status: u16, location: &str) -> Answer {
        Answer::new(status, Bytes::new()).header("location", location)
    }

    /// See [`Body::Raw`].
    pub fn raw(response: impl Into<Bytes>) -> Answer {
        Answer::new(200, Bytes::new()).body(Body::Raw(response.into()))
    }

    /// See [`Body::Close`].
    pub fn close() -> Answer {
        Answer::new(200, Bytes::new()).body(Body::Close)
    }

    /// Appends a header.
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Answer {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn status(mut self, status: u16) -> Answer {
        self.status = status;
        self
    }

    pub fn body(mut self, body: Body) -> Answer {
        self.body = body;
        self
    }

    pub fn reason(mut self, reason: &str) -> Answer {
        self.reason = Some(reason.to_owned());
        self
    }

    /// Sets [`Answer::delay`].
    pub fn after(mut self, delay: Duration) -> Answer {
        self.delay = delay;
        self
    }

    /// Status line and headers as bytes, for answers that bypass hyper.
    pub(super) fn head(&self, content_length: u64) -> Vec<u8> {
        let registered = StatusCode::from_u16(self.status).ok().and_then(|s| s.canonical_reason()).unwrap_or("");
        let reason = self.reason.as_deref().unwrap_or(registered);
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(format!("content-length: {content_length}\r\nconnection: close\r\n\r\n").as_bytes());
        head
    }
}
