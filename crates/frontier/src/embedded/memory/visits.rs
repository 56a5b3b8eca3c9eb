//! Writes the results of visits for their hosts. A release does not wait for the disk: it changes the host's record in
//! the schedule and adds it to the list of records to write. One thread at a time writes, with the lock `host_writes`: a
//! batch of changes, or the whole list. A thread that finds the lock taken leaves its records to the other.
//!
//! A host is not leased before its last visit is written, so that a killed process never forgets a delay that the next
//! visit must obey.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use locks::Mutex;

use crate::embedded::disk::records;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::embedded::disk::store::Store;
use crate::keys::{HostKey, Keys};
use crate::schedule::{HostRecord, Schedule};
use crate::{FrontierError, Lease, Release, Robots};
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// With this many hosts to write no host is leased, because the disk is too slow.
const MOST_UNWRITTEN: usize = 1000;

/// A host's record that the store does not have yet.
pub(crate) struct UnwrittenVisits {
    record: HostRecord,
    robots: Option<Robots>,
    /// The number of the visit, if a host has several.
    visit: u64,
}

impl UnwrittenVisits {
    pub(crate) fn record(&self) -> &HostRecord {
        &self.record
    }

    /// A robots.txt fetched before an order to fetch it again is outdated.
    pub(crate) fn expire_robots(&mut self) {
        self.robots.iter_mut().for_each(|robots| robots.expires_ms = 0);
    }
}

/// The results of visits, until they are written.
pub(crate) struct Visits {
    store_handle: Arc<ReopenableStore>,
    keys: Keys,
    schedule: Arc<Mutex<Schedule>>,
    /// Held by the thread that writes host records, so that they are written in the order they were made.
    pub host_writes: Mutex<()>,
    pub unwritten: Mutex<HashMap<HostKey, UnwrittenVisits>>,
}

impl Visits {
    pub(crate) fn new(store_handle: Arc<ReopenableStore>, keys: Keys, schedule: Arc<Mutex<Schedule>>) -> Visits {
        Visits { store_handle, keys, schedule, host_writes: Mutex::default(), unwritten: Mutex::default() }
    }

    /// The disk is too slow for more visits.
    pub(crate) fn are_too_many(&self) -> bool {
        self.unwritten.lock().len() >= MOST_UNWRITTEN
    }

    /// Implements [`crate::HostLeases::give_back`].
    pub(crate) fn take_back(&self, lease: Lease, release: Release) {
        // A text that is not a URL is not part of the lease either.
        let fetched: HashSet<_> = release.fetched.iter().filter_map(|url| self.keys.key_of(url).ok()).collect();
        let mut unwritten = self.unwritten.lock();
        let released = self.schedule.lock().release(lease.id, &fetched, &release);
        let Some((host, record)) = released else { return };
        let robots = release.robots.or_else(|| unwritten.remove(&host)?.robots);
        unwritten.insert(host, UnwrittenVisits { record, robots, visit: lease.id });
    }

    /// Lets a resting host come at `at`, if it would come later. The next write stores that.
    pub(crate) fn bring_forward(&self, host: HostKey, at: EpochMs, now: EpochMs) -> bool {
        let mut unwritten = self.unwritten.lock();
        let Some(record) = self.schedule.lock().bring_forward(host, at, now) else { return false };
        let (robots, visit) = unwritten.remove(&host).map_or((None, 0), |visit| (visit.robots, visit.visit));
        unwritten.insert(host, UnwrittenVisits { record, robots, visit });
        true
    }

    /// Implements [`crate::HostLeases::write_visits`].
    pub(crate) fn write_in_turn(&self) -> Result<(), FrontierError> {
        let mut result = Ok(());
        // Checked again after the lock is free, because others may have added records meanwhile.
        while self.schedule.lock().has_unwritten() {
            let Some(_in_order) = self.host_writes.try_lock() else { break };
            match self.write() {
                // The hosts are released anyway; their records are written later.
                Err(error) if error.is_waiting() => {}
                written => result = result.and(written),
            }
            if planted::is("hand_over_dropped") {
                break;
            }
        }
        result
    }

    /// Writes the records that other threads added while this one was writing.
    pub(crate) fn write_meanwhile(&self) {
        if let Err(error) = self.write_in_turn() {
            tracing::error!(%error, "the frontier could not write the results of visits (delays, back-off, \
                robots.txt)");
        }
    }

