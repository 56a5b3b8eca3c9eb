//! What every frontier promises: the trait, what it is opened with, and how it says how it is.

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
use crate::budgets::{Amounts, Budget};
use crate::config::{Config, FrontierConfig};
use crate::delivery::Position;
use crate::duplicates::Content;
use crate::focus::Lead;
use crate::page::{DuplicateOf, EpochMs, Kind, Withheld};
use crate::revisit::Trust;

/// What becomes of the next look at a page; none: as it is.
pub type LookAt<'l> = &'l dyn Fn(&PageRecord) -> Option<Look>;

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

    /// Leases up to `max_hosts` hosts that may be visited now and have due work, each with up to `max_urls` URLs (fewer where the
    /// host's delay is long). A leased host is given to nobody else until released.
    ///
    /// The most urgent come first, fairly among registrable domains: a host of the domain with the fewest leases, and of several
    /// such domains the one that has waited for longest since it was due, or since a lease of its domain ended.
    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError> {
        self.lease_sparing(now, max_hosts, max_urls, 0)
    }

    /// The same; the last `spared` of the places are only for hosts of domains that have no lease, as long as more than one
    /// domain has work soon.
    fn lease_sparing(
        &self,
        now: EpochMs,
        max_hosts: usize,
        max_urls: usize,
        spared: usize,
    ) -> Result<Vec<Lease>, FrontierError>;

    /// Leases one host by its origin, without URLs, for a visit that a redirect leads to. A host never heard of is made.
    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError>;

    /// A client visits a leased host, and may go on until `until` whatever happens to us. When this returns it is on disk that nobody
    /// else is leased the host before that, unless the host is given back with [`Release::client_is_done`]. False: the lease is over.
    fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError>;

    /// Claims the next visit of `ip` for this lease's host. `Now` starts that visit: no other host on the same address
    /// gets `Now` for `delay`. `At(t)`: come back then; a turn is kept for the host.
    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn;

    /// Gives a host back. URLs of the lease that are not in `fetched` can be leased again. Waits for no disk: what the visit
    /// found out about the host is written by [`Frontier::write_visits`], and nobody is leased the host before.
    fn give_back(&self, lease: Lease, release: Release);

    /// Writes what visits found out about their hosts. Returns at once while somebody else writes: that one writes these, too.
    fn write_visits(&self) -> Result<(), FrontierError>;

    /// Gives a host back, and writes what the visit found out about it.
    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        self.give_back(lease, release);
        self.write_visits()
    }

    /// Asks whose page `target`, where a redirect of `by` leads, is to be: at most one URL's, its owner's. A URL claims itself before
    /// it is asked for. What was granted holds until it is settled or the next claim of `by`, and not over a restart.
    fn claim_target(&self, target: &str, by: &str) -> Result<Claim, FrontierError>;

    /// Asks what `by`, which has a page, is to be, where `canonical` is the URL that it names as its canonical one, or its own. None:
    /// the page is delivered; else of which it is an alias. `canonical`'s own page comes before any that names it, and is never the
    /// alias of one. What was told holds until it is given up or the next such question of `by`, and not over a restart.
    fn claim_place(&self, canonical: &str, by: &str) -> Result<Option<Withheld>, FrontierError>;

    /// Asks of which page `by`, which has this content, is a duplicate, with texts of up to `within` bits' difference (0: none) near
    /// each other. None: it is the first. What was told holds until a verdict on `by`, until it is given up or the next such question of
    /// `by`, and not over a restart.
    fn claim_content(&self, content: Content, within: u8, by: &str) -> Result<Option<DuplicateOf>, FrontierError>;

    /// What has become of what `by` has claimed. A verdict on `by` ends all of it.
    fn settle_claim(&self, by: &str, settled: Settled);

    /// URLs that were fetched and have no verdict yet: their events are in the page log.
    fn unjudged(&self) -> Unjudged;

    /// Those of them that have none even now may be leased again: the page log has lost their events. Returns how many.
    fn fetch_again(&self, lost: &Unjudged) -> u64;

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

    /// A page of the host that was there when it was last asked for, other than `except`: it can tell whether its host is
    /// well. None when none is known; a host's first pages are looked at alone.
    fn witness(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError>;

    /// An address is visited for longer than was claimed, by somebody else than us: nobody else's turn is earlier than after
    /// `time` (ms resolution).
    fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs);

    /// Pages of a host that were ever admitted, and what is kept of its traps, as it was handed in ([`Batch::traps`]).
    fn traps(&self, origin: &str) -> Result<(u64, Option<Vec<u8>>), FrontierError>;

    /// Up to `of_each` URLs that are held of each host that has any may be asked for. Returns how many there were.
    fn release_held(&self, of_each: usize, now: EpochMs) -> Result<u64, FrontierError>;

    /// The link that led to a URL that was not fetched yet, where links are ranked.
    fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError>;

    /// What was learned of links, by the batches that were applied.
    fn learned(&self) -> Result<Remembered, FrontierError>;

    /// It is for other pages than those that are looked for now.
    fn forget_learned(&self) -> Result<(), FrontierError>;

    /// Gives URLs that may be fetched any time another priority, up to `at_most`, from behind a place in the queues on (none: from
    /// the first); those in flight keep theirs. Returns what to go on behind; none: there were no more.
    fn rank_again(
        &self,
        after: Option<QueuePlace>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
        now: EpochMs,
    ) -> Result<Option<QueuePlace>, FrontierError>;

    /// What looks have told of the hints of a URL's host; none before there were any.
    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError>;

    /// Sizes of everything, O(1).
    fn counts(&self) -> Counts;

    /// When the next host will be due; none when there is no work, or all of it is leased.
    fn next_due(&self) -> Option<EpochMs>;

    /// The same of hosts that are in no trouble.
    fn next_due_well(&self) -> Option<EpochMs>;

    /// Whether anything is left to do by `now`: a URL never fetched (or waiting to be tried again) that is not held, one that is due to be
    /// looked at again however long its host rests, one in flight, a leased host. All of it at one moment.
    fn has_work(&self, now: EpochMs) -> bool;

    /// Who waits at `now`, and for what: all hosts in trouble as numbers, and up to `at_most` hosts that are not due yet. The
    /// numbers are counters; takes as long as `at_most` is large.
    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting;

    /// Sets a place aside for a URL that is about to be asked for, in every budget that it is of: until its event is applied
    /// ([`Verdict::brought`](super::Verdict::brought)), or [`Frontier::unreserve`]. The inner error says that it must not be asked for.
    fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<(), NoBudget>, FrontierError>;

    /// What a URL with a place has brought, before its event is accepted.
    fn weigh(&self, url: &str, amounts: Amounts);

    /// It brought nothing that was accepted.
    fn unreserve(&self, url: &str);

    /// Every budget, and how far it is spent. O(1).
    fn budgets(&self, now: EpochMs) -> Vec<BudgetStanding>;

    /// Takes other budgets, limits, shares, ranks and reserves than it was opened with; all else of the options stays. Hosts that
    /// rest because a budget is spent are asked about again.
    fn reconfigure(&self, options: FrontierOptions);

    /// Asks of every URL in `page`, or of those of one host (`of`, its origin), what becomes of its next look; none: as it is. Returns for how many that was something
    /// else. Written in batches: asked again after it was broken off, it goes on.
    fn look_again(&self, of: Option<&str>, now: EpochMs, look: LookAt) -> Result<u64, FrontierError>;

    /// What the crawl has brought, all runs together, by what is validated.
    fn brought(&self) -> Amounts;

    /// Keeps a host from being leased, or (false) no longer; not over a restart. Of a lease under way nothing more is asked
    /// ([`Turn::Recalled`]): it ends soon.
    fn recall(&self, origin: &str, recalled: bool);

    /// Whether nothing more is to be asked of a host: it is wanted back, or blocked. For whoever does not ask for its turns, as
    /// somebody else visits it.
    fn is_recalled(&self, origin: &str) -> bool;

    /// Forgets URLs, as if nothing had ever led to them: those in flight, and those of a host that is leased, are left
    /// ([`Frontier::recall`]). What was brought of them stays in the budgets' books.
    fn forget(&self, urls: &[String], now: EpochMs) -> Result<Forgotten, FrontierError>;

    /// The same of up to `at_most` URLs of a host, from behind `after` on (none: from the first). Returns what to go on behind;
    /// none: there were no more. The host stays, with its delays and whatever was ordered of it; its hints do not.
    fn forget_host(
        &self,
        origin: &str,
        after: Option<u64>,
        at_most: usize,
        now: EpochMs,
    ) -> Result<(Forgotten, Option<u64>), FrontierError>;

    /// What is known of a host; none of one that was never heard of.
    fn look_at_host(&self, origin: &str) -> Result<Option<HostLook>, FrontierError>;

    /// Origins of this name that are known, whatever their schemes and ports. Reads all hosts.
    fn origins_named(&self, name: &str) -> Result<Vec<String>, FrontierError>;

    /// How many hosts are known of the registrable domain of this host.
    fn hosts_of_domain(&self, origin: &str) -> Result<u64, FrontierError>;

    /// Up to `at_most` hosts with work.
    fn look_at_hosts(&self, which: WhichHosts, at_most: usize) -> Vec<HostLook>;

    /// What is known of a normalised URL; none of one that was never proposed.
    fn look_at_url(&self, url: &str) -> Result<Option<UrlLook>, FrontierError>;

    /// Does with a host what its operator wants, durably. A host never heard of is made.
    fn order_host(&self, origin: &str, order: HostOrder, now: EpochMs) -> Result<(), FrontierError>;

    /// Up to `at_most` records of `page` that `wanted` takes, from behind the URL `after` on (none: from the beginning); fewer at
    /// the end. Looks at every record on the way.
    fn records_after(
        &self,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError>;

    /// A named note kept with the frontier (scope of the crawl, format version).
    fn note(&self, name: &str) -> Result<Option<String>, FrontierError>;
    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError>;

    /// Writes everything to disk (fsync), for a clean end.
    fn flush(&self) -> Result<(), FrontierError>;

    /// The frontier as it is now, to be read while it goes on; none of one that keeps nothing on a disk.
    fn copy(&self) -> Result<Option<Box<dyn FrontierCopy + '_>>, FrontierError>;

    /// Whether its disk takes what is written.
    fn standing(&self) -> Standing;

    /// Brings a frontier back that is not well, if it can be by now: closes its store and opens it again, writes what could
    /// not be written. Nothing to do is no error. Blocks for as long as an opening takes; leases go on.
    fn restore(&self) -> Result<(), FrontierError>;
}

