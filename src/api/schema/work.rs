//! JSON types for remote workers: requests for work, leases, pages and results.

use seine_parse::page::{EpochMs, HttpVersion, Truncated};
use seine_system::clock::now_ms;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaseWanted {
    /// Wanted number of hosts; the worker's limit applies.
    #[serde(default = "one")]
    pub hosts: usize,
    /// If no host is due, wait up to this long; at most half a minute.
    #[serde(default)]
    pub wait_ms: u64,
}

fn one() -> usize {
    1
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeasedWork {
    /// The user agent to send. robots.txt was evaluated for it.
    pub user_agent: String,
    /// Maximum size of a body as received. Cut a longer body there and set `truncated` to `length`.
    pub max_body_bytes: u64,
    pub leases: Vec<HostLease>,
}

/// A host leased to one worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostLease {
    /// The fence, to be sent with everything that concerns the lease.
    pub lease: String,
    pub origin: String,
    /// Delay between the end of one request and the start of the next; one request at a time.
    pub delay_ms: u64,
    /// From now on.
    pub lasts_ms: u64,
    pub urls: Vec<UrlToFetch>,
}

#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UrlToFetch {
    pub url: String,
    /// The verdict of robots.txt. Always `allowed`, because other URLs are not given out.
    pub robots: String,
    /// To be sent as If-None-Match and If-Modified-Since.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RenewedLease {
    pub lasts_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Released {
    /// Number of URLs released for others.
    pub urls: u64,
}

/// A worker's response. Redirects are sent like other responses; the server follows them.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageSent {
    pub lease: String,
    pub url: String,
    /// Missing with `failure`.
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `HTTP/1.0`, `HTTP/1.1` (the default) or `HTTP/2`.
    pub version: Option<HttpVersion>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<(String, String)>,
    /// Base64 (RFC 4648) of the body as received, without transfer coding, with content coding.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Of that body: `sha256:` and 64 hexadecimal digits. Checked if present.
    pub digest: Option<String>,
    pub truncated: Option<Truncated>,
    pub ip: Option<std::net::IpAddr>,
    /// From the request to the last byte.
    #[serde(default)]
    pub took_ms: u64,
    /// Why there is no response: `timeout`, `connection_refused` and others. The server then tries itself.
    pub failure: Option<FailureSent>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureSent {
    pub reason: String,
    #[serde(default)]
    pub message: String,
}

/// The result for the pages of one request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PagesTaken {
    /// Durably accepted.
    pub accepted: u64,
    /// The server fetches these itself: failures, redirects, and pages to compare.
    pub refetched: u64,
    pub refused: Vec<PageRefused>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageRefused {
    pub url: String,
    pub why: String,
}

/// The record of a remote worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClientStatus {
    pub name: String,
    /// It is trusted: enough of its pages agreed with our own fetches.
    pub is_proven: bool,
    /// Why it was shut out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shut_out: Option<String>,
    pub hosts: u64,
    pub max_hosts: u64,
    pub accepted: u64,
    pub refetched: u64,
    pub refused: u64,
    pub agreed: u64,
    pub disagreed: u64,
    /// Leases that ended without a release, with URLs left.
    pub lapsed: u64,
    /// Pages of a shut-out worker that we did not fetch ourselves and now refetch.
    pub in_question: u64,
}

/// A host ready for a worker. If this is dropped before the worker knows of it, the host is released at once.
pub struct Prepared {
    lease: HostLease,
    until: EpochMs,
    is_received: oneshot::Sender<()>,
}

impl Prepared {
    /// The receiver is notified when the worker gets the lease, or when it never will.
    pub fn new(lease: HostLease, until: EpochMs) -> (Prepared, oneshot::Receiver<()>) {
        let (told, is_told) = oneshot::channel();
        (Prepared { lease, until, is_received: told }, is_told)
    }

    /// The lease as sent to the worker now; none if it has ended.
    pub(in crate::api) fn tell(self) -> Option<HostLease> {
        let lasts_ms = self.until.saturating_sub(now_ms());
        let is_told = lasts_ms > 0 && self.is_received.send(()).is_ok();
        is_told.then_some(HostLease { lasts_ms, ..self.lease })
    }
}

/// A lease in preparation.
pub(crate) type Leasing = oneshot::Receiver<Prepared>;
