//! Why an attempt failed: the reasons, their stored names, and what they mean in words.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Why an attempt failed. The names are the `reason` label of the metrics and are stored: only add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum FailureReason {
    /// The name does not exist or has no address.
    #[n(0)]
    Dns,
    /// The address is loopback, private or link-local, and such are refused.
    #[n(1)]
    PrivateAddress,
    /// No connection, and nobody said why: silence until the time limit. Before the next two reasons were there, theirs too.
    #[n(2)]
    Connect,
    /// No TLS session: certificate or protocol.
    #[n(3)]
    Tls,
    /// The time limit passed before the response's headers.
    #[n(4)]
    Timeout,
    /// Not HTTP, or HTTP that the client could not read.
    #[n(5)]
    Protocol,
    /// robots.txt forbids the URL.
    #[n(6)]
    RobotsDenied,
    /// robots.txt could not be had (5xx, network): everything is forbidden for now (RFC 9309 §2.3.1.4).
    #[n(7)]
    RobotsUnreachable,
    /// More redirects than allowed, or a loop.
    #[n(8)]
    TooManyRedirects,
    /// A redirect to something that is not a fetchable http(s) URL, or out of scope.
    #[n(9)]
    BadRedirect,
    /// The media type is not among those wanted.
    #[n(10)]
    UnwantedType,
    /// The URL itself cannot be fetched.
    #[n(11)]
    BadUrl,
    /// A redirect's host could not be visited in time: it rests, or others wait for it.
    #[n(12)]
    HostBusy,
    /// The name servers said nothing of the name: they failed, or kept silent.
    #[n(13)]
    Resolver,
    /// This machine knows no way to the address.
    #[n(14)]
    NoRoute,
    /// This process, or this machine, has as many files open as it may.
    #[n(15)]
    OpenFiles,
    /// The host was in trouble for so long that it was given up; looked at again when it is met again.
    #[n(16)]
    HostUnreachable,
    /// No connection, and somebody said so: refused, or broken off while it was made.
    #[n(17)]
    ConnectionRefused,
    /// The connection broke before a response was complete enough to keep.
    #[n(18)]
    ConnectionBroken,
    /// The scope, or the depth, does not admit it any more.
    #[n(19)]
    OutOfScope,
    /// Nothing went wrong: its page is another URL's, and it was not asked for.
    #[n(20)]
    Alias,
    /// The body broke off, or came too slowly: half a page came. An answer, and no failure: it is counted, and found again, by this
    /// name.
    #[n(21)]
    Cut,
    /// The name does not exist or has no address: name servers that know other names said so twice.
    #[n(22)]
    UnknownHost,
    /// Seine panicked over this URL or its page: a fault of its own.
    #[n(23)]
    Fault,
}

/// Answers by their statuses, as they are counted and named for people.
pub const STATUS_CLASSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "other"];

/// The one of [`STATUS_CLASSES`] that a status belongs to.
pub fn status_class(status: u16) -> &'static str {
    match status / 100 {
        class @ 2..=5 => STATUS_CLASSES[usize::from(class) - 2],
        _ => "other",
    }
}

impl FailureReason {
    /// All of them, by their numbers in the frontier.
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

    /// Whether a page that is there is not to be asked for any more, by a plain word of who decides: it leaves the destinations.
    pub fn takes_away(self) -> bool {
        matches!(self, FailureReason::RobotsDenied | FailureReason::OutOfScope)
    }

    /// Whether the same attempt may go better later. 429 and 5xx responses are judged by status, not here.
    pub fn is_transient(self) -> bool {
        WORDS[self as usize].2
    }

    /// The stored name, for example `robots_denied`.
    pub fn name(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// The same for people, of one attempt or of many: `disallowed by robots.txt`.
    pub fn meaning(self) -> &'static str {
        WORDS[self as usize].3
    }

    /// The reason of a stored name.
    pub fn by_name(name: &str) -> Option<FailureReason> {
        FailureReason::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// Of each reason its name, whether it is transient, and what it means, by their numbers in the frontier: only add, at the end.
const WORDS: [(FailureReason, &str, bool, &str); 24] = {
    use FailureReason::*;
    [
        (Dns, "dns", true, "the host name has no address"),
        (PrivateAddress, "private_address", false, "not on the public Internet; --allow-private fetches them"),
        (Connect, "connect", true, "no connection: nobody answers"),
        (Tls, "tls", true, "no valid TLS certificate, or no TLS"),
        (Timeout, "timeout", true, "no answer in time"),
        (Protocol, "protocol", true, "not HTTP"),
        (RobotsDenied, "robots_denied", false, "disallowed by robots.txt"),
        (RobotsUnreachable, "robots_unreachable", true, "robots.txt cannot be had"),
        (TooManyRedirects, "too_many_redirects", false, "redirects in a circle, or too many"),
        (BadRedirect, "bad_redirect", false, "redirects out of scope, or to no URL"),
        (UnwantedType, "unwanted_type", false, "of a media type that is not wanted"),
        (BadUrl, "bad_url", false, "no URL that can be fetched"),
        (HostBusy, "host_busy", true, "redirects to a host that could not be visited in time"),
        (Resolver, "resolver", true, "the name servers do not answer for it"),
        (NoRoute, "no_route", true, "no way from this machine to the address"),
        (OpenFiles, "open_files", true, "as many files open as there may be"),
        (HostUnreachable, "host_unreachable", false, "of hosts that were in trouble for too long"),
        (ConnectionRefused, "connection_refused", true, "no connection: it is refused"),
        (ConnectionBroken, "connection_broken", true, "the connection breaks before the answer"),
        (OutOfScope, "out_of_scope", false, "out of the scope, or too deep, as these are now"),
        (Alias, "alias", false, "not asked for: delivered under a URL that redirects there"),
        (Cut, "cut", true, "the body broke off: half a page, to be fetched again"),
        (UnknownHost, "unknown_host", false, "the host name does not exist, or has no address"),
        (Fault, "fault", true, "a fault in Seine itself: see its log, and report it"),
    ]
};
