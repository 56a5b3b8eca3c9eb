//! Why an attempt failed: reasons, stored names, and descriptions for people.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Why an attempt failed. The names are stored and are the metrics' `reason` label: add new ones, never change old
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum FailureReason {
    /// The name does not exist or has no address.
    #[n(0)]
    Dns,
    /// The address is loopback, private or link-local, and the configuration refuses those.
    #[n(1)]
    PrivateAddress,
    /// No connection and no error before the time limit. Older versions also used it for `ConnectionRefused` and
    /// `ConnectionBroken`.
    #[n(2)]
    Connect,
    /// No TLS session: bad certificate or protocol error.
    #[n(3)]
    Tls,
    /// The time limit passed before the response headers arrived.
    #[n(4)]
    Timeout,
    /// The answer is not HTTP, or the client could not parse it.
    #[n(5)]
    Protocol,
    /// robots.txt forbids the URL.
    #[n(6)]
    RobotsDenied,
    /// robots.txt could not be fetched (5xx, network), so the whole host is forbidden for now (RFC 9309 §2.3.1.4).
    #[n(7)]
    RobotsUnreachable,
    /// More redirects than allowed, or a loop.
    #[n(8)]
    TooManyRedirects,
    /// A redirect out of scope, or to something that is not a fetchable http(s) URL.
    #[n(9)]
    BadRedirect,
    /// The configuration does not want this media type.
    #[n(10)]
    UnwantedType,
    /// The URL itself cannot be fetched.
    #[n(11)]
    BadUrl,
    /// The host of a redirect target was not free in time: it was in back-off or other workers were waiting for it.
    #[n(12)]
    HostBusy,
    /// The name servers failed or did not answer.
    #[n(13)]
    Resolver,
    /// This machine has no route to the address.
    #[n(14)]
    NoRoute,
    /// This process or machine reached its limit of open files.
    #[n(15)]
    OpenFiles,
    /// The host failed for so long that Seine gave up on it. A new link to the host starts it again.
    #[n(16)]
    HostUnreachable,
    /// The connection was refused or reset while it was being made.
    #[n(17)]
    ConnectionRefused,
    /// The connection broke before enough of a response had arrived.
    #[n(18)]
    ConnectionBroken,
    /// The URL is no longer within scope or depth.
    #[n(19)]
    OutOfScope,
    /// Not a failure: the URL is an alias, its page belongs to another URL. It was not requested.
    #[n(20)]
    Alias,
    /// The body was cut or came too slowly. This is an answer, not a failure, but it is counted and searched under this
    /// name.
    #[n(21)]
    Cut,
    /// The name does not exist or has no address. Name servers that resolve other names said so twice.
    #[n(22)]
    UnknownHost,
    /// Seine panicked on this URL or its page: a bug in Seine.
    #[n(23)]
    Fault,
}

/// Classes of status codes, as used in counters and messages.
pub const STATUS_CLASSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "other"];

/// The class of a status, one of [`STATUS_CLASSES`].
pub fn status_class(status: u16) -> &'static str {
    match status / 100 {
        class @ 2..=5 => STATUS_CLASSES[usize::from(class) - 2],
        _ => "other",
    }
}

impl FailureReason {
    /// All reasons, indexed by their number in the frontier.
    pub const ALL: [FailureReason; WORDS.len()] = {
        let mut all = [FailureReason::Dns; WORDS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = WORDS[at].0;
            assert!(all[at] as usize == at, "WORDS are in the order of the numbers");
            at += 1;
        }
        all
    };

    /// Whether this failure removes a known page from the destinations: robots.txt or the operator's scope no longer
    /// admit it.
    pub fn takes_away(self) -> bool {
        matches!(self, FailureReason::RobotsDenied | FailureReason::OutOfScope)
    }

    /// Whether a later attempt may succeed. For 429 and 5xx responses the status decides, not this function.
    pub fn is_transient(self) -> bool {
        WORDS[self as usize].2
    }

    /// The stored name, for example `robots_denied`.
    pub fn name(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// A description for people that fits one or many attempts: `disallowed by robots.txt`.
    pub fn meaning(self) -> &'static str {
        WORDS[self as usize].3
    }

    /// The reason of a stored name.
    pub fn by_name(name: &str) -> Option<FailureReason> {
        FailureReason::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// Name, whether it is transient, and description of each reason, in the order of their numbers in the frontier. Append
/// only.
const WORDS: [(FailureReason, &str, bool, &str); 24] = {
    use FailureReason::*;
    [
        (Dns, "dns", true, "the host name has no address"),
        (PrivateAddress, "private_address", false, "not on the public Internet; --allow-private fetches them"),
        (Connect, "connect", true, "no connection: no answer"),
        (Tls, "tls", true, "no TLS, or no valid certificate"),
        (Timeout, "timeout", true, "no answer in time"),
        (Protocol, "protocol", true, "not HTTP"),
        (RobotsDenied, "robots_denied", false, "disallowed by robots.txt"),
        (RobotsUnreachable, "robots_unreachable", true, "robots.txt cannot be fetched"),
        (TooManyRedirects, "too_many_redirects", false, "redirect loop, or too many redirects"),
        (BadRedirect, "bad_redirect", false, "redirects out of scope, or to an invalid URL"),
        (UnwantedType, "unwanted_type", false, "media type not in valid_mime_types"),
        (BadUrl, "bad_url", false, "not a URL that can be fetched"),
        (HostBusy, "host_busy", true, "redirects to a host that was busy for too long"),
        (Resolver, "resolver", true, "the DNS servers do not answer for it"),
        (NoRoute, "no_route", true, "this machine has no route to the address"),
        (OpenFiles, "open_files", true, "the limit of open files is reached"),
        (HostUnreachable, "host_unreachable", false, "the host failed for too long and was given up"),
        (ConnectionRefused, "connection_refused", true, "connection refused"),
        (ConnectionBroken, "connection_broken", true, "the connection broke before the response"),
        (OutOfScope, "out_of_scope", false, "out of scope or too deep, after a change"),
        (Alias, "alias", false, "not fetched: delivered under a URL that redirects here"),
        (Cut, "cut", true, "the body ended early; to be refetched"),
        (UnknownHost, "unknown_host", false, "the host name does not exist, or has no address"),
        (Fault, "fault", true, "a bug in Seine: see its log, and report it"),
    ]
};
