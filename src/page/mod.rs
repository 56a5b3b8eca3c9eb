//! The page event: what one attempt to fetch one URL brought. Plain data, no I/O.
//!
//! In the data model of three tables (ARCHITECTURE.md) an accepted event is an entry of `page_proposed`; the page log
//! keeps it in the shape that [`codec`] gives it.

mod change;
pub mod codec;
mod doubt;
mod duplicate;
pub mod preferences;
pub(crate) mod read_back;
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

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type EpochMs = u64;

/// What one attempt to fetch one URL brought: a response or a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageEvent {
    /// Stable over every redelivery: 32 lower-case hex digits, time-ordered (UUIDv7 without dashes).
    pub id: String,
    /// The normalised URL that was asked for.
    pub url: String,
    pub kind: Kind,
    /// Links followed from a seed to here; seeds have 0.
    pub depth: u16,
    /// How many attempts at this URL came before this one without a final answer.
    pub attempt: u16,
    /// The request's method: `GET`.
    pub method: String,
    /// The request's headers as sent, as far as the client shows them.
    pub request_headers: Headers,
    /// Every redirect that was followed, in order. Empty when the first answer was the last.
    pub hops: Vec<Hop>,
    /// Where the answer came from: `url`, or the last hop's target.
    pub final_url: String,
    /// The address that answered; none when no connection came about.
    pub ip: Option<IpAddr>,
    pub started_ms: EpochMs,
    /// After the last byte of the body.
    pub ended_ms: EpochMs,
    pub outcome: Outcome,
    /// Set when this is not the URL's last word: it is tried again. None in events of before it was noted, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// What became of the page since it was last fetched. None for an answer that is no page or not final, for a failure that
    /// does not take the page away, and in events of before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<PageChange>,
    /// Set when the answer is not to be delivered as this URL's page, though it may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Bytes received for this attempt besides its answer: bodies of redirects, and robots.txt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_beside: u64,
    /// Of a page that is new or has changed, where somebody wants to know how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextChange>,
    /// What publishers say of the page's use, as it was when it was asked for. None where nobody looked: failures that were not asked for,
    /// archives, and events of before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Vec<Statement>>,
    /// Of a page that is there, where duplicates are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<Likeness>,
    #[serde(default, skip_serializing_if = "WasDuplicate::is_no")]
    pub was_duplicate: WasDuplicate,
    pub relevance: Relevance,
    /// The page classifier that said so, see [`PageClassifier::name`](crate::relevance::PageClassifier::name). None: nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    pub crawler_id: Arc<str>,
}

/// When a URL is tried again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    pub at: EpochMs,
    /// Whether this attempt counts as one of the URL's own: what went wrong was its own doing, not its host's.
    pub counts: bool,
    /// The host does not rest for it: it answers for other URLs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_is_well: bool,
}

/// What was asked for, and so what may be derived from the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Kind {
    /// A page: goes to the sinks.
    #[default]
    #[n(0)]
    Page,
    /// A sitemap: gives links, and never goes to a sink.
    #[n(1)]
    Sitemap,
    /// What a page needs to be shown: an image, a style sheet, a script. Goes to the sinks as a page does. Scope and depth are
    /// those of the page that needs it; its own depth says how many steps away from that page it is.
    #[n(2)]
    Requisite,
}

impl Kind {
    /// Whether it goes to the sinks, and counts as a page.
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

/// The last response of the exchange, redirects behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub status: u16,
    /// Reason phrase as sent; empty for HTTP/2.
    pub reason: String,
    pub version: HttpVersion,
    pub headers: Headers,
    /// Content as received: transfer framing removed, content codings still on.
    #[serde(skip)]
    pub body: Bytes,
    /// Set when the body was cut, with the reason.
    pub truncated: Option<Truncated>,
    /// The exact bytes around the body, where an archive asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

/// Headers in order of arrival, repeats kept. Names as the client gives them (lower case when it does not keep case);
/// values as bytes read as Latin-1, so that every byte survives.
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

/// Why a body is shorter than what the server had (the values of WARC 1.1's `WARC-Truncated`).
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
}

/// One redirect that was followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    pub url: String,
    pub status: u16,
    pub headers: Headers,
    /// The absolute URL it points at.
    pub target: String,
    pub ip: Option<IpAddr>,
}

/// An attempt that brought no response to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Failure {
    #[n(0)]
    pub reason: FailureReason,
    /// For people: what exactly went wrong.
    #[n(1)]
    pub message: String,
}

impl Headers {
    /// The first value of a header, its name compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Every value of a header, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Whether any of these tells who asks: cookies and credentials.
    pub fn have_secrets(&self) -> bool {
        self.0.iter().any(|(name, _)| is_secret(name))
    }

    /// With `***` in place of what tells who asks.
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

impl Response {
    /// The `Content-Type` header as sent, parameters included.
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get("content-type")
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A 2xx whose body ended before its end: it broke off, or took too long. One cut at our own limit of size is as long
    /// as we want it.
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

    /// Whether this is a page that asks not to be indexed. `says`: what came says so; `before`: it did at the last look, if it
    /// was there, and a 304 or a page that was cut need not say so again.
    pub fn is_noindex(&self, says: bool, before: bool) -> bool {
        self.kind.is_delivered()
            && self.response().is_some_and(|response| match response.status {
                304 => says || before,
                _ => response.is_success() && (says || (before && response.is_cut())),
            })
    }

    /// The final URL when at least one redirect was followed. An archive may know where they led and none of them.
    pub fn redirected_url(&self) -> Option<&str> {
        (!self.hops.is_empty() || self.final_url != self.url).then_some(self.final_url.as_str())
    }
}

/// Request headers whose values are kept by nobody who keeps the request.
fn is_secret(name: &str) -> bool {
    ["cookie", "authorization", "proxy-authorization"].iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Latin-1: every byte becomes the character of the same number.
pub fn latin1_to_string(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => text.to_owned(),
        _ => bytes.iter().map(|&b| b as char).collect(),
    }
}

/// The inverse of [`latin1_to_string`]; a character beyond U+00FF becomes `?`.
pub fn string_to_latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c as u32).unwrap_or(b'?')).collect()
}
