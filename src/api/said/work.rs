//! Work for other crawlers: what they ask for and are given, what they send, and what becomes of it.

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::clock::now_ms;
use crate::page::{EpochMs, HttpVersion, Truncated};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseWanted {
    /// As many as there are, up to what the client may have.
    #[serde(default = "one")]
    pub hosts: usize,
    /// Where nothing is due, so long is waited for something; up to half a minute.
    #[serde(default)]
    pub wait_ms: u64,
}

fn one() -> usize {
    1
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Work {
    /// Whom robots.txt was asked about: to be sent with every request.
    pub user_agent: String,
    /// Of a body as received, more is not taken: it is cut there, and `truncated` is `length`.
    pub max_body_bytes: u64,
    pub leases: Vec<HostLease>,
}

/// A host, for one client alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostLease {
    /// The fence: shown with everything that has to do with the lease.
    pub lease: String,
    pub origin: String,
    /// Between the end of one request and the start of the next, one at a time.
    pub delay_ms: u64,
    /// From now on.
    pub lasts_ms: u64,
    pub urls: Vec<UrlToFetch>,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UrlToFetch {
    pub url: String,
    /// The verdict of robots.txt: `allowed`, as what is not is not given out.
    pub robots: String,
    /// To be sent as If-None-Match and If-Modified-Since.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renewed {
    pub lasts_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Released {
    /// URLs that go to others.
    pub urls: u64,
}

/// What a client was answered. Redirects are answers like others: the server follows them.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageSent {
    pub lease: String,
    pub url: String,
    /// None with `failure`.
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `HTTP/1.0`, `HTTP/1.1` (if it says nothing) or `HTTP/2`.
    pub version: Option<HttpVersion>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    /// Base64 (RFC 4648) of the body as received: transfer framing removed, content codings still on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Of that body: `sha256:` and 64 hexadecimal digits. Compared if it is there.
    pub digest: Option<String>,
    pub truncated: Option<Truncated>,
    pub ip: Option<std::net::IpAddr>,
    /// From the request to the last byte.
    #[serde(default)]
    pub took_ms: u64,
    /// Why there is no answer: `timeout`, `connection_refused` and others; the server has a look of its own then.
    pub failure: Option<FailureSent>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureSent {
    pub reason: String,
    #[serde(default)]
    pub message: String,
}

/// What became of the pages of one request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PagesTaken {
    /// Durable.
    pub accepted: u64,
    /// The server asks itself: failures, redirects, and pages that are checked.
    pub held: u64,
    pub refused: Vec<PageRefused>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageRefused {
    pub url: String,
    pub why: String,
}

/// What is known of a client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClientStatus {
    pub name: String,
    /// Enough of its pages agreed with what we saw.
    pub is_proven: bool,
    /// Why it gets nothing any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shut_out: Option<String>,
    pub hosts: u64,
    pub max_hosts: u64,
    pub accepted: u64,
    pub held: u64,
    pub refused: u64,
    pub agreed: u64,
    pub disagreed: u64,
    /// Leases that ended by themselves, with URLs left.
    pub lapsed: u64,
    /// Pages that were taken unseen of a client that is shut out since, and are fetched again.
    pub in_question: u64,
}

/// A host that can be given out. Dropped before its client is told of it, it is for others at once.
pub struct Prepared {
    lease: HostLease,
    until: EpochMs,
    told: oneshot::Sender<()>,
}

impl Prepared {
    /// The other end is told when the client is, or that it never will be.
    pub fn new(lease: HostLease, until: EpochMs) -> (Prepared, oneshot::Receiver<()>) {
        let (told, is_told) = oneshot::channel();
        (Prepared { lease, until, told }, is_told)
    }

    /// What its client is told now; none when it is over.
    pub(in crate::api) fn tell(self) -> Option<HostLease> {
        let lasts_ms = self.until.saturating_sub(now_ms());
        let is_told = lasts_ms > 0 && self.told.send(()).is_ok();
        is_told.then_some(HostLease { lasts_ms, ..self.lease })
    }
}

/// A lease that is being prepared.
pub type Leasing = oneshot::Receiver<Prepared>;
