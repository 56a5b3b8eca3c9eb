//! A leased host, and its release.

use std::time::Duration;

use minicbor::{Decode, Encode};

use super::keys::UrlKey;
use super::spending::Spent;
use super::trouble::{Health, Trouble};
use super::work::Work;
use seine_parse::page::{EpochMs, Failure};

/// Maximum number of due retries and rechecks of a host that are considered for a lease, longest due first.
pub(super) const LATER_WINDOW: usize = 256;
/// For this long a due retry comes after URLs that were never fetched.
pub(super) const RETRY_WAITS_MS: u64 = 600_000;

/// One host, exclusively, with some of its due URLs.
#[derive(Debug, Clone, Default)]
pub struct Lease {
    /// Unique in the life of the process.
    pub id: u64,
    pub host: Host,
    pub work: Vec<Work>,
}

/// The record of a host; all of it survives a restart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// Scheme, name, and port if it is not the default: `https://example.com`, `http://127.0.0.1:8080`.
    pub origin: String,
    /// robots.txt as last fetched; none before the first fetch.
    pub robots: Option<Robots>,
    /// None while it is healthy.
    pub trouble: Option<Trouble>,
    /// Delay set by the operator, instead of the configured one.
    pub ordered_delay: Option<Duration>,
}

/// robots.txt of one origin, as far as it matters later (RFC 9309).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Robots {
    #[n(0)]
    pub fetched_ms: EpochMs,
    /// Must be fetched again after this time.
    #[n(1)]
    pub expires_ms: EpochMs,
    #[n(2)]
    pub access: RobotsAccess,
    /// The host's TDM reservations, empty if it has none. None: never fetched.
    #[n(3)]
    pub tdm: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum RobotsAccess {
    /// 2xx: the file, at most 500 KiB, as text (invalid UTF-8 replaced).
    #[n(0)]
    Rules(#[n(0)] String),
    /// 4xx: everything is allowed.
    #[n(1)]
    AllowAll,
    /// 5xx or no answer: everything is disallowed until it expires, because of this failure.
    #[n(2)]
    Unreachable(#[n(0)] Failure),
}

/// How much to lease at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseLimits {
    /// The maximum number of hosts.
    pub hosts: usize,
    /// The maximum number of URLs of each host; fewer if the host's delay is long.
    pub urls: usize,
    /// The last leases of `hosts`, this many, are only for hosts of domains without a lease, if more than one domain
    /// has work soon.
    pub spared: usize,
}

impl LeaseLimits {
    /// Spares no leases.
    pub fn new(hosts: usize, urls: usize) -> LeaseLimits {
        LeaseLimits { hosts, urls, spared: 0 }
    }
}

/// The result of [`super::HostLeases::lease_host`]. `L`: the lease, or what the caller makes of it.
#[derive(Debug, Clone)]
pub enum LeaseAnswer<L = Box<Lease>> {
    Leased(L),
    /// It must wait until then, for its delay or because it is in trouble or blocked.
    At {
        at: EpochMs,
        is_in_trouble: bool,
    },
    /// Another worker has it.
    Taken,
}

impl<L> LeaseAnswer<L> {
    pub fn map<T>(self, make: impl FnOnce(L) -> T) -> LeaseAnswer<T> {
        match self {
            LeaseAnswer::Leased(lease) => LeaseAnswer::Leased(make(lease)),
            LeaseAnswer::At { at, is_in_trouble } => LeaseAnswer::At { at, is_in_trouble },
            LeaseAnswer::Taken => LeaseAnswer::Taken,
        }
    }
}

/// How often an address may be visited, whatever the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressLimit {
    /// From the end of one request to the start of the next. Zero: no limit, also of requests at the same time.
    pub delay: Duration,
    /// Number of requests at the same time. If it is more than 1, the delay separates their starts.
    pub at_once: usize,
}

impl AddressLimit {
    /// One request after the other.
    pub fn one_with(delay: Duration) -> AddressLimit {
        AddressLimit { delay, at_once: 1 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolitenessSlot {
    /// Nothing more may be fetched from the host: it is blocked or recalled ([`super::EmbeddedFrontier::recall`]).
    Recalled,
    Now,
    At(EpochMs),
}

/// URLs that were fetched and have no verdict yet.
#[derive(Debug, Clone)]
pub struct Unjudged(pub(super) Vec<UrlKey>);

/// How a lease ended.
#[derive(Debug, Clone, Default)]
pub struct Release {
    /// URLs with an event in the page log: not leased again; `apply` finishes them.
    pub fetched: Vec<String>,
    /// The host is not leased before this: the end of the last request plus delay, Retry-After or back-off, or its
    /// politeness slot.
    pub not_before: EpochMs,
    /// Set if robots.txt was fetched during this lease.
    pub robots: Option<Robots>,
    /// New health of the host; none: unchanged.
    pub health: Option<Health>,
    /// Set if a budget of the host is used up: it is not leased before that ends. Not stored, because budgets may
    /// change with a restart.
    pub spent: Option<Spent>,
    /// The blocked host to which its robots.txt redirects, so that nothing was fetched.
    pub waits_for: Option<String>,
    /// The host's own delay (crawl-delay of robots.txt), stored so that a restart during a visit obeys it too. A delay
    /// below `FrontierOptions::default_delay` has no effect.
    pub delay: Duration,
    /// The remote worker is known to be done with the host. Otherwise nobody gets the host before the worker's lease
    /// ends.
    pub client_is_done: bool,
}
