//! Closes the store, opens it again, and updates the schedule.

use std::collections::HashSet;

use super::disk::records::UrlState;
use super::disk::store::Store;
use super::memory::WriterCache;
use super::open::EmbeddedFrontier;
use crate::FrontierError;
use crate::keys::UrlKey;
use crate::schedule::Queue;

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
        let in_order = self.memory.visits.host_writes.lock();
        // Nobody leases a host or reserves a budget while the store is away. So what is read here stays true, except that
        // visits end. The locks that these take are free meanwhile.
        let totals = store.totals()?;
        let mut records = Vec::new();
        store.each_host(|host, record| records.push((host, self.memory.opening.after(record))))?;
        let in_flight = self.memory.schedule.lock().in_flight();
        let finished = finished(&store, in_flight)?;
        self.memory.reservations.budgets.read_again(&store, finished.iter().copied(), totals.live)?;
        let goes_back = {
            let mut schedule = self.memory.schedule.lock();
            let goes_back = totals.cursor < schedule.totals.cursor;
            schedule.rebuild(totals, records, &finished);
            goes_back
        };
        // The reopened store may have lost URLs.
        *cache = WriterCache::default();
        self.durable.reopened(goes_back);
        self.memory.visits.write_to(&store)?;
        self.store_handle.put(store);
        drop(in_order);
        // Visits that ended meanwhile were left to this thread.
        self.memory.visits.write_meanwhile();
        tracing::info!("frontier: the store is open again");
        Ok(())
    }
}

/// URLs in flight that the store has in another queue than they were leased from: their verdict was stored although its
/// write reported a failure.
fn finished(store: &Store, in_flight: Vec<(UrlKey, Queue)>) -> Result<HashSet<UrlKey>, FrontierError> {
    let mut finished = HashSet::new();
    for (url, queue) in in_flight {
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
