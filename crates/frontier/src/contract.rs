//! The contract of all frontiers: the trait, its options and its status.

use std::net::IpAddr;
use std::time::Duration;

use super::Look;
use super::claims::{Claim, Settled};
use super::error::FrontierError;
use super::learned::{QueuePlace, Ranked, Remembered};
use super::lease::{HostTurn, Lease, Release, Turn, Unjudged};
use super::look::{HostLook, HostOrder, UrlLook, WhichHosts};
use super::page::PageRecord;
use super::spending::{BudgetStanding, NoBudget};
use super::trouble::Waiting;
use super::verdict::{Applied, Batch};
use super::work::{Proposal, Proposed, Work};
use seine_delivery::Position;
use seine_parse::page::{DuplicateOf, EpochMs, Kind, Withheld};
use seine_policies::budgets::{Amounts, Budget};
use seine_policies::duplicates::Content;
use seine_policies::focus::Lead;
use seine_policies::revisit::Trust;

/// The recheck that a page needs; none: unchanged.
pub type LookAt<'l> = &'l dyn Fn(&PageRecord) -> Option<Look>;

/// The trait of all frontiers, with one conformance suite. Calls block (microseconds to a few milliseconds) and may
/// come from several threads. Time is always a parameter, so tests control the clock.
pub trait Frontier: Send + Sync {
    /// Adds unknown URLs. Known URLs, and those above a host's limit, are left out and counted.
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError>;

    /// Queues known URLs again, due now and with all of their attempts, whatever their state: fetched, failed, refused,
    /// gone, or due later. A live page is rechecked; other records are deleted. Returns how many were queued. Unknown
    /// URLs, and URLs that are already due or in flight, are left out.
    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError>;

    /// Leases up to `max_hosts` hosts that may be visited now and have due URLs, each with up to `max_urls` URLs (fewer
    /// if the host's delay is long). A leased host is given to nobody else until it is released.
    ///
    /// The most urgent hosts come first, fairly among registrable domains: hosts of the domain with the fewest leases.
    /// Among several such domains, the one first that has waited longest since it was due, or since its last lease
    /// ended.
    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError> {
        self.lease_sparing(now, max_hosts, max_urls, 0)
    }

    /// The same, but the last `spared` leases are only for hosts of domains without a lease, if more than one domain
    /// has work soon.
    fn lease_sparing(
        &self,
        now: EpochMs,
        max_hosts: usize,
        max_urls: usize,
        spared: usize,
    ) -> Result<Vec<Lease>, FrontierError>;

    /// Leases one host by its origin, without URLs, for a redirect. An unknown host is created.
    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError>;

    /// Lends a leased host to a remote worker, which may visit it until `until`, whatever happens to this process. When
    /// this returns, it is on disk that nobody else gets the host before that, unless it is released with
    /// [`Release::client_is_done`]. False: the lease has ended.
    fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError>;

    /// Claims the next politeness slot of `ip` for this lease's host. `Now`: the visit starts, and no other host of the
    /// address gets `Now` for `delay`. `At(t)`: try again then; a slot is kept for the host.
    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn;

    /// Releases a host. URLs of the lease that are not in `fetched` can be leased again. Does not wait for the disk:
    /// [`Frontier::write_visits`] writes the results of the visit, and nobody gets the host before.
    fn give_back(&self, lease: Lease, release: Release);

    /// Writes the results of visits for their hosts. Returns at once if another thread is writing, which then writes
    /// these too.
    fn write_visits(&self) -> Result<(), FrontierError>;

