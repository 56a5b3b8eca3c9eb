//! The page event: the result of one attempt to fetch one URL. Plain data, no I/O.
//!
//! An accepted event is an entry of `page_proposed`, one of the three tables in ARCHITECTURE.md. The page log stores it
//! in the layout of [`codec`].

mod change;
pub mod codec;
mod doubt;
mod duplicate;
mod empty;
pub mod preferences;
mod reason;
mod relevance;
mod text_change;
pub mod wire;
mod withheld;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

pub use change::{Before, PageChange};
pub use doubt::{Believed, Doubt};
pub use duplicate::{DuplicateOf, Likeness, WasDuplicate};
use preferences::Statement;
pub use reason::{FailureReason, STATUS_CLASSES, status_class};
pub use relevance::Relevance;
pub use text_change::{TextChange, TextsGiven};
use wire::Wire;
pub use withheld::Withheld;

use crate::walls::{Wall, WallKind};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type EpochMs = u64;

/// The result of one attempt to fetch one URL: a response or a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageEvent {
    /// 32 lower-case hex digits, time-ordered (UUIDv7 without dashes). The id stays the same if the event is delivered
    /// again.
    pub id: String,
    /// The URL requested, normalised.
    pub url: String,
    pub kind: Kind,
    /// Number of links from a seed to this URL; 0 for a seed.
    pub depth: u16,
    /// Number of earlier attempts at this URL without a final answer.
    pub attempt: u16,
    /// Request method: `GET`.
    pub method: String,
    /// Request headers as sent, as far as the HTTP client reports them.
    pub request_headers: Headers,
    /// The redirects followed, in order. Empty if there were none.
    pub hops: Vec<Hop>,
    /// The URL that answered: `url`, or the target of the last redirect.
    pub final_url: String,
    /// The address that answered; none if no connection was made.
    pub ip: Option<IpAddr>,
    pub started_ms: EpochMs,
    /// When the last byte of the body arrived.
    pub ended_ms: EpochMs,
    pub outcome: Outcome,
    /// Set if the URL will be tried again, so this event is not final. Also None in events from versions without this
    /// field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// How the page changed since its last fetch. None if the answer is not a page or not final, if the failure does
    /// not remove the page, and in events from versions without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<PageChange>,
    /// Why the answer is not delivered as this URL's page. None if it is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Bytes received in this attempt apart from the answer: bodies of redirects, and robots.txt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_beside: u64,
    /// How far the main text changed. Set for new and changed pages, if a destination has a `min_change`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextChange>,
    /// What publishers say about the use of the page, read when the page was requested. None if nobody looked: failures
    /// without a request, archives, and events from versions without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Vec<Statement>>,
    /// Duplicates of this page. Set for pages that exist, if duplicates are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<Likeness>,
    #[serde(default, skip_serializing_if = "WasDuplicate::is_no")]
    pub was_duplicate: WasDuplicate,
    pub relevance: Relevance,
    /// Name of the page classifier that judged the page, see
    /// `PageClassifier::name` in `seine-policies`. None if no classifier was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    pub crawler_id: Arc<str>,
}

/// When a URL is tried again, and what the failed attempt counts for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    pub at: EpochMs,
    /// Whether the attempt counts against the URL. False if the host caused the failure.
    pub counts: bool,
    /// The host answers other URLs, so it needs no pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_is_well: bool,
}

/// The kind of a URL. It decides what may be derived from the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Kind {
    /// A page. Sinks receive it.
    #[default]
    #[n(0)]
    Page,
    /// A sitemap. Its links are followed; sinks never receive it.
    #[n(1)]
    Sitemap,
    /// A page requisite, needed to show a page: an image, a style sheet, a script. Sinks receive it like a page. It has
    /// the scope and depth of the page that needs it. Its own depth counts the steps from that page.
    #[n(2)]
    Requisite,
}

impl Kind {
    /// Whether sinks receive it and it counts as a page.
    pub fn is_delivered(self) -> bool {
        self != Kind::Sitemap
    }

    /// `page`, `sitemap`, `requisite`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Page => "page",
            Kind::Sitemap => "sitemap",
            Kind::Requisite => "requisite",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Response(Response),
    Failure(Failure),
}

/// The last response of the exchange, after all redirects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub status: u16,
    /// The reason phrase as sent; empty for HTTP/2.
    pub reason: String,
    pub version: HttpVersion,
    pub headers: Headers,
    /// The body as received: transfer coding removed, content codings kept.
    #[serde(skip)]
    pub body: Bytes,
    /// Why the body was cut; None if it is complete.
    pub truncated: Option<Truncated>,
    /// The exact bytes around the body, if an archive asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// Set if the answer is a wall, not the page of its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Box<Wall>>,
}

/// Headers in order of arrival, repeats included. Names are as the HTTP client gives them: lower case unless it keeps
/// the case. Values are bytes decoded as Latin-1, so that every byte survives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(pub Vec<(String, String)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    #[serde(rename = "HTTP/1.0")]
    Http10,
    #[serde(rename = "HTTP/1.1")]
    Http11,
    #[serde(rename = "HTTP/2")]
    Http2,
}

