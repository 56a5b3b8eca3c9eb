//! The frontier of one machine: a fjall store for what must last, a schedule in memory for what must be quick.
//!
//! A URL's way through the keyspaces: a proposal enters `urls` and `ready`; a verdict takes it out of its queue and puts it
//! into `pages`, into `later` (retry, revisit), or both. Every change is one atomic batch with the totals and the cursor, so
//! after `kill -9` the store is that of a moment between two batches. Leases are in memory only: what was leased and got no
//! verdict is still queued on disk.
//!
//! Locks, in the order they are taken: `writer` (one propose or apply at a time, looks into the store included),
//! `host_writes` (so that host records reach the store in the order they were made), the schedule's (microseconds).

mod changes;
mod known;
mod lease;
mod proposals;
mod records;
mod store;
mod survey;
mod verdicts;

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use fjall::PersistMode;
use parking_lot::Mutex;

use super::addresses::Addresses;
use super::keys::split;
use super::schedule::{NEVER, Schedule};
use super::{
    Applied, Batch, Counts, Frontier, FrontierError, FrontierOptions, HostTurn, Lease, PageRecord, Proposal, Proposed,
    Release, Turn,
};
use crate::log::Position;
use crate::page::EpochMs;
use known::Known;
use store::{FolderLock, Store};
pub use survey::Survey;

/// See the module's description.
pub struct EmbeddedFrontier {
    store: Store,
    max_pages_per_host: Option<u64>,
    /// No host is visited before this; see [`FrontierOptions::default_delay`].
    opened_at: EpochMs,
    default_delay_ms: u64,
    /// Hosts with this number and above were first seen by this process.
    hosts_at_opening: u64,
    writer: Mutex<Known>,
    host_writes: Mutex<()>,
    schedule: Mutex<Schedule>,
    addresses: Mutex<Addresses>,
    durable: Mutex<Option<Position>>,
    /// Last: dropped when the store is closed.
    _lock: FolderLock,
}

impl EmbeddedFrontier {
    /// Opens the frontier in the folder `dir`, or makes it. Reads one record for every host, and no URL.
    pub fn open(dir: &Path, options: FrontierOptions, now: EpochMs) -> Result<EmbeddedFrontier, FrontierError> {
        let (store, lock) = store::open(dir, options.cache_bytes)?;
        let totals = store.totals()?;
        let frontier = EmbeddedFrontier {
            store,
            max_pages_per_host: options.max_pages_per_host,
            opened_at: now,
            default_delay_ms: u64::try_from(options.default_delay.as_millis()).unwrap_or(u64::MAX / 4),
            hosts_at_opening: totals.next_host,
            writer: Mutex::default(),
            host_writes: Mutex::default(),
            schedule: Mutex::new(Schedule::new(totals)),
            addresses: Mutex::default(),
            durable: Mutex::default(),
            _lock: lock,
        };
        frontier.schedule_hosts()?;
        Ok(frontier)
    }

    fn schedule_hosts(&self) -> Result<(), FrontierError> {
        let mut schedule = self.schedule.lock();
        for entry in self.store.hosts.iter() {
            let (key, value) = entry.into_inner().map_err(|source| self.store.failed(source))?;
            let host = super::keys::part(&key, 0).ok_or_else(|| self.store.unreadable("hosts"))?;
            let record = records::decode_host(&value).ok_or_else(|| self.store.unreadable("hosts"))?;
            if record.work() > 0 {
                schedule.update(host, self.after_opening(record), &[], NEVER);
            }
        }
        Ok(())
    }

    /// The host with the restart rule applied: it may have been visited until the very moment the last process was killed,
    /// so its delay begins when this one started.
    fn after_opening(&self, mut host: super::schedule::HostRecord) -> super::schedule::HostRecord {
        if host.number < self.hosts_at_opening {
            let delay = self.default_delay_ms.max(host.delay_ms);
            host.not_before = host.not_before.max(self.opened_at.saturating_add(delay));
        }
        host
    }
}

impl Frontier for EmbeddedFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = changes::Changes::new(self, now);
        let proposed = changes.add_proposals(work, &known)?;
        changes.commit(&mut known)?;
        Ok(proposed)
    }

    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError> {
        self.lease_hosts(now, max_hosts, max_urls)
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError> {
        self.lease_one(origin, now)
    }

    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn {
        self.addresses.lock().claim(self.store.keys.host(&lease.host.origin), ip, delay, now)
    }

    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        let keys = self.store.keys;
        // What is no URL is none of the lease's either.
        let parts = release.fetched.iter().filter_map(|url| split(url).ok());
        let fetched: HashSet<_> = parts.map(|(origin, path)| keys.url(keys.host(origin), path)).collect();
        let _in_order = self.host_writes.lock();
        let released = self.schedule.lock().release(lease.id, &fetched, &release);
        let Some((host, record)) = released else { return Ok(()) };
        let mut batch = self.store.db.batch();
        batch.insert(&self.store.hosts, host.to_be_bytes(), records::encode_host(&record));
        if let Some(robots) = &release.robots {
            batch.insert(&self.store.robots, host.to_be_bytes(), records::encode_robots(robots));
        }
        self.store.commit(batch)
    }

    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = changes::Changes::new(self, now);
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
        let keys = self.store.keys;
        self.store.page(keys.url(keys.host(origin), path), origin)
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

    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let bytes = self.store.note_bytes(&format!("note:{name}"))?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| self.store.unreadable("notes"))).transpose()
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        let mut batch = self.store.db.batch();
        batch.insert(&self.store.notes, format!("note:{name}"), value);
        self.store.commit(batch)
    }

    fn flush(&self) -> Result<(), FrontierError> {
        self.store.db.persist(PersistMode::SyncAll).map_err(|source| self.store.failed(source))
    }
}
