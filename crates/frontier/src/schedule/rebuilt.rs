//! Rebuilds the schedule after its store was reopened. Queues and totals come from the store, leases and visits from
//! memory. A failed write may have been stored nevertheless, or may have lost others.

use std::collections::HashSet;

use super::host::HostState;
use super::queue::Queue;
use super::record::{HostRecord, NEVER};
use super::state::Schedule;
use super::totals::Totals;
use crate::keys::{HostKey, UrlKey};

impl Schedule {
    /// URLs in flight with their queues.
    pub(crate) fn in_flight(&self) -> Vec<(UrlKey, Queue)> {
        self.in_flight.iter().map(|(url, queue)| (*url, *queue)).collect()
    }

    /// `records`: every host of the store. `finished`: URLs in flight that are no longer in their queue. No lease may
    /// be reading the store.
    pub(crate) fn rebuild(&mut self, totals: Totals, records: Vec<(HostKey, HostRecord)>, finished: &HashSet<UrlKey>) {
        let mut before = std::mem::take(self);
        (self.totals, self.revisit_share) = (totals, before.revisit_share);
        self.keys = before.keys;
        self.due = std::mem::take(&mut before.due);
        self.due.rank(self.due.ranks());
        (self.last_lease, self.last_choice) = (before.last_lease, before.last_choice);
        self.recalled = std::mem::take(&mut before.recalled);
        self.leases = before.leases;
        self.unwritten = std::mem::take(&mut before.unwritten);
        for (host, record) in records {
            let old = before.hosts.remove(&host);
            if record.work() > 0 || old.is_some() {
                self.put_back(host, record, old);
            }
        }
        // Hosts that the store has lost and a worker has leased.
        for (host, old) in before.hosts.into_iter().filter(|(_, old)| old.busy().lease.is_some()) {
            let record = HostRecord { ready: 0, later: 0, later_first: NEVER, ..old.record.record() };
            self.put_back(host, record, Some(old));
        }
        for (url, queue) in before.in_flight.into_iter().filter(|(url, _)| !finished.contains(url)) {
            let Some(state) = self.hosts.get_mut(&url.host) else { continue };
            state.took_off(queue);
            self.in_flight.insert(url, queue);
        }
        let hosts: Vec<HostKey> = self.hosts.keys().copied().collect();
        hosts.into_iter().for_each(|host| self.list(host));
    }

    fn put_back(&mut self, host: HostKey, mut record: HostRecord, old: Option<Box<HostState>>) {
        if let Some(old) = &old {
            record.take_visits_from(&old.record.record());
        }
        self.count(host, Some(record.counted()));
        let mut state = HostState::new(record);
        let mut spent = None;
        if let Some(old) = old {
            state.epoch = old.epoch.wrapping_add(1);
            if let Some(lease) = old.busy().lease {
                state.busy_mut().lease = Some(lease);
            }
            spent = old.busy().spent;
        }
        self.hosts.insert(host, Box::new(state));
        self.rest_for(host, spent);
    }
}
