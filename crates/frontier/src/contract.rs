//! The contract of a frontier: one narrow trait for each kind of caller.
//!
//! A trait is here because it has a second implementation: the plain frontier in memory of the conformance suite, or a
//! frontier of the tests that fails on purpose. Everything else belongs to [`super::EmbeddedFrontier`] alone, such as
//! what an operator asks and orders.
//!
//! Calls block (microseconds to a few milliseconds) and may come from several threads. Time is always a parameter, so
//! tests control the clock.

use std::net::IpAddr;
use std::time::Duration;

use super::Recheck;
use super::deferred::StoredTraps;
use super::embedded::Reservation;
use super::error::FrontierError;
use super::learned::{QueuePosition, Ranked, Remembered};
use super::lease::{AddressLimit, Lease, LeaseAnswer, LeaseLimits, PolitenessSlot, Release, Unjudged};
use super::page::PageRecord;
use super::spending::NoBudget;
use super::status::Counts;
use super::trouble::Waiting;
use super::verdict::{Applied, Batch};
use super::work::{Proposal, Proposed, Work};
use seine_delivery::Offset;
use seine_parse::page::{EpochMs, Kind};
use seine_policies::focus::Lead;
use seine_policies::revisit::Trust;

/// The recheck that a page needs; none: unchanged.
pub type ChooseRecheck<'l> = &'l dyn Fn(&PageRecord) -> Option<Recheck>;

/// Adds URLs, and leases and releases a host that the caller names. A worker needs this for redirects and links.
pub trait HostLeases: Send + Sync {
    /// Adds unknown URLs. Known URLs, and those above a host's limit, are left out and counted.
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError>;

    /// Leases one host by its origin, without URLs, for a redirect. An unknown host is created.
    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<LeaseAnswer, FrontierError>;

    /// Releases a host. URLs of the lease that are not in `fetched` can be leased again. Does not wait for the disk:
    /// [`HostLeases::write_visits`] writes the results of the visit, and then the host can be leased again.
    fn give_back(&self, lease: Lease, release: Release);

    /// Writes the results of visits for their hosts. Returns at once if another thread is writing, which then writes
    /// these too.
    fn write_visits(&self) -> Result<(), FrontierError>;
}

/// Decides which URL is fetched next, and when.
pub trait Scheduler: HostLeases {
    /// Queues known URLs again, due now and with all of their attempts, whatever their state: fetched, failed, refused,
    /// gone, or due later. A live page is rechecked; other records are deleted. Returns how many were queued. Unknown
    /// URLs, and URLs that are already due or in flight, are left out.
    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError>;

    /// Leases hosts that may be visited now and have due URLs. A leased host is given to nobody else until it is
    /// released.
    ///
    /// The most urgent hosts come first, fairly among registrable domains: hosts of the domain with the fewest leases.
    /// Among several such domains, the first is the one that has waited longest since it was due, or since its last
    /// lease began.
    fn lease(&self, now: EpochMs, limits: LeaseLimits) -> Result<Vec<Lease>, FrontierError>;

    /// When the next host is due; none if there is no work, or all of it is leased. If hosts of several domains are due,
    /// others may be due for longer.
    fn next_due(&self) -> Option<EpochMs>;

    /// Lists hosts that wait at `now`, and why: counts of all hosts in trouble, and up to `at_most` hosts that are in
    /// trouble or not due yet. Takes time in proportion to `at_most`.
    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting;
}

/// A worker needs this while it visits a leased host.
pub trait Fetching: HostLeases {
    /// Lends a leased host to a remote worker, which may visit it until `until`, even if this process is killed. When this
    /// returns, the time is on disk: nobody else gets the host before, unless it is released with
    /// [`Release::client_is_done`]. False: the lease has ended.
    fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError>;