    /// Releases a host, and writes the results of the visit.
    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        self.give_back(lease, release);
        self.write_visits()
    }

    /// Reserves `target`, the target of a redirect of `by`. At most one URL owns a target. A URL reserves itself before
    /// its request. A granted reservation lasts until it is settled or until the next reservation of `by`. It does not
    /// survive a restart.
    fn claim_target(&self, target: &str, by: &str) -> Result<Claim, FrontierError>;

    /// Decides about `by`, which has a page with this canonical URL (or its own). None: deliver the page; otherwise it
    /// is an alias. The page of the canonical URL itself comes before all pages that name it, and never becomes an
    /// alias of one. The decision lasts until it is dropped or until the next call for `by`, and not over a restart.
    /// A delivered page leaves for a redirect of `canonical` only if that redirect has lasted for `leaves_after`.
    fn claim_place(
        &self,
        canonical: &str,
        by: &str,
        leaves_after: Option<Duration>,
    ) -> Result<Option<Withheld>, FrontierError>;

    /// Decides whether `by` with this content is a duplicate. Texts are near each other if they differ in up to
    /// `within` bits (0: compare bytes only). None: it is the first. The decision lasts until a verdict on `by`, until
    /// it is dropped, or until the next call for `by`, and not over a restart.
    fn claim_content(&self, content: Content, within: u8, by: &str) -> Result<Option<DuplicateOf>, FrontierError>;

    /// Settles the reservations of `by`. A verdict on `by` ends all of them.
    fn settle_claim(&self, by: &str, settled: Settled);

    /// URLs that were fetched and have no verdict yet; their events are in the page log.
    fn unjudged(&self) -> Unjudged;

    /// Makes those of them available again that still have no verdict, because the page log has lost their events.
    /// Returns how many.
    fn fetch_again(&self, lost: &Unjudged) -> u64;

    /// Applies a batch of validated events and moves the validator's offset, atomically. Applying it again changes
    /// nothing.
    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError>;

    /// The validator's offset in the page log.
    fn cursor(&self) -> Result<Position, FrontierError>;

    /// An offset that survives a power failure; does an fsync if necessary. Only events before it may be deleted from
    /// the log, because a store that lost its last commits validates from an earlier offset.
    fn durable_cursor(&self) -> Result<Position, FrontierError>;

    /// The record in `page` of a URL that was fetched or finally failed.
    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError>;

    /// A page of the host, other than `except`, that was live at its last fetch. It can show whether the host is
    /// healthy. None if there is none; only the host's first pages are searched.
    fn witness(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError>;

    /// A remote worker visits an address for longer than was claimed: no other slot before `time` has passed (in ms).
    fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs);

    /// The number of pages of a host ever admitted, and its trap statistics as stored by [`Batch::traps`].
    fn traps(&self, origin: &str) -> Result<(u64, Option<Vec<u8>>), FrontierError>;

    /// Releases up to `of_each` deferred URLs of each host that has any. Returns how many.
    fn release_held(&self, of_each: usize, now: EpochMs) -> Result<u64, FrontierError>;

    /// The link that led to a URL that was not fetched yet, if links have scores.
    fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError>;

    /// What was learned about links by the applied batches.
    fn learned(&self) -> Result<Remembered, FrontierError>;

    /// Deletes what was learned, because it belongs to another page classifier.
    fn forget_learned(&self) -> Result<(), FrontierError>;

    /// Changes the priority of up to `at_most` queued URLs, after a position in the queues (none: from the first). URLs
    /// in flight keep theirs. Returns the position to continue after; none: there are no more.
    fn rank_again(
        &self,
        after: Option<QueuePlace>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
        now: EpochMs,
    ) -> Result<Option<QueuePlace>, FrontierError>;

    /// The reliability of the hints of a URL's host; none before there were any.
    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError>;

    /// All sizes, in O(1).
    fn counts(&self) -> Counts;

    /// When the next host is due; none if there is no work, or all of it is leased.
    fn next_due(&self) -> Option<EpochMs>;

    /// The same for hosts that are in no trouble.
    fn next_due_well(&self) -> Option<EpochMs>;

    /// Whether anything is left to do by `now`: a URL without a final answer that is not deferred, a due recheck even
    /// if its host must wait, a URL in flight, a leased host. All at one moment.
    fn has_work(&self, now: EpochMs) -> bool;

    /// What waits at `now`, and why: counts of all hosts in trouble, and up to `at_most` hosts that are in trouble or not
    /// due yet.
    /// Takes time in proportion to `at_most`.
    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting;

    /// Reserves a place in all budgets of a URL before its request, until its event is applied
    /// ([`Verdict::brought`](super::Verdict::brought)) or [`Frontier::unreserve`]. The inner error: a budget forbids
    /// the request.
    fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<(), NoBudget>, FrontierError>;

    /// The size of the response for such a URL, before its event is accepted.
    fn weigh(&self, url: &str, amounts: Amounts);

    /// Drops the reservation, because no event was accepted.
    fn unreserve(&self, url: &str);

    /// All budgets with their use. O(1).
    fn budgets(&self, now: EpochMs) -> Vec<BudgetStanding>;

    /// Replaces budgets, limits, shares, scores and reserves. Other options stay. Hosts that a used-up budget has
    /// stopped are checked again.
    fn reconfigure(&self, options: FrontierOptions);

    /// Calls `look` for every URL in `page`, or for those of one host (`of`, its origin), and applies the rechecks.
    /// Returns how many changed. Works in batches; after an interruption, call it again.
    fn look_again(&self, of: Option<&str>, now: EpochMs, look: LookAt) -> Result<u64, FrontierError>;

    /// The pages and bytes fetched by all runs, as far as validated.
    fn brought(&self) -> Amounts;

    /// Prevents or (false) allows leases of a host; not over a restart. A lease in progress ends soon
    /// ([`Turn::Recalled`]).
    fn recall(&self, origin: &str, recalled: bool);

    /// Whether nothing more may be fetched from a host, because it is recalled or blocked. For hosts lent to a remote
    /// worker, which claim no slots.
    fn is_recalled(&self, origin: &str) -> bool;

    /// Deletes URLs as if no link had led to them. URLs in flight, and those of a leased host, stay
    /// ([`Frontier::recall`]). Budgets keep their counts.
    fn forget(&self, urls: &[String], now: EpochMs) -> Result<Forgotten, FrontierError>;

    /// The same for up to `at_most` URLs of a host, after `after` (none: from the first). Returns where to continue;
    /// none: there are no more. The host keeps its delays and orders, but not its hints.
    fn forget_host(
        &self,
        origin: &str,
        after: Option<u64>,
        at_most: usize,
        now: EpochMs,
    ) -> Result<(Forgotten, Option<u64>), FrontierError>;

    /// What is known of a host; none if it is unknown.
    fn look_at_host(&self, origin: &str) -> Result<Option<HostLook>, FrontierError>;

    /// Known origins with this host name, all schemes and ports. Reads all hosts.
    fn origins_named(&self, name: &str) -> Result<Vec<String>, FrontierError>;

    /// Number of known hosts of this host's registrable domain.
    fn hosts_of_domain(&self, origin: &str) -> Result<u64, FrontierError>;

    /// Up to `at_most` hosts with queued URLs.
    fn look_at_hosts(&self, which: WhichHosts, at_most: usize) -> Vec<HostLook>;

    /// What is known of a normalised URL; none if it was never found.
    fn look_at_url(&self, url: &str) -> Result<Option<UrlLook>, FrontierError>;

    /// Executes an operator's order for a host, durably. An unknown host is created.
    fn order_host(&self, origin: &str, order: HostOrder, now: EpochMs) -> Result<(), FrontierError>;

    /// Up to `at_most` records of `page` accepted by `wanted`, after the URL `after` (none: from the beginning); fewer
    /// at the end. Reads every record on the way.
    fn records_after(
        &self,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError>;

    /// A named note stored with the frontier (scope of the crawl, format version).
    fn note(&self, name: &str) -> Result<Option<String>, FrontierError>;
    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError>;

    /// Writes everything to disk (fsync), for a clean end.
    fn flush(&self) -> Result<(), FrontierError>;

    /// A snapshot of the frontier; none if it stores nothing on disk.
    fn copy(&self) -> Result<Option<Box<dyn FrontierCopy + '_>>, FrontierError>;

    /// Whether its disk can be written.
    fn standing(&self) -> Standing;

    /// Repairs a failed frontier if possible: closes its store, opens it again, and writes what could not be written.
    /// Does nothing if all is well. Blocks while the store is opened; leases continue.
    fn restore(&self) -> Result<(), FrontierError>;
}

