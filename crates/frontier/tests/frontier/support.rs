//! Frontiers of both kinds that can be reopened, and helpers that make their inputs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use seine_delivery::Offset;
use seine_frontier::*;
use seine_parse::page::{DuplicateOf, EpochMs, FailureReason, Kind, Withheld};
use seine_policies::budgets::Amounts;
use seine_policies::duplicates::Content;
use tempfile::TempDir;

use crate::memory::MemoryFrontier;

/// What every frontier promises.
pub trait Model: Scheduler + Verdicts + Notes {
    /// See [`EmbeddedFrontier::has_work`].
    fn has_work(&self, now: EpochMs) -> bool;

    /// Releases a host, and writes the results of the visit.
    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        self.give_back(lease, release);
        self.write_visits()
    }
}

impl Model for EmbeddedFrontier {
    fn has_work(&self, now: EpochMs) -> bool {
        EmbeddedFrontier::has_work(self, now)
    }
}

/// A frontier of the kind that `make` creates.
pub struct Store {
    options: FrontierOptions,
    sort: Sort,
}

enum Sort {
    Memory(Box<MemoryFrontier>),
    Embedded(Box<Disk>),
}

/// Makes a frontier, opened at time 0.
pub type Make = fn(FrontierOptions) -> Store;

pub fn memory(options: FrontierOptions) -> Store {
    Store { sort: Sort::Memory(Box::new(MemoryFrontier::new(options.clone()))), options }
}

pub fn on_disk(options: FrontierOptions) -> Store {
    Store { sort: Sort::Embedded(Box::new(embedded(options.clone()))), options }
}

impl Store {
    /// As after the death of the process.
    pub fn reopen(&mut self, now: EpochMs) {
        match &mut self.sort {
            Sort::Memory(frontier) => **frontier = frontier.reopened(self.options.clone(), now),
            Sort::Embedded(disk) => disk.reopen(now),
        }
    }

    /// The embedded frontier's counters equal the sums of its records.
    pub fn check_counters(&self) {
        if let Sort::Embedded(disk) = &self.sort {
            disk.check_counters();
        }
    }
}

impl std::ops::Deref for Store {
    type Target = dyn Model;

    fn deref(&self) -> &(dyn Model + 'static) {
        match &self.sort {
            Sort::Memory(frontier) => &**frontier,
            Sort::Embedded(disk) => &***disk,
        }
    }
}

/// An embedded frontier that can be reopened, and the fetches in progress. The folder comes last, so that it outlives
/// the frontier.
pub struct Disk {
    fetches: Mutex<BTreeMap<String, Fetch>>,
    frontier: Option<EmbeddedFrontier>,
    options: FrontierOptions,
    dir: TempDir,
}

/// The fetch of one URL.
enum Fetch {
    InProgress(Arc<Reservation>),
    Done(Settled),
}

/// An embedded frontier, opened at time 0.
pub fn embedded(options: FrontierOptions) -> Disk {
    let dir = tempfile::tempdir().unwrap();
    let frontier = Some(EmbeddedFrontier::open(dir.path(), options.clone(), 0).unwrap());
    Disk { fetches: Mutex::default(), frontier, options, dir }
}

impl std::ops::Deref for Disk {
    type Target = EmbeddedFrontier;

    fn deref(&self) -> &EmbeddedFrontier {
        self.frontier.as_ref().unwrap()
    }
}

impl Disk {
    /// As after the death of the process.
    pub fn reopen(&mut self, now: EpochMs) {
        self.fetches.lock().clear();
        // Requests were sent, so the delays of hosts begin again at the opening.
        self.hold_address(std::net::Ipv4Addr::LOCALHOST.into(), Duration::ZERO, 0);
        self.frontier = None;
        self.frontier = Some(EmbeddedFrontier::open(self.dir.path(), self.options.clone(), now).unwrap());
    }

    pub fn check_counters(&self) {
        check_counters(self);
    }

