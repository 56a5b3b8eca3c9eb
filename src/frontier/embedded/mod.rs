//! The frontier of one machine: a fjall store for what must last, a schedule in memory for what must be quick.
//!
//! A URL's way through the keyspaces: a proposal enters `urls` and `ready`; a verdict takes it out of its queue and puts it
//! into `pages`, into `later` (retry, revisit), or both. Every change is one atomic batch with the totals and the cursor, so
//! after `kill -9` the store is that of a moment between two batches. Leases are in memory only: what was leased and got no
//! verdict is still queued on disk.
//!
//! A write that fails takes the store away (`shelf`); [`Frontier::restore`] closes it and opens it again.
//!
//! Locks, in the order they are taken: `writer` (one propose or apply at a time, looks into the store included),
//! `host_writes` (so that host records reach the store in the order they were made), the schedule's (microseconds).

mod again;
mod changes;
mod known;
mod lease;
mod proposals;
mod records;
mod restored;
mod shelf;
mod store;
mod survey;
mod verdicts;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use parking_lot::Mutex;

use super::addresses::Addresses;
use super::keys::{HostKey, Keys, split};
use super::schedule::{HostRecord, NEVER, Schedule};
use super::{
    Applied, Batch, Counts, Frontier, FrontierError, FrontierOptions, HostTurn, Lease, PageRecord, Proposal, Proposed,
    Release, Robots, Standing, Turn, Waiting,
};
use crate::delivery::Position;
use crate::page::EpochMs;
use known::Known;
pub use records::FORMAT;
pub(super) use records::event_id;
use shelf::Shelf;
pub use survey::Survey;

/// See the module's description.
pub struct EmbeddedFrontier {
    shelf: Shelf,
    keys: Keys,
    max_pages_per_host: Option<u64>,
    /// No host is visited before this; see [`FrontierOptions::default_delay`].
    opened_at: EpochMs,
    default_delay_ms: u64,
    /// Hosts with this number and above were first seen by this process.
    hosts_at_opening: u64,
    writer: Mutex<Known>,
    host_writes: Mutex<HashMap<HostKey, Owed>>,
    schedule: Mutex<Schedule>,
    addresses: Mutex<Addresses>,
    durable: Mutex<Option<Position>>,
    /// The store came back with less than it had: the validator is to be told.
    went_back: AtomicBool,
    /// The latest time handed in, kept over restarts.
    clock: AtomicU64,
}

/// Where that is kept: [`CLOCK_NOTE`], as [`Frontier::note`] knows it.
const CLOCK: &str = "note:clock";

/// What visits told of a host while the store was away.
struct Owed {
    record: HostRecord,
    robots: Option<Robots>,
}

impl EmbeddedFrontier {
    /// Opens the frontier in the folder `dir`, or makes it. Reads one record for every host, and no URL.
    pub fn open(dir: &Path, options: FrontierOptions, now: EpochMs) -> Result<EmbeddedFrontier, FrontierError> {
        let shelf = Shelf::open(dir, options.cache_bytes, options.reserve_bytes)?;
        let (totals, keys, clock) = {
            let store = shelf.store()?;
            let clock = store.note_bytes(CLOCK)?.and_then(|text| String::from_utf8(text).ok()?.parse().ok());
            (store.totals()?, store.keys, clock.unwrap_or(0))
        };
        let frontier = EmbeddedFrontier {
            shelf,
            keys,
            max_pages_per_host: options.max_pages_per_host,
            // The delay of visits just before the end is to pass by the clock they were made by.
            opened_at: now.max(clock),
            default_delay_ms: u64::try_from(options.default_delay.as_millis()).unwrap_or(u64::MAX / 4),
            hosts_at_opening: totals.next_host,
            writer: Mutex::default(),
            host_writes: Mutex::default(),
            schedule: Mutex::new(Schedule::new(totals)),
            addresses: Mutex::default(),
            durable: Mutex::default(),
            went_back: AtomicBool::new(false),
            clock: AtomicU64::new(clock),
        };
        frontier.schedule_hosts()?;
        Ok(frontier)
    }

    fn schedule_hosts(&self) -> Result<(), FrontierError> {
        let mut schedule = self.schedule.lock();
        self.shelf.store()?.each_host(|host, record| {
            if record.work() > 0 {
                schedule.update(host, self.after_opening(record), &[], NEVER);
            }
        })
    }