/// A key with its value, as stored.
pub type CopiedRecord = (Vec<u8>, Vec<u8>);

/// A snapshot of a frontier, readable while the frontier works. It blocks nobody, but keeps its data on disk while it
/// exists.
pub trait FrontierCopy {
    /// The validator's offset in the page log.
    fn cursor(&self) -> Position;

    /// The names of its tables.
    fn tables(&self) -> &'static [&'static str];

    /// All records of a table by their keys. Memory: some blocks of the store, however large it is.
    fn records(&self, table: &str) -> Box<dyn Iterator<Item = Result<CopiedRecord, FrontierError>> + '_>;
}

/// The result of forgetting URLs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub urls: u64,
    /// Not deleted, because they are in flight or their host is leased.
    pub busy: u64,
    /// Unknown.
    pub unknown: u64,
}

/// The state of a frontier's disk. The texts say where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Well,
    /// Nothing is written until there is free space again.
    NoRoom(String),
    /// A write failed. The store cannot be used until it is opened again ([`Frontier::restore`]).
    Away(String),
}

/// The note with the latest time ever passed in (ms), from which a crawl's clock continues.
pub const CLOCK_NOTE: &str = "clock";

/// The options of every frontier.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontierOptions {
    pub budgets: Vec<Budget>,
    /// Maximum number of pages per host (without sitemaps); none: no limit.
    pub max_pages_per_host: Option<u64>,
    /// Maximum number of hosts per registrable domain; none: no limit. Links to further hosts are left out; seeds are
    /// not.
    pub max_hosts_per_domain: Option<u64>,
    /// No host is leased earlier than this after the start, because a killed process cannot have stored when its last
    /// requests ended. At least the delays of hosts and of addresses.
    pub default_delay: Duration,
    /// The share of rechecks while a host has both rechecks and new URLs, 0 to 1.
    pub revisit_share: f64,
    /// Links have scores: hosts come in the order of their best queued URL, not of their waiting time.
    pub ranks: bool,
    /// Bytes of memory for the store's block cache.
    pub cache_bytes: u64,
    /// With fewer free bytes on its disk nothing is written, because the store needs them for its background work. 0:
    /// not checked.
    pub reserve_bytes: u64,
    /// Some destination skips duplicates. When a page is removed, some of its duplicates are then rechecked at once.
    pub wakes_duplicates: bool,
}

