//! Fairness among registrable domains: no domain gets many workers while others wait, however many hosts it has.
//!
//! A domain with endless subdomains always has hosts that have waited longest. So a host of a recently served domain
//! does not wait by its own due time, but with its domain. Among waiting domains, the one with the fewest leases comes
//! first; among equals, the one whose last visit began longest ago. If its end counted, or the time since a host is due,
//! a host that is due again would wait behind all domains that always have due hosts, and lose that time at each visit.

use std::collections::{BTreeSet, HashMap};

use crate::keys::{DomainKey, HostKey};
use seine_parse::page::EpochMs;

/// Above this number, and twice the others, domains without leases and waiting hosts are dropped.
const IDLE: usize = 1024;

/// The position of a host: due time, number, host.
pub(super) type HostPosition = (EpochMs, u64, HostKey);

/// The position of a domain: band, leases, begin of its last visit, number of the first waiting host, domain.
pub(super) type DomainPosition = (u8, u32, EpochMs, u64, DomainKey);

#[derive(Debug, Default)]
pub(super) struct DomainQueues {
    by_domain: HashMap<DomainKey, DomainQueue>,
    /// Domains with waiting hosts.
    positions: BTreeSet<DomainPosition>,
    /// Number of domains with leases or waiting hosts.
    active: usize,
}

/// A recently served domain.
#[derive(Debug, Default)]
struct DomainQueue {
    leases: u32,
    /// When its last lease with URLs began; none: there was none, and its first host's due time counts.
    visited: Option<EpochMs>,
    /// Due hosts by band.
    waiting: BTreeSet<(u8, HostPosition)>,
    position: Option<DomainPosition>,
}

impl DomainQueue {
    fn is_active(&self) -> bool {
        self.leases > 0 || !self.waiting.is_empty()
    }
}

impl DomainQueues {
    /// Whether hosts of this domain wait with it.
    pub(super) fn has(&self, domain: DomainKey) -> bool {
        self.by_domain.contains_key(&domain)
    }

    /// Number of domains with leases or waiting hosts.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    pub(super) fn lease_begins(&mut self, domain: DomainKey) {
        self.change(domain, |queue| queue.leases += 1);
    }

    /// `visited`: when it began, if it had URLs.
    pub(super) fn lease_ends(&mut self, domain: DomainKey, visited: Option<EpochMs>) {
        self.change(domain, |queue| {
            queue.leases = queue.leases.saturating_sub(1);
            queue.visited = queue.visited.max(visited);
        });
        if self.by_domain.len() > IDLE + 2 * self.active {
            self.by_domain.retain(|_, queue| queue.is_active());
        }
    }

    pub(super) fn insert(&mut self, domain: DomainKey, band: u8, host: HostPosition) {
        self.change(domain, |queue| _ = queue.waiting.insert((band, host)));
    }

    pub(super) fn remove(&mut self, domain: DomainKey, band: u8, host: HostPosition) {
        self.change(domain, |queue| _ = queue.waiting.remove(&(band, host)));
    }

    fn change(&mut self, domain: DomainKey, change: impl FnOnce(&mut DomainQueue)) {
        let queue = self.by_domain.entry(domain).or_default();
        let was_active = queue.is_active();
        change(queue);
        let position = queue
            .waiting
            .first()
            .map(|(band, (due, number, _))| (*band, queue.leases, queue.visited.unwrap_or(*due), *number, domain));
        self.active += usize::from(queue.is_active());
        self.active -= usize::from(was_active);
        if position != queue.position {
            if let Some(before) = std::mem::replace(&mut queue.position, position) {
                self.positions.remove(&before);
            }
            self.positions.extend(position);
        }
    }

    /// The first domain in each band.
    fn firsts(&self, bands: u8) -> impl Iterator<Item = &DomainPosition> {
        (0..bands).filter_map(move |band| self.positions.range((band, 0, 0, 0, 0)..(band + 1, 0, 0, 0, 0)).next())
    }

    /// The first domain with fewer leases than this.
    pub(super) fn first(&self, bands: u8, fewer_than: u32) -> Option<DomainPosition> {
        self.firsts(bands).find(|(_, leases, ..)| *leases < fewer_than).copied()
    }

    /// The domain with the fewest leases, of all bands.
    pub(super) fn least(&self, bands: u8) -> Option<DomainPosition> {
        self.firsts(bands).min_by_key(|(band, leases, since, number, _)| (*leases, *since, *band, *number)).copied()
    }

    /// The first waiting host of a domain.
    pub(super) fn first_of(&self, position: DomainPosition) -> Option<HostPosition> {
        self.by_domain.get(&position.4)?.waiting.first().map(|(_, host)| *host)
    }

    /// Since when the first waiting host is due; approximate if links have scores.
    pub(super) fn first_due(&self) -> Option<EpochMs> {
        self.positions.iter().filter_map(|position| Some(self.first_of(*position)?.0)).min()
    }

    /// Waiting hosts, domain by domain.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &HostPosition> {
        let queues = self.positions.iter().filter_map(|(.., domain)| self.by_domain.get(domain));
        queues.flat_map(|queue| queue.waiting.iter().map(|(_, host)| host))
    }

    /// Clears the waiting hosts before they are listed again.
    pub(super) fn clear_waiting(&mut self) {
        self.positions.clear();
        for queue in self.by_domain.values_mut() {
            queue.waiting.clear();
            queue.position = None;
        }
        self.active = self.by_domain.values().filter(|queue| queue.is_active()).count();
    }
}
