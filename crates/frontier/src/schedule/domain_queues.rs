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

/// A recently served domain. In a crawl with a backlog most hosts have one, so it is small: see `benches/hosts.rs`.
#[derive(Debug, Default)]
struct DomainQueue {
    leases: u32,
    /// When its last lease with URLs began; 0: there was none, and its first host's due time counts.
    visited: EpochMs,
    waiting: WaitingHosts,
}

/// Due hosts of a domain, by band. Most domains have one host, which takes no memory elsewhere.
#[derive(Debug, Default)]
struct WaitingHosts {
    first: Option<(u8, HostPosition)>,
    /// Hosts after the first. `Box`: a pointer instead of a set in most domains.
    #[expect(clippy::box_collection)]
    others: Option<Box<BTreeSet<(u8, HostPosition)>>>,
}

impl WaitingHosts {
    fn insert(&mut self, host: (u8, HostPosition)) {
        match self.first {
            None => self.first = Some(host),
            Some(first) if host == first => {}
            Some(first) => {
                self.first = Some(host.min(first));
                self.others.get_or_insert_default().insert(host.max(first));
            }
        }
    }

    fn remove(&mut self, host: (u8, HostPosition)) {
        if self.first != Some(host) {
            self.others.as_mut().map(|others| others.remove(&host));
        } else {
            self.first = self.others.as_mut().and_then(|others| others.pop_first());
        }
        self.others.take_if(|others| others.is_empty());
    }

    fn iter(&self) -> impl Iterator<Item = &HostPosition> {
        self.first.iter().chain(self.others.iter().flat_map(|others| others.iter())).map(|(_, host)| host)
    }
}

impl DomainQueue {
    fn is_active(&self) -> bool {
        self.leases > 0 || self.waiting.first.is_some()
    }

    fn position(&self, domain: DomainKey) -> Option<DomainPosition> {
        let (band, (due, number, _)) = self.waiting.first?;
        let since = if self.visited > 0 { self.visited } else { due };
        Some((band, self.leases, since, number, domain))
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
            queue.visited = queue.visited.max(visited.unwrap_or(0));
        });
        if self.by_domain.len() > IDLE + 2 * self.active {
            self.by_domain.retain(|_, queue| queue.is_active());
        }
    }

    pub(super) fn insert(&mut self, domain: DomainKey, band: u8, host: HostPosition) {
        self.change(domain, |queue| queue.waiting.insert((band, host)));
    }

    pub(super) fn remove(&mut self, domain: DomainKey, band: u8, host: HostPosition) {
        self.change(domain, |queue| queue.waiting.remove((band, host)));
    }

    fn change(&mut self, domain: DomainKey, change: impl FnOnce(&mut DomainQueue)) {
        let queue = self.by_domain.entry(domain).or_default();
        let (was_active, before) = (queue.is_active(), queue.position(domain));
        change(queue);
        let position = queue.position(domain);
        self.active += usize::from(queue.is_active());
        self.active -= usize::from(was_active);
        if position != before {
            if let Some(before) = before {
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
        self.by_domain.get(&position.4)?.waiting.first.map(|(_, host)| host)
    }

    /// Since when the hosts that come next are due, one of each band. Hosts of other domains may be due for longer.
    pub(super) fn first_due(&self, bands: u8) -> Option<EpochMs> {
        self.firsts(bands).filter_map(|position| Some(self.first_of(*position)?.0)).min()
    }

    /// Waiting hosts, domain by domain.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &HostPosition> {
        let queues = self.positions.iter().filter_map(|(.., domain)| self.by_domain.get(domain));
        queues.flat_map(|queue| queue.waiting.iter())
    }

    /// Clears the waiting hosts before they are listed again.
    pub(super) fn clear_waiting(&mut self) {
        self.positions.clear();
        for queue in self.by_domain.values_mut() {
            queue.waiting = WaitingHosts::default();
        }
        self.active = self.by_domain.values().filter(|queue| queue.is_active()).count();
    }
}