    /// Claims the next politeness slot of `ip` for this lease's host. `Now`: the request starts, and must be ended with
    /// [`Fetching::end_politeness_slot`]. Until the delay after it has passed, nobody else gets `Now` at the address.
    /// `At(t)`: try again then; a slot is kept for the host.
    fn take_politeness_slot(&self, lease: &Lease, ip: IpAddr, limit: AddressLimit, now: EpochMs) -> PolitenessSlot;

    /// Ends the request of a slot, which began at `began` with this limit. Never waits for the disk.
    fn end_politeness_slot(&self, ip: IpAddr, limit: AddressLimit, began: EpochMs, now: EpochMs);

    /// A remote worker visits an address, so nobody gets another slot before `time` has passed. Replaces an earlier
    /// hold: a shorter time ends it.
    fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs);

    /// Whether nothing more may be fetched from a host, because it is recalled or blocked. For hosts lent to a remote
    /// worker, which claim no slots.
    fn is_recalled(&self, origin: &str) -> bool;

    /// A page of the host, other than `except`, that was live at its last fetch. It can show whether the host is
    /// healthy. None if there is none; only the host's first pages are searched.
    fn control_page(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError>;

    /// Calls `recheck` for every URL in `page`, or for those of one host (`of`, its origin), and applies its answers.
    /// Returns how many changed. Works in batches; after an interruption, call it again.
    fn recheck(&self, of: Option<&str>, now: EpochMs, recheck: ChooseRecheck) -> Result<u64, FrontierError>;

    /// The reservation of a URL that is about to be fetched. It has a place in all budgets of the URL, and can get more
    /// ([`Reservation`]). The inner error: a budget forbids the request.
    fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<Reservation, NoBudget>, FrontierError>;
}

/// The known URLs, and what their events have shown.
pub trait Verdicts: Send + Sync {
    /// Applies a batch of validated events and moves the validator's offset, atomically. Applying it again changes
    /// nothing.
    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError>;

    /// The validator's offset in the page log.
    fn cursor(&self) -> Result<Offset, FrontierError>;

    /// The record in `page` of a URL that was fetched or finally failed.
    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError>;

    /// The reliability of the hints of a URL's host; none before there were any.
    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError>;

    /// All sizes, in O(1).
    fn counts(&self) -> Counts;
}

/// Further calls of the validator: for its model of links, for traps, and to repair losses of the log.
pub trait Validation: Verdicts + Notes {
    /// An offset that survives a power failure; does an fsync if necessary. Only events before it may be deleted from
    /// the log, because a store that lost its last commits validates from an earlier offset.
    fn durable_cursor(&self) -> Result<Offset, FrontierError>;

    /// URLs that were fetched and have no verdict yet; their events are in the page log.
    fn unjudged(&self) -> Unjudged;

    /// Makes URLs available again whose events the page log has lost: those in `lost` that still have no verdict.
    /// Returns how many.
    fn fetch_again(&self, lost: &Unjudged) -> u64;

    /// The stored facts of a host that find traps.
    fn traps(&self, origin: &str) -> Result<StoredTraps, FrontierError>;

    /// The link that led to a URL that was not fetched yet, if links have scores.
    fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError>;

    /// The model of links that the applied batches have taught.
    fn learned(&self) -> Result<Remembered, FrontierError>;

    /// Changes the priority of up to `at_most` queued URLs, after a position in the queues (none: from the first). URLs
    /// in flight keep theirs. Returns the position to continue after; none: there are no more.
    fn rank_again(
        &self,
        after: Option<QueuePosition>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
        now: EpochMs,
    ) -> Result<Option<QueuePosition>, FrontierError>;
}

/// Named notes stored with the frontier (scope of the crawl, settings of the last start).
pub trait Notes: Send + Sync {
    fn note(&self, name: &str) -> Result<Option<String>, FrontierError>;
    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError>;
}

/// The note with the latest time ever passed in (ms), from which a crawl's clock continues.
pub const CLOCK_NOTE: &str = "clock";