    /// Waits for a thread that is writing. Without free space, the records are written later.
    pub(crate) fn write_all(&self) -> Result<(), FrontierError> {
        let _in_order = self.host_writes.lock();
        match self.write() {
            Err(error) if error.is_waiting() => Ok(()),
            written => written,
        }
    }

    /// Writes the whole list in one batch. The caller holds `host_writes`. Afterwards the hosts may be leased, even after
    /// an error.
    pub(crate) fn write(&self) -> Result<(), FrontierError> {
        if self.unwritten.lock().is_empty() {
            return Ok(());
        }
        match self.store_handle.writable() {
            Ok(store) => self.write_to(&store),
            Err(error) => {
                self.end_write(self.listed(), false);
                Err(error)
            }
        }
    }

    /// The same, with a store that only the caller has.
    pub(crate) fn write_to(&self, store: &Store) -> Result<(), FrontierError> {
        let visits = self.listed();
        let mut batch = store.db.batch();
        let added = visits.iter().try_for_each(|(host, _)| self.add_unwritten(store, &mut batch, *host));
        let written = added.and_then(|()| store.commit(batch));
        self.end_write(visits, written.is_ok());
        written
    }

    /// The hosts to write, with the numbers of their visits.
    fn listed(&self) -> Vec<(HostKey, u64)> {
        self.unwritten.lock().iter().map(|(host, unwritten)| (*host, unwritten.visit)).collect()
    }

    fn end_write(&self, visits: Vec<(HostKey, u64)>, is_written: bool) {
        let mut unwritten = self.unwritten.lock();
        let mut schedule = self.schedule.lock();
        for (host, visit) in visits {
            // Another visit of the host ended meanwhile and must still be written.
            if unwritten.get(&host).is_some_and(|unwritten| unwritten.visit == visit) {
                schedule.written(host);
                if is_written {
                    unwritten.remove(&host);
                }
            }
        }
    }

    fn add_unwritten(
        &self,
        store: &Store,
        batch: &mut fjall::OwnedWriteBatch,
        host: HostKey,
    ) -> Result<(), FrontierError> {
        let (visited, robots) = match self.unwritten.lock().get(&host) {
            Some(unwritten) => (unwritten.record.clone(), unwritten.robots.clone()),
            None => return Ok(()),
        };
        let scheduled = self.schedule.lock().record(host);
        store.add_visit(batch, host, &current(store, scheduled, host, &visited)?, robots.as_ref());
        Ok(())
    }

    /// The robots.txt of a visit that is not written yet.
    pub(crate) fn robots_of(&self, host: HostKey) -> Option<Robots> {
        self.unwritten.lock().get(&host)?.robots.clone()
    }

    /// Implements [`crate::Fetching::lend`].
    pub(crate) fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError> {
        let store = self.store_handle.writable()?;
        let lent = {
            let _in_order = self.host_writes.lock();
            let lent = self.schedule.lock().lend(lease.id, until);
            lent.map_or(Ok(false), |(host, record)| store.write_visit(host, &record, None).map(|()| true))
        };
        self.write_meanwhile();
        lent
    }
}

/// The host's present record, with the visits of `visited`. A host without queued URLs is only in the store.
fn current(
    store: &Store,
    scheduled: Option<HostRecord>,
    host: HostKey,
    visited: &HostRecord,
) -> Result<HostRecord, FrontierError> {
    if let Some(record) = scheduled {
        return Ok(record);
    }
    let mut record = store.host(host)?.unwrap_or_else(|| visited.clone());
    record.take_visits_from(visited);
    Ok(record)
}

impl Store {
    /// Writes the record of a host after a visit.
    fn write_visit(&self, host: HostKey, record: &HostRecord, robots: Option<&Robots>) -> Result<(), FrontierError> {
        let mut batch = self.db.batch();
        self.add_visit(&mut batch, host, record, robots);
        self.commit(batch)
    }

    fn add_visit(
        &self,
        batch: &mut fjall::OwnedWriteBatch,
        host: HostKey,
        record: &HostRecord,
        robots: Option<&Robots>,
    ) {
        batch.insert(&self.hosts, host.to_be_bytes(), records::to_bytes(record));
        if let Some(robots) = robots {
            batch.insert(&self.robots, host.to_be_bytes(), records::to_bytes(robots));
        }
    }
}
