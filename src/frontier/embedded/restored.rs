//! The store closed and opened again, and the schedule brought in line with it.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::known::Known;
use super::open::{EmbeddedFrontier, Owed};
use super::records::UrlState;
use super::store::Store;
use crate::frontier::FrontierError;
use crate::frontier::keys::{HostKey, UrlKey};
use crate::frontier::schedule::{HostRecord, Queue, Schedule};

impl EmbeddedFrontier {
    pub(super) fn restore_store(&self) -> Result<(), FrontierError> {
        if !self.shelf.is_broken() {
            return self.write_owed();
        }
        let store = self.shelf.open_again()?;
        let mut known = self.writer.lock();
        let mut owed = self.host_writes.lock();
        let mut schedule = self.schedule.lock();
        let totals = store.totals()?;
        let mut records = Vec::new();
        store.each_host(|host, record| records.push((host, self.after_opening(record))))?;
        let finished = finished(&store, &schedule)?;
        if totals.cursor < schedule.totals.cursor {
            self.went_back.store(true, Ordering::Relaxed);
        }
        Self::read_accounts_again(&store, &mut self.ledger.lock(), finished.iter().copied(), totals.live)?;
        schedule.rebuild(totals, records, &finished);
        // It may have lost what it knew.
        *known = Known::default();
        *self.durable.lock() = None;
        for (host, Owed { record, robots }) in owed.iter() {
            store.write_visit(*host, &current(&store, &schedule, *host, record)?, robots.as_ref())?;
        }
        owed.clear();
        self.shelf.put(store);
        tracing::info!("frontier: its store is open again");
        Ok(())
    }

    /// What was not written while there was no room.
    fn write_owed(&self) -> Result<(), FrontierError> {
        let store = self.shelf.store()?;
        let mut owed = self.host_writes.lock();
        if owed.is_empty() {
            return Ok(());
        }
        drop(self.shelf.writable()?);
        let hosts: Vec<HostKey> = owed.keys().copied().collect();
        for host in hosts {
            let Some(Owed { record, robots }) = owed.get(&host) else { continue };
            let record = current(&store, &self.schedule.lock(), host, record)?;
            store.write_visit(host, &record, robots.as_ref())?;
            owed.remove(&host);
        }
        Ok(())
    }

    /// The validator's next batch would come behind a gap: it is to begin again at the cursor.
    pub(super) fn tell_of_going_back(&self) -> Result<(), FrontierError> {
        match self.went_back.swap(false, Ordering::Relaxed) {
            true => Err(self.shelf.waiting("its store came back with less than it had".to_owned())),
            false => Ok(()),
        }
    }
}

/// URLs in flight that the store has in another place than they were leased from: their verdict reached it, although
/// nobody was told.
fn finished(store: &Store, schedule: &Schedule) -> Result<HashSet<UrlKey>, FrontierError> {
    let mut finished = HashSet::new();
    for (url, queue) in schedule.in_flight() {
        let is_there = match (store.state_of(url)?, queue) {
            (Some(UrlState::Ready(_)), Queue::Ready) => true,
            (Some(UrlState::Later { due, .. }), Queue::Later(leased)) => due == leased,
            _ => false,
        };
        if !is_there {
            finished.insert(url);
        }
    }
    Ok(finished)
}

/// The host's record as it is now, with what `visited` says of its visits. A host without work is only in the store.
fn current(
    store: &Store,
    schedule: &Schedule,
    host: HostKey,
    visited: &HostRecord,
) -> Result<HostRecord, FrontierError> {
    if let Some(record) = schedule.record(host) {
        return Ok(record);
    }
    let mut record = store.host(host)?.unwrap_or_else(|| visited.clone());
    record.take_visits_from(visited);
    Ok(record)
}
