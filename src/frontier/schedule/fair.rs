//! Which host comes next: the one that is due first, unless its domain was served lately. Then it waits with its domain.

use super::due::{Listed, Next, Room, Taken};
use super::state::{Leased, Schedule};
use crate::frontier::keys::{DomainKey, HostKey};
use crate::page::EpochMs;

/// Hosts that are moved to their domains while one is looked for. The schedule's lock is held meanwhile.
const MOVED: usize = 1024;

impl Schedule {
    /// Takes the host whose turn it is out of the list of what is due.
    pub(super) fn take_next(&mut self, now: EpochMs, room: Room) -> Option<Taken> {
        self.due.begin();
        for _ in 0..MOVED {
            match self.due.next(now, room)? {
                Next::Due(taken, listed) if self.due.crowds.has(self.domain_of(taken.host)) => {
                    self.relist(taken.host, Some(listed.with_its_domain()));
                }
                Next::Due(taken, _) | Next::Crowd(taken) => {
                    self.relist(taken.host, None);
                    return Some(taken);
                }
            }
        }
        // Very many of one domain are due: the others are found by the next who look.
        let taken = self.due.next_crowd(now, room)?;
        self.relist(taken.host, None);
        Some(taken)
    }

    /// Moves a host's entry in `due`, or (none) takes it out.
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

    fn domain_of(&self, host: HostKey) -> DomainKey {
        self.hosts.get(&host).map_or(0, |state| self.keys.domain(&state.record.origin))
    }

    /// A new lease of a host, without URLs.
    pub(super) fn begin_lease(&mut self, host: HostKey) -> u64 {
        self.last_lease += 1;
        let domain = self.domain_of(host);
        self.due.crowds.lease_begins(domain);
        self.leases.insert(self.last_lease, Leased { host, domain, urls: Vec::new(), is_lent: false });
        self.last_lease
    }
}
