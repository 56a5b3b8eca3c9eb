//! What sends a request and reads its answer: reqwest, or for archives that want exact bytes a client of our own making
//! above the same hyper. Both are told the same and tell the same.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Extensions, HeaderMap, StatusCode, Version};

use super::client::dns_failure;
use super::dns::DnsError;
use super::plain::{Plain, PlainBody};
use super::tapped::{Tapped, TappedBody};
use crate::config::FetchConfig;
use crate::descriptors;
use crate::page::wire::Wire;
use crate::page::{Failure, FailureReason, HttpVersion, Truncated, latin1_to_string};

/// More than any honest server sends; a page with more is a protocol failure.
pub(super) const MAX_HEADERS: usize = 512;
pub(super) const MAX_IDLE_TIME: Duration = Duration::from_secs(20);
/// What a system without any CA certificates has to say; http works without.
pub(super) const NO_ROOTS: &str = "no https: nobody is trusted; install ca-certificates or point SSL_CERT_FILE at some";

pub(super) enum Transport {
    Plain(Plain),
    Tapped(Box<Tapped>),
}

/// What an answer begins with.
pub(super) struct Head {
    pub status: u16,
    /// As sent; empty for HTTP/2.
    pub reason: String,
    pub version: HttpVersion,
    pub headers: HeaderMap,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    /// The body's length, where the head says it.
    pub announced: Option<u64>,
}

/// The rest of an answer, as it comes.
pub(super) enum Incoming {
    Plain(PlainBody),
    Tapped(Box<TappedBody>),
}

impl Transport {
    pub async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Head, Incoming), Failure> {
        Ok(match self {
            Transport::Plain(http) => {
                let (head, body) = http.get(url, headers).await?;
                (head, Incoming::Plain(body))
            }
            Transport::Tapped(http) => {
                let (head, body) = http.get(url, headers).await?;
                (head, Incoming::Tapped(Box::new(body)))
            }
        })
    }
}

impl Incoming {
    /// The next piece of the body; none at its end, when all of it came. An error is a break: a body shorter than its
    /// length, chunks without the last one, a stream or connection that was reset.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Truncated> {
        match self {
            Incoming::Plain(body) => body.piece().await,
            Incoming::Tapped(body) => body.piece().await,
        }
    }

    /// The bytes around a body of which `kept` bytes are kept; none when the transport does not know them.
    pub fn wire(self, kept: usize) -> Option<Wire> {
        match self {
            Incoming::Plain(_) => None,
            Incoming::Tapped(body) => body.wire(kept),
        }
    }
}

impl Head {
    pub fn new(status: StatusCode, version: Version, headers: HeaderMap, extensions: &Extensions) -> Head {
        Head {
            status: status.as_u16(),
            reason: reason_phrase(status, version, extensions),
            version: http_version(version),
            headers,
            ip: None,
            announced: None,
        }
    }
}

fn reason_phrase(status: StatusCode, version: Version, extensions: &Extensions) -> String {
    if version >= Version::HTTP_2 {
        return String::new();
    }
    match extensions.get::<hyper::ext::ReasonPhrase>() {
        Some(phrase) => latin1_to_string(phrase.as_bytes()),
        None => status.canonical_reason().unwrap_or_default().to_owned(),
    }
}

fn http_version(version: Version) -> HttpVersion {
    match version {
        Version::HTTP_2 => HttpVersion::Http2,
        Version::HTTP_09 | Version::HTTP_10 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}

/// How long a connection may take. Less than the head of an answer: then it is known which of the two did not come.
pub(super) fn connect_time(config: &FetchConfig) -> Duration {
    config.connect_timeout.min(config.header_timeout.min(config.total_timeout).mul_f64(0.9))
}

/// What kind of failure it is: the only place where the clients say it. `is_connecting`: there was no connection yet.
pub(super) fn failure(is_connecting: bool, error: &(dyn Error + 'static)) -> Failure {
    let mut reason = if is_connecting { FailureReason::Connect } else { FailureReason::ConnectionBroken };
    let mut message = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(dns) = error.downcast_ref::<DnsError>() {
            return dns_failure(dns);
        }
        if error.is::<rustls::Error>() {
            reason = FailureReason::Tls;
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            reason = hyper_reason(error).unwrap_or(reason);
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            reason = io_reason(error, is_connecting).unwrap_or(reason);
        }
        message = error.to_string(); // the innermost says most
        cause = cause_within(error);
    }
    if message.is_empty() {
        message = error.to_string();
    }
    Failure { reason, message }
}

fn hyper_reason(error: &hyper::Error) -> Option<FailureReason> {
    match error {
        error if error.is_parse() => Some(FailureReason::Protocol),
        // Of a connection that does not answer its pings any more.
        error if error.is_timeout() => Some(FailureReason::Timeout),
        _ => None,
    }
}

fn io_reason(error: &io::Error, is_connecting: bool) -> Option<FailureReason> {
    use io::ErrorKind::*;
    if descriptors::is_exhausted(error) {
        return Some(FailureReason::OpenFiles);
    }
    match error.kind() {
        NetworkUnreachable | HostUnreachable | NetworkDown => Some(FailureReason::NoRoute),
        ConnectionRefused => Some(FailureReason::ConnectionRefused),
        ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof if is_connecting => {
            Some(FailureReason::ConnectionRefused)
        }
        TimedOut if !is_connecting => Some(FailureReason::Timeout),
        _ => None,
    }
}

/// rustls reports through io::Error (and that in another), whose inner error is not in the chain.
fn cause_within<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// The innermost cause: it says most.
pub(super) fn cause_of(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