/// Why a body is shorter than the server's. The names are those of `WARC-Truncated` in WARC 1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncated {
    /// The size limit was reached.
    Length,
    /// The time limit was reached.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Truncated {
    /// `length`, `time`, `disconnect`.
    pub fn name(self) -> &'static str {
        match self {
            Truncated::Length => "length",
            Truncated::Time => "time",
            Truncated::Disconnect => "disconnect",
        }
    }

    /// The reason with this [name](Self::name).
    pub fn by_name(name: &str) -> Option<Truncated> {
        [Truncated::Length, Truncated::Time, Truncated::Disconnect].into_iter().find(|reason| reason.name() == name)
    }
}

/// One redirect that Seine followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    pub url: String,
    pub status: u16,
    pub headers: Headers,
    /// The absolute target URL.
    pub target: String,
    pub ip: Option<IpAddr>,
}

/// An attempt without a response to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Failure {
    #[n(0)]
    pub reason: FailureReason,
    /// For people: what went wrong, in detail.
    #[n(1)]
    pub message: String,
}

impl Headers {
    /// The first value of a header, its name compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// All values of a header, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Whether any header identifies the sender: cookies and credentials.
    pub fn have_secrets(&self) -> bool {
        self.0.iter().any(|(name, _)| is_secret(name))
    }

    /// The same headers with `***` instead of cookies and credentials.
    #[must_use]
    pub fn redacted(mut self) -> Headers {
        for (_, value) in self.0.iter_mut().filter(|(name, _)| is_secret(name)) {
            *value = "***".to_owned();
        }
        self
    }

    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }
}

/// Whether a status says that the same request may be answered differently soon (RFC 9110 §15.5.9 and §15.5.20, RFC 8470,
/// RFC 6585).
pub fn is_temporary(status: u16) -> bool {
    matches!(status, 408 | 421 | 425 | 429 | 500..)
}

impl Response {
    /// The `Content-Type` header as sent, parameters included.
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get("content-type")
    }

    /// The answer is the page of its URL. A wall is none, whatever its status.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && self.held_wall().is_none()
    }

    /// The wall that the answer is, unless walls are delivered like pages.
    pub fn held_wall(&self) -> Option<&Wall> {
        self.wall.as_deref().filter(|wall| !wall.is_delivered)
    }

    /// The status for the page of this URL. A wall says nothing, like 403, except that an error page for a
    /// missing page is a 404.
    pub fn page_status(&self) -> u16 {
        match self.held_wall() {
            None => self.status,
            Some(wall) if wall.kind == WallKind::NotFound => 404,
            Some(_) => 403,
        }
    }

    /// A wall stands before the whole host.
    pub fn is_wall_of_host(&self) -> bool {
        self.held_wall().is_some_and(|wall| wall.kind.is_of_host())
    }

    /// The same request may be answered differently soon: the server was busy, failed, or gave up.
    pub fn may_get_better(&self) -> bool {
        is_temporary(self.status) || self.is_cut() || self.is_wall_of_host()
    }

    /// A 2xx whose body is incomplete: the connection broke or the time limit passed. A body cut at our own size limit
    /// does not count.
    pub fn is_cut(&self) -> bool {
        self.is_success() && matches!(self.truncated, Some(Truncated::Time | Truncated::Disconnect))
    }
}

impl Outcome {
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Outcome::Response(_) => None,
            Outcome::Failure(failure) => Some(failure),
        }
    }
}

impl PageEvent {
    pub fn response(&self) -> Option<&Response> {
        match &self.outcome {
            Outcome::Response(response) => Some(response),
            Outcome::Failure(_) => None,
        }
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.outcome.failure()
    }

    /// The final URL, if the request was redirected. An archive may know the final URL without the redirects.
    pub fn redirected_url(&self) -> Option<&str> {
        (!self.hops.is_empty() || self.final_url != self.url).then_some(self.final_url.as_str())
    }
}

/// Request headers whose values are removed before a request is stored.
fn is_secret(name: &str) -> bool {
    ["cookie", "authorization", "proxy-authorization"].iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Decodes Latin-1: every byte becomes the character of the same number.
pub fn latin1_to_string(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => text.to_owned(),
        _ => bytes.iter().map(|&b| b as char).collect(),
    }
}

/// The bytes of a header's value as they were sent. A value with characters beyond Latin-1, as in archives of other
/// programs, is written in UTF-8.
pub fn value_bytes(value: &str) -> Vec<u8> {
    match value.chars().all(|c| c <= '\u{ff}') {
        true => string_to_latin1(value),
        false => value.as_bytes().to_vec(),
    }
}

/// The inverse of [`latin1_to_string`]; a character beyond U+00FF becomes `?`.
pub fn string_to_latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c as u32).unwrap_or(b'?')).collect()
}