/// As a crawl without a configuration opens it.
impl Default for FrontierOptions {
    fn default() -> Self {
        FrontierOptions {
            budgets: Vec::new(),
            max_pages_per_host: None,
            max_hosts_per_domain: None,
            default_delay: Duration::from_secs(1),
            revisit_share: 0.5,
            ranks: false,
            cache_bytes: 32 << 20,
            reserve_bytes: 0,
            wakes_duplicates: false,
        }
    }
}

/// Sizes, all O(1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Queued URLs, including retries and rechecks.
    pub work_proposed: u64,
    /// The part of `work_proposed` without a final answer so far; the rest are rechecks.
    pub first_time: u64,
    /// The part of `first_time` that is deferred ([`super::held`]). No run waits for these URLs.
    #[serde(default)]
    pub held: u64,
    /// URLs in `page`, without sitemaps.
    pub page: u64,
    /// The part of `page` in each state.
    pub live: u64,
    pub gone: u64,
    pub refused: u64,
    pub failed: u64,
    pub withheld: u64,
    pub alias: u64,
    /// The part of `live` that are duplicates.
    #[serde(default)]
    pub duplicates: u64,
    /// Truncated pages ([`super::PageRecord::is_half`]).
    #[serde(default)]
    pub half: u64,
    /// Hosts ever seen.
    pub hosts: u64,
    /// Links left out because they lead to new hosts of a domain at its limit. A link counts each time.
    #[serde(default)]
    pub over_hosts: u64,
    /// Hosts with queued URLs.
    pub hosts_with_work: u64,
    /// Hosts leased now, and URLs leased or fetched without a verdict.
    pub hosts_leased: u64,
    pub in_flight: u64,
    /// Links applied over the crawl's life (for links per page).
    pub links_seen: u64,
    /// Pages fetched (2xx) over the crawl's life, and how many of them were relevant.
    #[serde(default)]
    pub judged: u64,
    #[serde(default)]
    pub relevant: u64,
}
