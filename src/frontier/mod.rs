//! The frontier: `work_proposed` (URLs to fetch, by host, with due time and priority) and `page` (what is known of the
//! fetched ones): two of the data model's three tables (ARCHITECTURE.md), behind one narrow trait.
//!
//! A URL's way: proposed → leased with its host → its event accepted by the page log → [`Frontier::apply`] by the
//! validator. Until it is applied it stays on disk in `work_proposed`, so nothing is lost however the process ends.

mod addresses;
mod embedded;
mod keys;
mod memory;
mod schedule;
pub mod scope;
mod trouble;

use std::net::IpAddr;
use std::time::Duration;

pub use embedded::{EmbeddedFrontier, FORMAT, Survey};
pub use memory::MemoryFrontier;
use minicbor::{Decode, Encode};
pub use trouble::{Cause, Health, Trouble, Troubled, WHEN_MET_AGAIN, Waiting, WaitingHost, url_mark};

use crate::delivery::Position;
use crate::page::{EpochMs, Failure, FailureReason, Kind, PageChange};

/// The trait every frontier implements; one conformance suite runs on all of them. Calls block (microseconds to a few
/// milliseconds) and may come from several threads. Time is always handed in, so tests own the clock.
pub trait Frontier: Send + Sync {
    /// Adds URLs that are not known yet. What is known already, or over a host's limit, is left out and counted.
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError>;

    /// Puts known URLs back into `work_proposed`, due now and with all of their attempts before them, whatever became of
    /// them: fetched, failed, refused, gone, or waiting for a time of their own. A page that is there is looked at again;
    /// of any other the record is forgotten. Returns how many there were: those due or in flight anyway are left alone, as
    /// is what was never heard of.
    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError>;

    /// Leases up to `max_hosts` hosts that may be visited now and have due work, most urgent first, each with up to
    /// `max_urls` URLs (fewer where the host's delay is long). A leased host is given to nobody else until released.
    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError>;

    /// Leases one host by its origin, without URLs, for a visit that a redirect leads to. A host never heard of is made.
    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError>;

    /// Claims the next visit of `ip` for this lease's host. `Now` starts that visit: no other host on the same address
    /// gets `Now` for `delay`. `At(t)`: come back then; a turn is kept for the host.
    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn;

    /// Gives a host back. URLs of the lease that are not in `fetched` can be leased again.
    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError>;

    /// Applies a batch of validated events and moves the validator's cursor, all or nothing. Applying the same verdicts
    /// again changes nothing.
    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError>;

    /// How far the validator has come in the page log.
    fn cursor(&self) -> Result<Position, FrontierError>;

    /// A cursor that not even a power failure takes back; writes to disk (fsync) when it has to. Of the page log, only what
    /// lies before it may be removed: a store that lost its last commits validates again from an earlier place.
    fn durable_cursor(&self) -> Result<Position, FrontierError>;

    /// The record in `page`, of a fetched or finally failed URL.
    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError>;

    /// Sizes of everything, O(1).
    fn counts(&self) -> Counts;

    /// When the next host will be due; none when there is no work, or all of it is leased.
    fn next_due(&self) -> Option<EpochMs>;

    /// Whether anything is left to do by `now`: a URL never fetched (or waiting to be tried again), one that is due to be
    /// looked at again however long its host rests, one in flight, a leased host. All of it at one moment.
    fn has_work(&self, now: EpochMs) -> bool;

    /// Who waits at `now`, and for what: all hosts in trouble as numbers, and up to `at_most` hosts that are not due yet. The
    /// numbers are counters; takes as long as `at_most` is large.
    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting;

    /// A named note kept with the frontier (scope of the crawl, format version).
    fn note(&self, name: &str) -> Result<Option<String>, FrontierError>;
    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError>;

    /// Writes everything to disk (fsync), for a clean end.
    fn flush(&self) -> Result<(), FrontierError>;

    /// Whether its disk takes what is written.
    fn standing(&self) -> Standing {
        Standing::Well
    }

    /// Brings a frontier back that is not well, if it can be by now: closes its store and opens it again, writes what could
    /// not be written. Nothing to do is no error. Blocks for as long as an opening takes; leases go on.
    fn restore(&self) -> Result<(), FrontierError> {
        Ok(())
    }
}

/// How a frontier's disk is. The texts say where and what is the matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Well,
    /// Nothing is written until there is room again.
    NoRoom(String),
    /// A write failed: until the store is opened again ([`Frontier::restore`]) it can neither be read nor written.
    Away(String),
}