    /// Asks the reservation of `by`, which begins a fetch if there is none.
    fn ask<T>(&self, by: &str, ask: impl FnOnce(&Reservation) -> T) -> T {
        let in_progress = match self.fetches.lock().get(by) {
            Some(Fetch::InProgress(reservation)) => Some(reservation.clone()),
            Some(Fetch::Done(_)) | None => None,
        };
        let reservation = in_progress.unwrap_or_else(|| {
            let reservation = Arc::new(self.reserve(by, Kind::Page, 0).unwrap().unwrap());
            self.fetches.lock().insert(by.to_owned(), Fetch::InProgress(reservation.clone()));
            reservation
        });
        ask(&reservation)
    }

    /// Begins a fetch; an earlier one of the URL is over.
    pub fn begin_fetch(&self, url: &str, now: EpochMs) -> Result<(), NoBudget> {
        self.fetches.lock().remove(url);
        let reservation = Arc::new(self.reserve(url, Kind::Page, now).unwrap()?);
        self.fetches.lock().insert(url.to_owned(), Fetch::InProgress(reservation));
        Ok(())
    }

    pub fn weigh(&self, url: &str, amounts: Amounts) {
        self.ask(url, |reservation| reservation.set_amounts(amounts));
    }

    pub fn claim_target(&self, target: &str, by: &str) -> TargetOwner {
        self.ask(by, |reservation| reservation.reserve_target(target).unwrap())
    }

    pub fn claim_canonical(&self, canonical: &str, by: &str, leaves_after: Option<Duration>) -> Option<Withheld> {
        self.ask(by, |reservation| reservation.reserve_canonical_slot(canonical, leaves_after).unwrap())
    }

    pub fn claim_content(&self, content: Content, within: u8, by: &str) -> Option<DuplicateOf> {
        self.ask(by, |reservation| reservation.reserve_content(content, within).unwrap())
    }

    /// The event of `by` is on its way to the validator.
    pub fn settle(&self, by: &str, has_page: bool) {
        let settled = self.ask(by, |reservation| reservation.settle(has_page));
        self.fetches.lock().insert(by.to_owned(), Fetch::Done(settled));
    }

    /// There is no event of `by`.
    pub fn give_up(&self, by: &str) {
        match self.fetches.lock().remove(by) {
            Some(Fetch::Done(settled)) => settled.withdraw(),
            Some(Fetch::InProgress(reservation)) => drop(reservation),
            None => panic!("{by} has nothing"),
        }
    }
}

/// For frontiers without sitemaps, whose records are not counted.
pub fn check_counters(frontier: &EmbeddedFrontier) {
    let (survey, counts) = (frontier.survey().unwrap(), frontier.counts());
    assert_eq!([survey.queued, survey.queued_by_host, survey.known_queued], [counts.work_proposed; 3], "{survey:?}");
    assert_eq!((survey.first_time(), survey.first_time_pages), (counts.first_time, counts.first_time), "{survey:?}");
    assert_eq!(survey.admitted_by_host, counts.page + counts.first_time, "{survey:?}");
    assert_eq!(survey.records(), survey.known_done + survey.revisits, "{survey:?}");
    assert_eq!(survey.duplicates, counts.duplicates);
    assert!(survey.content_slots <= survey.firsts, "{survey:?}");
    assert_eq!(
        (survey.hosts, survey.live, survey.gone, survey.refused, survey.failed, survey.withheld, survey.alias),
        (counts.hosts, counts.live, counts.gone, counts.refused, counts.failed, counts.withheld, counts.alias)
    );
}

/// No limits, and no delay after a restart.
pub fn plain() -> FrontierOptions {
    FrontierOptions { default_delay: Duration::ZERO, cache_bytes: 1 << 20, ..FrontierOptions::default() }
}

pub fn page(url: &str) -> Proposal {
    Proposal { url: url.into(), kind: Kind::Page, depth: 0, priority: 10, found: None, lead: None }
}

pub fn pages(urls: &[&str]) -> Vec<Proposal> {
    urls.iter().map(|url| page(url)).collect()
}

/// An attempt that these tests do not examine.
pub const ATTEMPT: Attempt = Attempt { at: 0, outcome: Cause::Status(200), counts: true, digest: None };

/// An event's id; larger numbers are later events.
pub fn id(number: u64) -> String {
    format!("{number:032x}")
}

