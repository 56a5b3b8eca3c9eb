//! Hosts for the user.

use std::cmp::Reverse;

use super::host::HostState;
use super::state::Schedule;
use crate::keys::HostKey;
use crate::{HostLook, WhichHosts};
use seine_parse::page::EpochMs;

/// Maximum number of hosts to search while leases wait.
const LOOKED_THROUGH: usize = 100_000;

impl Schedule {
    /// None for a host with nothing to do; the store has it.
    pub fn look(&self, host: HostKey) -> Option<HostLook> {
        self.hosts.get(&host).map(|state| state.look())
    }

    /// Up to `at_most` hosts with queued URLs.
    pub fn look_at(&self, which: WhichHosts, at_most: usize) -> Vec<HostLook> {
        let leased = self.leases.values().map(|leased| leased.host);
        let due = self.due.hosts().take(LOOKED_THROUGH);
        let blocked = self.blocked.iter().copied();
        let hosts: Box<dyn Iterator<Item = HostKey>> = match which {
            WhichHosts::Busy => Box::new(leased),
            WhichHosts::Blocked => Box::new(blocked),
            WhichHosts::Held => Box::new(self.held.iter().copied().take(LOOKED_THROUGH)),
            WhichHosts::All | WhichHosts::Troubled => Box::new(leased.chain(due).chain(blocked)),
        };
        let is_wanted = |look: &HostLook| which != WhichHosts::Troubled || look.record.waits_for().is_some();
        let looks = hosts.filter_map(|host| self.look(host)).filter(is_wanted);
        if which != WhichHosts::Held {
            return looks.take(at_most).collect();
        }
        let mut looks: Vec<HostLook> = looks.collect();
        looks.sort_by_key(|look| Reverse(look.record.held));
        looks.truncate(at_most);
        looks
    }
}

impl HostState {
    fn look(&self) -> HostLook {
        let due = self.due().filter(|due| *due < EpochMs::MAX);
        let record = self.record.record();
        HostLook { record, due, is_leased: self.busy().lease.is_some(), spent: self.busy().spent, robots: None }
    }
}
