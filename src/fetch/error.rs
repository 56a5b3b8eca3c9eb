//! Errors of a client and of a request, for both transports.

use std::error::Error;
use std::io;

use seine_parse::page::{Failure, FailureReason};
use seine_system::descriptors;

use super::dns::DnsError;

/// For a system without CA certificates; http still works.
pub(super) const NO_ROOTS: &str = "https does not work: there are no root certificates; install ca-certificates, or \
    set SSL_CERT_FILE";

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{part} {value:?} cannot be sent in a header: use visible ASCII characters only")]
    Header { part: &'static str, value: String },
    #[error("the HTTP client cannot be set up: {}", cause_of(.0))]
    Setup(#[from] reqwest::Error),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Turns a client's error into a `Failure`. `is_connecting`: there was no connection yet.
pub(super) fn failure(is_connecting: bool, error: &(dyn Error + 'static)) -> Failure {
    let mut reason = if is_connecting { FailureReason::Connect } else { FailureReason::ConnectionBroken };
    let mut message = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(dns) = error.downcast_ref::<DnsError>() {
            return dns.failure();
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
        // The connection does not answer its pings any more.
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
        ConnectionReset | ConnectionAborted | BrokenPipe if is_connecting => Some(FailureReason::ConnectionRefused),
        // Only a TLS handshake reads something by then.
        UnexpectedEof if is_connecting => Some(FailureReason::Tls),
        TimedOut if !is_connecting => Some(FailureReason::Timeout),
        _ => None,
    }
}

/// rustls reports through io::Error (nested in another one), whose inner error is not in the chain.
fn cause_within<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// The innermost cause, which is the most specific.
pub(super) fn cause_of(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
