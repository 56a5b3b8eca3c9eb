//! Calls for the operator and for the crawl itself: questions and orders. Only the frontier on disk has them.

use super::changes::Changes;
use super::changes::deferred;
use super::changes::domains;
use super::open::EmbeddedFrontier;
use crate::keys::{HostKey, split};
use crate::{
    BudgetStanding, DiskState, FrontierError, HostLeases, HostOrder, HostSnapshot, Lease, Release, Robots, WhichHosts,
};
use seine_parse as parse;
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Amounts, Budget, BudgetScope};

impl EmbeddedFrontier {
    /// Releases a host, and writes the results of the visit.
    pub fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        self.give_back(lease, release);
        self.write_visits()
    }

    /// Releases up to `of_each` deferred URLs of each host that has any. Returns how many.
    pub fn release_deferred(&self, of_each: usize, now: EpochMs) -> Result<u64, FrontierError> {
        let hosts: Vec<HostKey> = self.memory.schedule.lock().deferred.iter().copied().collect();
        let mut released = 0;
        for host in hosts {
            released += self.change(now, |Changes { urls, .. }| match urls.hosts.origin_of(host)? {
                Some(origin) => deferred::release_any(urls, (host, &origin), of_each),
                None => Ok(0),
            })?;
        }
        Ok(released as u64)
    }

    /// Whether anything is left to do by `now`: a URL without a final answer that is not deferred, a due recheck even
    /// if its host must wait, a URL in flight, a leased host. All at one moment.
    pub fn has_work(&self, now: EpochMs) -> bool {
        self.memory.schedule.lock().has_work(now)
    }

    /// When the next host that is in no trouble is due; none if there is no work, or all of it is leased.
    pub fn next_due_well(&self) -> Option<EpochMs> {
        self.memory.schedule.lock().next_due_well()
    }

    /// The record and the present state of a host; none if it is unknown.
    pub fn host_snapshot(&self, origin: &str) -> Result<Option<HostSnapshot>, FrontierError> {
        let host = self.memory.keys.host(origin);
        let store = &*self.store_handle.store()?;
        let robots = self.robots_of(host)?;
        if let Some(look) = self.memory.schedule.lock().snapshot(host) {
            return Ok(Some(HostSnapshot { robots, ..look }));
        }
        let record = store.host(host)?;
        Ok(record.map(|record| HostSnapshot { record, due: None, is_leased: false, spent: None, robots }))
    }

    /// The last robots.txt of a host.
    pub(super) fn robots_of(&self, host: HostKey) -> Result<Option<Robots>, FrontierError> {
        match self.memory.visits.robots_of(host) {
            Some(robots) => Ok(Some(robots)),
            None => self.store_handle.store()?.robots_of(host),
        }
    }

    /// Up to `at_most` hosts with queued URLs.
    pub fn host_snapshots(&self, which: WhichHosts, at_most: usize) -> Vec<HostSnapshot> {
        self.memory.schedule.lock().snapshots(which, at_most)
    }

    /// Executes an operator's order for a host, durably. An unknown host is created.
    pub fn order_host(&self, origin: &str, order: HostOrder, now: EpochMs) -> Result<(), FrontierError> {
        split(&format!("{origin}/"))?;
        self.change(now, |changes| {
            let record = &mut changes.urls.hosts.change(self.memory.keys.host(origin), origin)?.record;
            match order {
                HostOrder::Block => record.is_blocked = true,
                HostOrder::Unblock => record.is_blocked = false,
                HostOrder::Delay(delay) => {
                    record.ordered_delay_ms =
                        delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX / 4));
                }
                HostOrder::Pages(pages) => record.ordered_pages = pages,
            }
            Ok(())
        })?;
        self.flush()
    }

    /// The hosts whose robots.txt redirected to this host while it was blocked.
    pub fn hosts_waiting_for(&self, origin: &str) -> Vec<String> {
        self.memory.schedule.lock().waiting_for(origin)
    }

    /// Writes everything to disk (fsync), for a clean end.
    pub fn flush(&self) -> Result<(), FrontierError> {
        self.memory.visits.write_all()?;
        self.store_handle.store()?.persist()
    }

    /// Prevents or (false) allows leases of a host; not over a restart. A lease in progress ends soon
    /// ([`PolitenessSlot::Recalled`]).
    pub fn recall(&self, origin: &str, recalled: bool) {
        self.memory.schedule.lock().recall(self.memory.keys.host(origin), recalled);
    }

    /// Whether its disk can be written.
    pub fn disk_state(&self) -> DiskState {
        self.store_handle.disk_state()
    }

    /// All budgets with their use. O(1).
    pub fn budgets(&self, now: EpochMs) -> Vec<BudgetStanding> {
        let schedule = self.memory.schedule.lock();
        let ledger = self.memory.reservations.budgets.ledger.lock();
        let standing = |budget: &Budget| {
            let of_crawl = (budget.of == BudgetScope::Crawl).then(|| ledger.of_crawl(budget, now));
            BudgetStanding {
                budget: *budget,
                spent: of_crawl.map(|(spent, _)| spent),
                in_flight: of_crawl.map_or(0, |(_, held)| held),
                resting: schedule.resting_for(budget),
            }
        };
        ledger.budgets.iter().map(standing).collect()
    }

    /// The pages and bytes fetched by all runs, as far as validated.
    pub fn fetched_amounts(&self) -> Amounts {
        self.memory.reservations.budgets.ledger.lock().fetched_amounts()
    }

    /// Number of known hosts of this host's registrable domain.
    pub fn hosts_of_domain(&self, origin: &str) -> Result<u64, FrontierError> {
        domains::known(&*self.store_handle.store()?, self.memory.keys.domain(origin))
    }

    /// Known origins with this host name, all schemes and ports. Reads all hosts.
    pub fn origins_named(&self, name: &str) -> Result<Vec<String>, FrontierError> {
        let mut origins = Vec::new();
        self.store_handle.store()?.each_host(|_, record| {
            if parse::url::host(&record.origin).is_some_and(|host| host.eq_ignore_ascii_case(name)) {
                origins.push(record.origin.into());
            }
        })?;
        Ok(origins)
    }
}
