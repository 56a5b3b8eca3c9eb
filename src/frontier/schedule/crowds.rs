//! Fairness among registrable domains: none gets many workers while others wait, however many hosts it has.
//!
//! A domain with endless subdomains always has hosts that have waited for longest. So a host whose domain was served lately
//! does not come by its own due time: it waits with its domain. Of the domains that wait, the one with the fewest hosts
//! leased comes first, and among those with as many the one that was served longest ago.

use std::collections::{BTreeSet, HashMap};

use super::due::Place;
use crate::frontier::keys::DomainKey;
use crate::page::EpochMs;

/// Domains without leases and waiting hosts are forgotten when there are more than this and twice the others.
const IDLE: usize = 1024;

/// When a domain's first waiting host comes: band, leases, since when it waits, number of the host, domain.
pub(super) type Turn = (u8, u32, EpochMs, u64, DomainKey);

#[derive(Debug, Default)]
pub(super) struct Crowds {
    by_domain: HashMap<DomainKey, Crowd>,
    /// Those that have waiting hosts.
    turns: BTreeSet<Turn>,
    /// Domains with leases or waiting hosts.
    active: usize,
}

/// A domain of which a host was leased lately.
#[derive(Debug, Default)]
struct Crowd {
    leases: u32,
    /// When a lease of it ended last.
    served: EpochMs,
    /// Due hosts by band.
    waiting: BTreeSet<(u8, Place)>,
    turn: Option<Turn>,
}

impl Crowd {
    fn is_active(&self) -> bool {
        self.leases > 0 || !self.waiting.is_empty()
    }
}

impl Crowds {
    /// Whether hosts of this domain wait with it.
    pub fn has(&self, domain: DomainKey) -> bool {
        self.by_domain.contains_key(&domain)
    }

    /// Domains with leases or waiting hosts.
    pub fn active(&self) -> usize {
        self.active
    }

    pub fn lease_begins(&mut self, domain: DomainKey) {
        self.change(domain, |crowd| crowd.leases += 1);
    }

    /// `served`: when it ended, if it had URLs.
    pub fn lease_ends(&mut self, domain: DomainKey, served: Option<EpochMs>) {
        self.change(domain, |crowd| {
            crowd.leases = crowd.leases.saturating_sub(1);
            crowd.served = crowd.served.max(served.unwrap_or(0));
        });
        if self.by_domain.len() > IDLE + 2 * self.active {
            self.by_domain.retain(|_, crowd| crowd.is_active());
        }
    }

    pub fn insert(&mut self, domain: DomainKey, band: u8, place: Place) {
        self.change(domain, |crowd| _ = crowd.waiting.insert((band, place)));
    }

    pub fn remove(&mut self, domain: DomainKey, band: u8, place: Place) {
        self.change(domain, |crowd| _ = crowd.waiting.remove(&(band, place)));
    }

    fn change(&mut self, domain: DomainKey, change: impl FnOnce(&mut Crowd)) {
        let crowd = self.by_domain.entry(domain).or_default();
        let was_active = crowd.is_active();
        change(crowd);
        let turn = crowd
            .waiting
            .first()
            .map(|(band, (due, number, _))| (*band, crowd.leases, crowd.served.max(*due), *number, domain));
        self.active += usize::from(crowd.is_active());
        self.active -= usize::from(was_active);
        if turn != crowd.turn {
            if let Some(before) = std::mem::replace(&mut crowd.turn, turn) {
                self.turns.remove(&before);
            }
            self.turns.extend(turn);
        }
    }

    /// The first turn in each band.
    fn firsts(&self, bands: u8) -> impl Iterator<Item = &Turn> {
        (0..bands).filter_map(move |band| self.turns.range((band, 0, 0, 0, 0)..(band + 1, 0, 0, 0, 0)).next())
    }

    /// The first turn of a domain with fewer leases than this.
    pub fn first(&self, bands: u8, fewer_than: u32) -> Option<Turn> {
        self.firsts(bands).find(|(_, leases, ..)| *leases < fewer_than).copied()
    }

    /// The turn of the domain with the fewest leases, whatever the band.
    pub fn least(&self, bands: u8) -> Option<Turn> {
        self.firsts(bands).min_by_key(|(band, leases, since, number, _)| (*leases, *since, *band, *number)).copied()
    }

    /// The host whose turn this is.
    pub fn first_of(&self, turn: Turn) -> Option<Place> {
        self.by_domain.get(&turn.4)?.waiting.first().map(|(_, place)| *place)
    }

    /// Since when the first of those that wait is due; where links are ranked, about.
    pub fn first_due(&self) -> Option<EpochMs> {
        self.turns.iter().filter_map(|turn| Some(self.first_of(*turn)?.0)).min()
    }

    /// Hosts that wait, domain by domain.
    pub fn waiting(&self) -> impl Iterator<Item = &Place> {
        let crowds = self.turns.iter().filter_map(|(.., domain)| self.by_domain.get(domain));
        crowds.flat_map(|crowd| crowd.waiting.iter().map(|(_, place)| place))
    }

    /// The waiting hosts are listed anew.
    pub fn clear_waiting(&mut self) {
        self.turns.clear();
        for crowd in self.by_domain.values_mut() {
            crowd.waiting.clear();
            crowd.turn = None;
        }
        self.active = self.by_domain.values().filter(|crowd| crowd.is_active()).count();
    }
}