    /// The host with the restart rule applied: it may have been visited until the very moment the last process was killed,
    /// so its delay begins when this one started.
    fn after_opening(&self, mut host: super::schedule::HostRecord) -> super::schedule::HostRecord {
        if host.number < self.hosts_at_opening {
            let delay = self.default_delay_ms.max(host.delay_ms);
            // A rest that was our own idea, of a trouble that an earlier run had, is over: whoever starts it again wants to
            // know. What the server itself asked for holds.
            if let Some(trouble) = host.trouble.filter(|trouble| trouble.last < self.opened_at && !trouble.given_up) {
                host.not_before = trouble.asked_until.unwrap_or(0);
            }
            host.not_before = host.not_before.max(self.opened_at.saturating_add(delay));
        }
        host
    }
}

impl Frontier for EmbeddedFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = changes::Changes::new(self, now)?;
        let proposed = changes.add_proposals(work, &known)?;
        changes.commit(&mut known)?;
        Ok(proposed)
    }

    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = changes::Changes::new(self, now)?;
        let count = changes.add_again(urls)?;
        changes.commit(&mut known)?;
        Ok(count)
    }

    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError> {
        self.lease_hosts(now, max_hosts, max_urls)
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError> {
        self.lease_one(origin, now)
    }

    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn {
        self.addresses.lock().claim(self.keys.host(&lease.host.origin), ip, delay, now)
    }

    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        let keys = self.keys;
        // What is no URL is none of the lease's either.
        let parts = release.fetched.iter().filter_map(|url| split(url).ok());
        let fetched: HashSet<_> = parts.map(|(origin, path)| keys.url(keys.host(origin), path)).collect();
        let store = self.shelf.writable();
        let mut owed = self.host_writes.lock();
        let released = self.schedule.lock().release(lease.id, &fetched, &release);
        let Some((host, record)) = released else { return Ok(()) };
        match store.and_then(|store| store.write_visit(host, &record, release.robots.as_ref())) {
            // The host is given back all the same; what is to be remembered of it is written later.
            Err(error) if error.is_waiting() => {
                let robots = release.robots.or_else(|| owed.remove(&host)?.robots);
                owed.insert(host, Owed { record, robots });
                Ok(())
            }
            written => written,
        }
    }

    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let mut known = self.writer.lock();
        self.tell_of_going_back()?;
        let mut changes = changes::Changes::new(self, now)?;
        if batch.cursor <= changes.totals.cursor {
            return Ok(Applied::default());
        }
        let verdicts = changes.add_verdicts(&batch.verdicts)?;
        let proposed = changes.add_proposals(&batch.proposals, &known)?;
        changes.totals.links_seen += batch.proposals.len() as u64;
        changes.totals.cursor = batch.cursor;
        changes.commit(&mut known)?;
        Ok(Applied { verdicts, proposed })
    }

    fn cursor(&self) -> Result<Position, FrontierError> {
        Ok(self.schedule.lock().totals.cursor)
    }

    fn durable_cursor(&self) -> Result<Position, FrontierError> {
        let cursor = self.cursor()?;
        let mut durable = self.durable.lock();
        if durable.is_none_or(|durable| durable < cursor) {
            self.flush()?;
            *durable = Some(cursor);
        }
        Ok(cursor)
    }

    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        let (origin, path) = split(url)?;
        let keys = self.keys;
        self.shelf.store()?.page(keys.url(keys.host(origin), path), origin)
    }

    fn counts(&self) -> Counts {
        self.schedule.lock().counts()
    }

    fn next_due(&self) -> Option<EpochMs> {
        self.schedule.lock().next_due()
    }

    fn has_work(&self, now: EpochMs) -> bool {
        self.schedule.lock().has_work(now)
    }

    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting {
        self.schedule.lock().waiting(now, at_most)
    }

    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let bytes = self.shelf.store()?.note_bytes(&format!("note:{name}"))?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| self.shelf.unreadable("notes"))).transpose()
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        let store = self.shelf.writable()?;
        let mut batch = store.db.batch();
        batch.insert(&store.notes, format!("note:{name}"), value);
        store.commit(batch)
    }

    fn flush(&self) -> Result<(), FrontierError> {
        self.shelf.store()?.persist()
    }

    fn standing(&self) -> Standing {
        self.shelf.standing()
    }

    fn restore(&self) -> Result<(), FrontierError> {
        self.restore_store()
    }
}
