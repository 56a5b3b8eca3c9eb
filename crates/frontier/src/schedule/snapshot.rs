//! Hosts for the user.

use std::cmp::Reverse;

use super::host::HostState;
use super::state::Schedule;
use crate::keys::HostKey;
use crate::{HostSnapshot, WhichHosts};
use seine_parse::page::EpochMs;

/// Maximum number of hosts to search while leases wait.
const MAX_READ: usize = 100_000;

impl Schedule {
    /// None for a host with nothing to do; the store has it.
    pub(crate) fn snapshot(&self, host: HostKey) -> Option<HostSnapshot> {
        self.hosts.get(&host).map(|state| state.snapshot())
    }

    /// Up to `at_most` hosts with queued URLs.
    pub(crate) fn snapshots(&self, which: WhichHosts, at_most: usize) -> Vec<HostSnapshot> {
        let leased = self.leases.values().map(|leased| leased.host);
        let due = self.due.hosts().take(MAX_READ);
        let blocked = self.blocked.iter().copied();
        let hosts: Box<dyn Iterator<Item = HostKey>> = match which {
            WhichHosts::Busy => Box::new(leased),
            WhichHosts::Blocked => Box::new(blocked),
            WhichHosts::Deferred => Box::new(self.deferred.iter().copied().take(MAX_READ)),
            WhichHosts::All | WhichHosts::Troubled => Box::new(leased.chain(due).chain(blocked)),
        };
        let is_wanted =
            |snapshot: &HostSnapshot| which != WhichHosts::Troubled || snapshot.record.waits_for().is_some();
        let snapshots = hosts.filter_map(|host| self.snapshot(host)).filter(is_wanted);
        if which != WhichHosts::Deferred {
            return snapshots.take(at_most).collect();
        }
        let mut snapshots: Vec<HostSnapshot> = snapshots.collect();
        snapshots.sort_by_key(|snapshot| Reverse(snapshot.record.deferred));
        snapshots.truncate(at_most);
        snapshots
    }
}

impl HostState {
    fn snapshot(&self) -> HostSnapshot {
        let due = self.due().filter(|due| *due < EpochMs::MAX);
        let record = self.record.record();
        HostSnapshot { record, due, is_leased: self.busy().lease.is_some(), spent: self.busy().spent, robots: None }
    }
}
