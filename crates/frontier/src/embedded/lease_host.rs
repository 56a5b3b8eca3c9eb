//! Leases one host, with or without queued URLs.

use super::changes::Changes;
use super::memory::leases::host_of;
use super::open::EmbeddedFrontier;
use crate::keys::HostKey;
use crate::schedule::HostChoice;
use crate::{FrontierError, Lease, LeaseAnswer};
use seine_parse::page::EpochMs;

impl EmbeddedFrontier {
    /// Implements [`crate::HostLeases::lease_host`].
    pub(super) fn lease_one(&self, origin: &str, now: EpochMs) -> Result<LeaseAnswer, FrontierError> {
        let host = self.memory.keys.host(origin);
        let store = self.store_handle.store()?;
        let claim = self.memory.schedule.lock().choose_host(host, None, now);
        let claim = match claim {
            Some(claim) => claim,
            None => self.choose_idle_host(host, origin, now)?.ok_or_else(|| store.unreadable("hosts"))?,
        };
        Ok(match claim {
            HostChoice::Taken => LeaseAnswer::Taken,
            HostChoice::At { at, is_in_trouble } => LeaseAnswer::At { at, is_in_trouble },
            HostChoice::Leased(id, record) => {
                let robots = if record.has_robots { store.robots_of(host) } else { Ok(None) };
                let robots = robots.inspect_err(|_| self.memory.schedule.lock().give_back(id))?;
                let host = host_of(*record, robots);
                LeaseAnswer::Leased(Box::new(Lease { id, host, work: Vec::new() }))
            }
        })
    }

    /// For a host that is unknown or has no queued URLs. No other thread may change it until the schedule has it.
    fn choose_idle_host(&self, host: HostKey, origin: &str, now: EpochMs) -> Result<Option<HostChoice>, FrontierError> {
        let claim = {
            let mut cache = self.writer.lock();
            let store = self.store_handle.writable()?;
            let mut changes = Changes::new(&self.memory, &store, &mut cache, now);
            let record = changes.urls.hosts.change(host, origin)?.record.clone();
            let written = changes.commit();
            written.map(|()| self.memory.schedule.lock().choose_host(host, Some(record), now))
        };
        self.memory.visits.write_meanwhile();
        claim
    }
}
