//! A host that is leased, from its turn to its release.

use std::time::Duration;

use minicbor::{Decode, Encode};

use super::keys::UrlKey;
use super::spending::Spent;
use super::trouble::{Health, Trouble};
use super::work::Work;
use crate::page::{EpochMs, Failure};

/// Of the retries and revisits of one host that are due, those considered for one lease: the longest due ones.
pub(super) const LATER_WINDOW: usize = 256;
/// A retry that is due lets URLs go first that were never asked for, for so long.
pub(super) const RETRY_WAITS_MS: u64 = 600_000;

/// One host, exclusively, with some of its due URLs.
#[derive(Debug, Clone, Default)]
pub struct Lease {
    /// Never the same twice in the life of the store's process.
    pub id: u64,
    pub host: Host,
    pub work: Vec<Work>,
}

/// What the frontier remembers of a host; all of it survives a restart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    /// Scheme, name and port when not the scheme's own: `https://example.com`, `http://127.0.0.1:8080`.
    pub origin: String,
    /// robots.txt as last fetched; none before the first fetch.
    pub robots: Option<Robots>,
    /// None while it is well.
    pub trouble: Option<Trouble>,
    /// The delay between visits that its operator wants, in the place of the configured one.
    pub ordered_delay: Option<Duration>,
}

/// robots.txt of one origin, as far as it matters later (RFC 9309).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Robots {
    #[n(0)]
    pub fetched_ms: EpochMs,
    /// To be fetched again from then on.
    #[n(1)]
    pub expires_ms: EpochMs,
    #[n(2)]
    pub access: RobotsAccess,
    /// The host's file of TDM reservations, empty where it has none. None: nobody has looked.
    #[n(3)]
    pub tdm: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum RobotsAccess {
    /// 2xx: the file's bytes, at most 500 KiB, as text (invalid UTF-8 replaced).
    #[n(0)]
    Rules(#[n(0)] String),
    /// 4xx: everything is allowed.
    #[n(1)]
    AllowAll,
    /// 5xx or no answer: everything is disallowed until it expires, because of this.
    #[n(2)]
    Unreachable(#[n(0)] Failure),
}

/// What [`super::Frontier::lease_host`] gives.
#[derive(Debug, Clone)]
pub enum HostTurn {
    Leased(Box<Lease>),
    /// It rests until then.
    At(EpochMs),
    /// Another worker has it.
    Taken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Nothing more is to be asked of the host: it is blocked, or wanted back ([`super::Frontier::recall`]).
    Recalled,
    Now,
    At(EpochMs),
}

/// URLs that were fetched, and whose verdicts are still to come.
#[derive(Debug, Clone)]
pub struct Unjudged(pub(super) Vec<UrlKey>);

/// How a lease ended.
#[derive(Debug, Clone, Default)]
pub struct Release {
    /// URLs whose event the page log has accepted: not leased again; `apply` finishes them.
    pub fetched: Vec<String>,
    /// The host is not leased before this (end of the last visit + its delay, Retry-After, back-off, its address's turn).
    pub not_before: EpochMs,
    /// Set when robots.txt was fetched during this lease.
    pub robots: Option<Robots>,
    /// What the host showed of itself; none leaves what is known.
    pub health: Option<Health>,
    /// Set when a budget of the host is spent: it is not leased before that is over. Not kept over a restart, when budgets may
    /// be others.
    pub spent: Option<Spent>,
    /// The host's own delay between visits (robots.txt crawl-delay), kept so that a restart in the middle of a visit honours
    /// it too. What is below `FrontierOptions::default_delay` changes nothing.
    pub delay: Duration,
    /// The client that the host was lent to is known to be done with it. Otherwise nobody else is leased the host before the
    /// client's time is over.
    pub client_is_done: bool,
}