/// A key and its value, as the frontier keeps them.
pub type CopiedRecord = (fjall::Slice, fjall::Slice);

/// A frontier as it is at one moment, read to its end while it goes on. Holds up nobody. As long as it is there, the frontier's disk keeps what it shows.
pub trait FrontierCopy {
    /// How far the validator had come in the page log.
    fn cursor(&self) -> Position;

    /// The names of its tables.
    fn tables(&self) -> &'static [&'static str];

    /// A table's records by their keys, each once. Memory: some blocks of the store, however large it is.
    fn records(&self, table: &str) -> Box<dyn Iterator<Item = Result<CopiedRecord, FrontierError>> + '_>;
}

/// What came of forgetting URLs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub urls: u64,
    /// Left, as they are in flight or their host is leased.
    pub busy: u64,
    /// Never heard of.
    pub unknown: u64,
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
#[derive(Debug, Clone, PartialEq)]
pub struct FrontierOptions {
    pub budgets: Vec<Budget>,
    /// Pages ever admitted per host (sitemaps are not counted); none: no limit.
    pub max_pages_per_host: Option<u64>,
    /// Hosts ever met of one registrable domain; none: no limit. Links to further hosts are left out. Seeds are not.
    pub max_hosts_per_domain: Option<u64>,
    /// No host is leased earlier than this after the opening: a process that was killed cannot have written down when its
    /// last visits ended. At least the delay between visits of one host and that between visits of one address.
    pub default_delay: Duration,
    /// Of what a host gives while it has both, the part that goes to pages looked at again; the rest goes to what was never
    /// fetched. 0 to 1.
    pub revisit_share: f64,
    /// Links are ranked: hosts come by the best that waits of each, not by how long they have waited.
    pub ranks: bool,
    /// Bytes of memory for the store's cache of blocks.
    pub cache_bytes: u64,
    /// With fewer bytes free on its disk nothing is written: the store needs them for what it does in the background. 0:
    /// the disk is not looked at.
    pub reserve_bytes: u64,
    /// Somebody has no duplicates: when a page leaves, some of its own are looked at at once.
    pub wakes_duplicates: bool,
}