/// The note with the latest time that was handed in, in milliseconds: a crawl's clock goes on from there.
pub const CLOCK_NOTE: &str = "clock";

/// What every frontier wants to know when it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontierOptions {
    /// Pages ever admitted per host (sitemaps are not counted); none: no limit.
    pub max_pages_per_host: Option<u64>,
    /// No host is leased earlier than this after the opening: a process that was killed cannot have written down when its
    /// last visits ended. At least the delay between visits of one host and that between visits of one address.
    pub default_delay: Duration,
    /// Bytes of memory for the store's cache of blocks.
    pub cache_bytes: u64,
    /// With fewer bytes free on its disk nothing is written: the store needs them for what it does in the background. 0:
    /// the disk is not looked at.
    pub reserve_bytes: u64,
}

impl FrontierError {
    /// It passes by itself, once there is room on the disk.
    pub fn is_waiting(&self) -> bool {
        matches!(self, FrontierError::Waiting { .. })
    }
}

impl Default for FrontierOptions {
    fn default() -> Self {
        FrontierOptions {
            max_pages_per_host: None,
            default_delay: Duration::from_secs(1),
            cache_bytes: 32 << 20,
            reserve_bytes: 0,
        }
    }
}

/// A URL proposed for fetching. `url` is normalised, http or https, with a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// 0 first, 255 last, among the due URLs of one host. Equal ones: first proposed, first leased.
    pub priority: u8,
}

/// What became of proposals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proposed {
    pub added: u64,
    pub known: u64,
    /// Over the host's limit of pages.
    pub over_limit: u64,
}

/// One host, exclusively, with some of its due URLs.
#[derive(Debug, Clone)]
pub struct Lease {
    /// Never the same twice in the life of the store's process.
    pub id: u64,
    pub host: Host,
    pub work: Vec<Work>,
}

/// What the frontier remembers of a host; all of it survives a restart.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Scheme, name and port when not the scheme's own: `https://example.com`, `http://127.0.0.1:8080`.
    pub origin: String,
    /// robots.txt as last fetched; none before the first fetch.
    pub robots: Option<Robots>,
    /// None while it is well.
    pub trouble: Option<Trouble>,
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

/// One URL of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// Attempts before this one.
    pub attempt: u16,
    /// It was put off for what seemed its host's trouble since it was last tried in earnest.
    pub was_put_off: bool,
    /// From the last fetch of this URL if the page was there, for a conditional request.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// The page was there when it was last asked for.
    pub was_there: bool,
    /// [`PageRecord::live_digest`], to tell whether the page has changed.
    pub digest: Option<[u8; 32]>,
}

impl Work {
    /// `page`: what is known of the URL from its last fetch.
    fn new(url: String, kind: Kind, depth: u16, attempt: u16, page: Option<PageRecord>) -> Work {
        let digest = page.as_ref().and_then(PageRecord::live_digest);
        let was_there = page.as_ref().is_some_and(|page| page.state.is_live());
        // Of what is not there, a server's "not modified" would say nothing.
        let live = page.filter(|_| digest.is_some());
        let (etag, last_modified) = live.map_or((None, None), |page| (page.etag, page.last_modified));
        Work { url, kind, depth, attempt, was_put_off: false, etag, last_modified, was_there, digest }
    }
}

/// What [`Frontier::lease_host`] gives.
#[derive(Debug, Clone)]
pub enum HostTurn {
    Leased(Lease),
    /// It rests until then.
    At(EpochMs),
    /// Another worker has it.
    Taken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Now,
    At(EpochMs),
}

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
    /// The host's own delay between visits (robots.txt crawl-delay), kept so that a restart in the middle of a visit honours
    /// it too. What is below `FrontierOptions::default_delay` changes nothing.
    pub delay: Duration,
}

/// What the validator hands over at once.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub verdicts: Vec<Verdict>,
    /// Links and sitemap entries found, in scope and within depth.
    pub proposals: Vec<Proposal>,
    /// The validator's place in the log behind this batch.
    pub cursor: Position,
}

/// What one event means for its URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub url: String,
    pub kind: Kind,
    /// `PageEvent::id`; the same id applied again changes nothing.
    pub event_id: String,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Leaves `work_proposed`, enters or updates `page`. `due_again`: when it goes back to `work_proposed`;
    /// [`WHEN_MET_AGAIN`]: with its host, once that is no longer given up.
    Page { record: PageRecord, due_again: Option<EpochMs> },
    /// Stays in `work_proposed`, due at `at`. `attempt`: attempts so far, this one included: what the next
    /// [`Work::attempt`] will be. `put_off`: what the next [`Work::was_put_off`] will be.
    Retry { at: EpochMs, attempt: u16, put_off: bool, host: HostPause },
}

