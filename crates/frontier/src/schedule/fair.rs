//! Chooses the next host: the one due first, unless its domain was recently served. Then it waits with its domain.

use super::due::{ChosenPosition, Listed, NextHost, WorkerSupply};
use super::state::{Leased, Schedule};
use crate::keys::{DomainKey, HostKey};
use seine_parse::page::EpochMs;

/// Maximum number of hosts moved to their domains in one call, because the schedule's lock is held.
const MOVED: usize = 1024;

impl Schedule {
    /// Removes the next host from the list and returns it.
    pub(super) fn take_next(&mut self, now: EpochMs, room: WorkerSupply) -> Option<ChosenPosition> {
        self.due.begin();
        for _ in 0..MOVED {
            let Some((host, listed)) = self.due.first_soon(now) else { break };
            self.relist(host, Some(listed.with_its_domain()));
        }
        for _ in 0..MOVED {
            match self.due.next(now, room)? {
                NextHost::Due(taken, listed) if self.due.domains.has(self.domain_of(taken.host)) => {
                    self.relist(taken.host, Some(listed.with_its_domain()));
                }
                NextHost::Due(taken, _) | NextHost::Domain(taken) => {
                    self.relist(taken.host, None);
                    return Some(taken);
                }
            }
        }
        // Very many hosts of one domain are due. Later calls find the others.
        let taken = self.due.next_domain(now, room)?;
        self.relist(taken.host, None);
        Some(taken)
    }

    /// Moves a host's list entry, or (none) removes it.
    pub(super) fn relist(&mut self, host: HostKey, listed: Option<Listed>) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let (number, origin) = (state.record.number, &state.record.origin);
        if let Some(old) = std::mem::replace(&mut state.listed, listed) {
            self.due.remove(old, number, host, || self.keys.domain(origin));
        }
        if let Some(new) = listed {
            self.due.insert(new, number, host, || self.keys.domain(origin));
        }
    }

    pub(super) fn domain_of(&self, host: HostKey) -> DomainKey {
        self.hosts.get(&host).map_or(0, |state| self.keys.domain(&state.record.origin))
    }

    /// A new lease of a host, without URLs.
    pub(super) fn begin_lease(&mut self, host: HostKey) -> u64 {
        self.last_lease += 1;
        let domain = self.domain_of(host);
        self.due.domains.lease_begins(domain);
        self.leases.insert(
            self.last_lease,
            Leased { host, domain, urls: Vec::new(), began: self.last_choice, is_lent: false },
        );
        self.last_lease
    }
}