impl Default for FrontierOptions {
    fn default() -> Self {
        let FrontierConfig { host_delay, revisit_share, cache_bytes, .. } = Config::default().frontier;
        FrontierOptions {
            budgets: Vec::new(),
            max_pages_per_host: None,
            max_hosts_per_domain: None,
            default_delay: host_delay,
            revisit_share,
            ranks: false,
            cache_bytes,
            reserve_bytes: 0,
            wakes_duplicates: false,
        }
    }
}

/// Sizes, all O(1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// URLs to fetch, those waiting for a retry or a revisit included.
    pub work_proposed: u64,
    /// Of `work_proposed`: never fetched with a final answer yet (the rest are revisits).
    pub first_time: u64,
    /// Of `first_time`: held, as their patterns bring nothing new ([`super::held`]). No run waits for them.
    #[serde(default)]
    pub held: u64,
    /// URLs in `page`; sitemaps are not counted.
    pub page: u64,
    /// Of `page`, by state.
    pub live: u64,
    pub gone: u64,
    pub refused: u64,
    pub failed: u64,
    pub withheld: u64,
    pub alias: u64,
    /// Of the live ones: nearly as another page that is there.
    #[serde(default)]
    pub duplicates: u64,
    /// Of those that are there: half pages, whose bodies broke off ([`super::PageRecord::is_half`]).
    #[serde(default)]
    pub half: u64,
    /// Hosts ever seen.
    pub hosts: u64,
    /// Links left out, as they lead to new hosts of domains that have as many as they may have. A link counts each time.
    #[serde(default)]
    pub over_hosts: u64,
    /// Hosts with work.
    pub hosts_with_work: u64,
    /// Hosts leased now, and URLs leased or fetched but not yet applied.
    pub hosts_leased: u64,
    pub in_flight: u64,
    /// Links applied over the crawl's life (for links per page).
    pub links_seen: u64,
    /// Pages that came (2xx) over the crawl's life, and how many of them were relevant.
    #[serde(default)]
    pub judged: u64,
    #[serde(default)]
    pub relevant: u64,
}