/// What a failure means for the host, at least, should the release that said so be lost. One that was not has said more:
/// a pause no longer than the host rests anyway tells nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostPause {
    pub not_before: EpochMs,
    pub trouble: Option<Trouble>,
}

/// What `page` keeps of a URL.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct PageRecord {
    #[n(0)]
    pub url: String,
    /// Sitemaps of before it was noted are here as pages.
    #[n(1)]
    pub kind: Kind,
    #[cbor(n(2), with = "embedded::event_id")]
    pub event_id: String,
    #[n(3)]
    pub state: PageState,
    /// HTTP status of the last response; 0 when there was none.
    #[n(4)]
    pub status: u16,
    /// SHA-256 of the decoded content of the last 2xx response; none when that was cut.
    #[cbor(n(7), with = "minicbor::bytes")]
    pub digest: Option<[u8; 32]>,
    #[n(8)]
    pub etag: Option<String>,
    #[n(9)]
    pub last_modified: Option<String>,
    #[n(5)]
    pub fetched_ms: EpochMs,
    #[n(6)]
    pub depth: u16,
}

impl PageRecord {
    /// The digest of the page's content, if it was there when it was last asked for, and came whole.
    pub fn live_digest(&self) -> Option<[u8; 32]> {
        self.digest.filter(|_| self.state.is_live())
    }
}

/// What the last fetch was against the one before (`new`, `unchanged`, `changed`, `gone`), or that it failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum PageState {
    #[n(0)]
    New,
    #[n(1)]
    Unchanged,
    #[n(2)]
    Changed,
    #[n(3)]
    Gone,
    /// A final answer that is no page: a 4xx on first sight, or retries used up.
    #[n(4)]
    Refused,
    #[n(5)]
    Failed(#[n(0)] FailureReason),
}

impl From<PageChange> for PageState {
    fn from(change: PageChange) -> PageState {
        match change {
            PageChange::New => PageState::New,
            PageChange::Unchanged => PageState::Unchanged,
            PageChange::Changed => PageState::Changed,
            PageChange::Gone => PageState::Gone,
        }
    }
}

impl PageState {
    /// The page was there when it was last asked for.
    pub fn is_live(self) -> bool {
        matches!(self, PageState::New | PageState::Unchanged | PageState::Changed)
    }
}

/// What `apply` did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Applied {
    /// Verdicts that changed something.
    pub verdicts: u64,
    pub proposed: Proposed,
}

/// Sizes, all O(1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// URLs to fetch, those waiting for a retry or a revisit included.
    pub work_proposed: u64,
    /// Of `work_proposed`: never fetched with a final answer yet (the rest are revisits).
    pub first_time: u64,
    /// URLs in `page`; sitemaps are not counted.
    pub page: u64,
    /// Of `page`, by state.
    pub live: u64,
    pub gone: u64,
    pub refused: u64,
    pub failed: u64,
    /// Hosts ever seen.
    pub hosts: u64,
    /// Hosts with work.
    pub hosts_with_work: u64,
    /// Hosts leased now, and URLs leased or fetched but not yet applied.
    pub hosts_leased: u64,
    pub in_flight: u64,
    /// Links applied over the crawl's life (for links per page).
    pub links_seen: u64,
}

/// Of the retries and revisits of one host that are due, those considered for one lease: the longest due ones.
const LATER_WINDOW: usize = 256;

/// Priority of a URL that the frontier first hears of by its verdict (a page log from elsewhere).
const PRIORITY_UNKNOWN: u8 = 128;

#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// The store in the folder `path` failed, or is not one that can be opened.
    #[error("frontier in {path}: {source}; {remedy}")]
    Store { path: String, remedy: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    /// Nothing can be written just now, or read. What the call was for is still to be done, once
    /// [`Frontier::standing`] is well; what was leased stays leased.
    #[error("frontier in {path}: {why}; free some space on this disk, nothing is lost and it goes on by itself")]
    Waiting { path: String, why: String },
    /// Nothing of the call's work was done.
    #[error("{0} is not a URL the frontier can hold: it wants a normalised http or https URL with a host")]
    BadUrl(String),
}
