//! Closes the store, opens it again, and updates the schedule.

use std::collections::HashSet;

use super::disk::records::UrlState;
use super::disk::store::Store;
use super::memory::{WriterCache, visits};
use super::open::EmbeddedFrontier;
use crate::FrontierError;
use crate::keys::UrlKey;
use crate::schedule::{Queue, Schedule};

impl EmbeddedFrontier {
    /// Repairs a failed frontier if possible: closes its store, opens it again, and writes what could not be written.
    /// Does nothing if all is well. Blocks while the store is opened; leases continue.
    pub fn restore(&self) -> Result<(), FrontierError> {
        if !self.store_handle.is_broken() {
            // Visits that could not be written without free space.
            let _in_order = self.memory.visits.host_writes.lock();
            return self.memory.visits.write();
        }
        let store = self.store_handle.open_again()?;
        let mut cache = self.writer.lock();
        let _in_order = self.memory.visits.host_writes.lock();
        let (mut unwritten, mut schedule) = (self.memory.visits.unwritten.lock(), self.memory.schedule.lock());
        let totals = store.totals()?;
        let mut records = Vec::new();
        store.each_host(|host, record| records.push((host, self.memory.opening.after(record))))?;
        let finished = finished(&store, &schedule)?;
        let goes_back = totals.cursor < schedule.totals.cursor;
        self.memory.reservations.budgets.read_again(&store, finished.iter().copied(), totals.live)?;
        schedule.rebuild(totals, records, &finished);
        // The reopened store may have lost URLs.
        *cache = WriterCache::default();
        self.durable.reopened(goes_back);
        visits::write_to(&store, &schedule, &mut unwritten)?;
        self.store_handle.put(store);
        tracing::info!("frontier: the store is open again");
        Ok(())
    }
}

/// URLs in flight that the store has in another queue than they were leased from: their verdict was stored although its
/// write reported a failure.
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