pub fn record(url: &str, event: u64) -> PageRecord {
    PageRecord {
        url: url.into(),
        kind: Kind::Page,
        event_id: id(event),
        state: PageState::New,
        status: 200,
        digest: Some([7; 32]),
        etag: Some(format!("\"{event}\"")),
        last_modified: None,
        fetched_ms: 1_700_000_000_000 + event,
        depth: 3,
        history: None,
        final_url: None,
        noindex: false,
        preferences: None,
        must_refetch: false,
        target: None,
        texts: Default::default(),
        canonical: None,
        passed_at: None,
        url_history: Default::default(),
        judged: None,
        likeness: None,
        refused_since: None,
        wall: None,
    }
}

/// Host trouble with this number of failures.
pub fn trouble(failures: u32) -> Trouble {
    let cause = Cause::Failure(FailureReason::Connect);
    Trouble {
        since: 50,
        last: 60,
        failures,
        cause,
        suspect: None,
        asked_until: None,
        given_up: false,
        errors: Errors::default(),
    }
}

pub fn given_up() -> Trouble {
    Trouble { given_up: true, ..trouble(9) }
}

/// A verdict without amounts.
pub fn verdict(url: &str, event: u64, change: Change) -> Verdict {
    let brought = Amounts::default();
    Verdict {
        url: url.into(),
        kind: Kind::Page,
        event_id: id(event),
        reached: None,
        attempt: ATTEMPT,
        fetched: brought,
        change,
    }
}

pub fn fetched(url: &str, event: u64, due_again: Option<EpochMs>) -> Verdict {
    let change = Change::Page { record: record(url, event), due_again };
    verdict(url, event, change)
}

pub fn in_state(url: &str, event: u64, state: PageState) -> Verdict {
    let record = PageRecord { state, digest: None, ..record(url, event) };
    verdict(url, event, Change::Page { record, due_again: None })
}

pub fn retry(url: &str, event: u64, at: EpochMs, attempt: u16) -> Verdict {
    let change = Change::Retry { at, attempt, put_off: false, cause: None, host: HostPause::default() };
    verdict(url, event, change)
}

pub fn at(index: u64) -> Offset {
    Offset { index, offset: index * 100 }
}

pub fn batch(cursor: u64, verdicts: Vec<Verdict>, proposals: Vec<Proposal>) -> Batch {
    Batch { verdicts, proposals, cursor: at(cursor), ..Batch::default() }
}

/// Leases the only host that is due.
pub fn lease_one(frontier: &dyn Model, now: EpochMs, max_urls: usize) -> Lease {
    let mut leases = frontier.lease(now, LeaseLimits::new(1, max_urls)).unwrap();
    assert_eq!(leases.len(), 1, "a host is due at {now}");
    leases.remove(0)
}

pub fn urls(lease: &Lease) -> Vec<&str> {
    lease.work.iter().map(|work| work.url.as_str()).collect()
}

/// Releases a host without fetching any of its URLs.
pub fn give_back(frontier: &dyn Model, lease: Lease) {
    frontier.release(lease, Release::default()).unwrap();
}

/// Releases a host with all of its URLs fetched.
pub fn all_fetched(frontier: &dyn Model, lease: Lease) {
    let fetched = lease.work.iter().map(|work| work.url.clone()).collect();
    frontier.release(lease, Release { fetched, ..Release::default() }).unwrap();
}

/// Runs each function as a test on every frontier.
macro_rules! on_every_frontier {
    ($($name:ident),* $(,)?) => {
        mod memory { $(#[test] fn $name() { super::$name(crate::support::memory); })* }
        mod embedded { $(#[test] fn $name() { super::$name(crate::support::on_disk); })* }
    };
}
pub(crate) use on_every_frontier;

/// URLs that are due at `now`, released at once.
pub fn due(frontier: &dyn Model, now: EpochMs) -> Vec<String> {
    let mut due = Vec::new();
    for lease in frontier.lease(now, LeaseLimits::new(10, 1000)).unwrap() {
        due.extend(urls(&lease).iter().map(|url| (*url).to_owned()));
        frontier.release(lease, Release::default()).unwrap();
    }
    due.sort();
    due
}
