//! What visits found out about their hosts, on its way to the store. Who gives a host back waits for no disk: the host's record is
//! changed in the schedule, and owed to the store. One at a time writes, holding `host_writes`: a batch of changes, or all that
//! is owed. Whoever finds somebody writing leaves what is owed to that one.
//!
//! Nobody is leased a host before its visit is written: a process that is killed must not forget a delay that the next visit
//! kept to.

use std::collections::{HashMap, HashSet};

use super::open::EmbeddedFrontier;
use super::records;
use super::store::Store;
use crate::frontier::keys::HostKey;
use crate::frontier::schedule::{HostRecord, Schedule};
use crate::frontier::{FrontierError, Lease, Release, Robots};
use crate::page::EpochMs;

/// With so many hosts that wait to be written none is leased: the disk is too slow for more.
pub(super) const MOST_OWED: usize = 1000;

/// What a visit found out about a host, and the store does not have yet.
pub(super) struct Owed {
    record: HostRecord,
    robots: Option<Robots>,
    /// Which of several visits of the host it is.
    visit: u64,
}

impl Owed {
    pub fn record(&self) -> &HostRecord {
        &self.record
    }

    /// What was fetched before somebody wants it anew is fetched again.
    pub fn expire_robots(&mut self) {
        self.robots.iter_mut().for_each(|robots| robots.expires_ms = 0);
    }
}

impl EmbeddedFrontier {
    /// The contract is that of [`crate::frontier::Frontier::give_back`].
    pub(super) fn take_back(&self, lease: Lease, release: Release) {
        // What is no URL is none of the lease's either.
        let fetched: HashSet<_> = release.fetched.iter().filter_map(|url| self.key_of(url).ok()).collect();
        let mut owed = self.owed.lock();
        let released = self.schedule.lock().release(lease.id, &fetched, &release);
        let Some((host, record)) = released else { return };
        let robots = release.robots.or_else(|| owed.remove(&host)?.robots);
        owed.insert(host, Owed { record, robots, visit: lease.id });
    }

    /// The contract is that of [`crate::frontier::Frontier::write_visits`].
    pub(super) fn write_owed_in_turn(&self) -> Result<(), FrontierError> {
        let mut result = Ok(());
        // Asked again once the lock is free: who came meanwhile relies on it.
        while self.schedule.lock().has_unwritten() {
            let Some(_in_order) = self.host_writes.try_lock() else { break };
            match self.write_owed() {
                // The hosts are given back all the same; what is to be remembered of them is written later.
                Err(error) if error.is_waiting() => {}
                written => result = result.and(written),
            }
        }
        result
    }

    /// Visits that ended while something else was written: they were left to its writer.
    pub(super) fn write_owed_meanwhile(&self) {
        if let Err(error) = self.write_owed_in_turn() {
            tracing::error!(%error, "the frontier did not write what visits found out about their hosts");
        }
    }

    /// Waits for whoever is writing. Where there is no room it is written later.
    pub(super) fn write_all_owed(&self) -> Result<(), FrontierError> {
        let _in_order = self.host_writes.lock();
        match self.write_owed() {
            Err(error) if error.is_waiting() => Ok(()),
            written => written,
        }
    }

    /// Writes all that is owed in one batch. The caller holds `host_writes`. Whatever comes of it, the hosts may be leased.
    pub(super) fn write_owed(&self) -> Result<(), FrontierError> {
        let visits: Vec<(HostKey, u64)> = self.owed.lock().iter().map(|(host, owed)| (*host, owed.visit)).collect();
        if visits.is_empty() {
            return Ok(());
        }
        let written = self.shelf.writable().and_then(|store| {
            let mut batch = store.db.batch();
            for (host, _) in &visits {
                self.add_owed(&store, &mut batch, *host)?;
            }
            store.commit(batch)
        });
        let mut owed = self.owed.lock();
        let mut schedule = self.schedule.lock();
        for (host, visit) in visits {
            // Another visit of the host ended meanwhile: that one is still to be written.
            if owed.get(&host).is_some_and(|owed| owed.visit == visit) {
                schedule.written(host);
                if written.is_ok() {
                    owed.remove(&host);
                }
            }
        }
        written
    }

    fn add_owed(&self, store: &Store, batch: &mut fjall::OwnedWriteBatch, host: HostKey) -> Result<(), FrontierError> {
        let (visited, robots) = match self.owed.lock().get(&host) {
            Some(owed) => (owed.record.clone(), owed.robots.clone()),
            None => return Ok(()),
        };
        let scheduled = self.schedule.lock().record(host);
        store.add_visit(batch, host, &current(store, scheduled, host, &visited)?, robots.as_ref());
        Ok(())
    }

    /// That of a visit which is not written yet.
    pub(super) fn owed_robots(&self, host: HostKey) -> Option<Robots> {
        self.owed.lock().get(&host)?.robots.clone()
    }

    /// The contract is that of [`crate::frontier::Frontier::lend`].
    pub(super) fn lend_until(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError> {
        let store = self.shelf.writable()?;
        let lent = {
            let _in_order = self.host_writes.lock();
            let lent = self.schedule.lock().lend(lease.id, until);
            lent.map_or(Ok(false), |(host, record)| store.write_visit(host, &record, None).map(|()| true))
        };
        self.write_owed_meanwhile();
        lent
    }
}

/// The store was opened again: writes all that is owed to it. The caller holds `host_writes`, and has rebuilt the schedule.
pub(super) fn write_to(
    store: &Store,
    schedule: &Schedule,
    owed: &mut HashMap<HostKey, Owed>,
) -> Result<(), FrontierError> {
    for (host, Owed { record, robots, .. }) in owed.iter() {
        let record = current(store, schedule.record(*host), *host, record)?;
        store.write_visit(*host, &record, robots.as_ref())?;
    }
    owed.clear();
    Ok(())
}

/// The host's record as it is now, with what `visited` says of its visits. A host without work is only in the store.
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
    /// What a visit found out about its host.
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
