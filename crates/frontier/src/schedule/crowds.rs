//! Fairness among registrable domains: no domain gets many workers while others wait, however many hosts it has.
//!
//! A domain with endless subdomains always has hosts that have waited longest. So a host of a recently served domain
//! does not wait by its own due time, but with its domain. Among waiting domains, the one with the fewest leases comes
//! first; among equals, the one served longest ago.

use std::collections::{BTreeSet, HashMap};

use super::due::Place;
use crate::keys::DomainKey;
use seine_parse::page::EpochMs;

/// Above this number, and twice the others, domains without leases and waiting hosts are dropped.
const IDLE: usize = 1024;

/// The position of a domain: band, leases, waiting since, number of the first waiting host, domain.
pub(super) type Turn = (u8, u32, EpochMs, u64, DomainKey);

#[derive(Debug, Default)]
pub(super) struct Crowds {
    by_domain: HashMap<DomainKey, Crowd>,
    /// Domains with waiting hosts.
    turns: BTreeSet<Turn>,
    /// Number of domains with leases or waiting hosts.
    active: usize,
}

/// A recently served domain.
#[derive(Debug, Default)]
struct Crowd {
    leases: u32,
    /// When its last lease ended.
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

    /// Number of domains with leases or waiting hosts.
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

    /// The first domain in each band.
    fn firsts(&self, bands: u8) -> impl Iterator<Item = &Turn> {
        (0..bands).filter_map(move |band| self.turns.range((band, 0, 0, 0, 0)..(band + 1, 0, 0, 0, 0)).next())
    }

    /// The first domain with fewer leases than this.
    pub fn first(&self, bands: u8, fewer_than: u32) -> Option<Turn> {
        self.firsts(bands).find(|(_, leases, ..)| *leases < fewer_than).copied()
    }

    /// The domain with the fewest leases, of all bands.
    pub fn least(&self, bands: u8) -> Option<Turn> {
        self.firsts(bands).min_by_key(|(band, leases, since, number, _)| (*leases, *since, *band, *number)).copied()
    }

    /// The first waiting host of a domain.
    pub fn first_of(&self, turn: Turn) -> Option<Place> {
        self.by_domain.get(&turn.4)?.waiting.first().map(|(_, place)| *place)
    }

    /// Since when the first waiting host is due; approximate if links have scores.
    pub fn first_due(&self) -> Option<EpochMs> {
        self.turns.iter().filter_map(|turn| Some(self.first_of(*turn)?.0)).min()
    }

    /// Waiting hosts, domain by domain.
    pub fn waiting(&self) -> impl Iterator<Item = &Place> {
        let crowds = self.turns.iter().filter_map(|(.., domain)| self.by_domain.get(domain));
        crowds.flat_map(|crowd| crowd.waiting.iter().map(|(_, place)| place))
    }

    /// Clears the waiting hosts before they are listed again.
    pub fn clear_waiting(&mut self) {
        self.turns.clear();
        for crowd in self.by_domain.values_mut() {
            crowd.waiting.clear();
            crowd.turn = None;
        }
        self.active = self.by_domain.values().filter(|crowd| crowd.is_active()).count();
    }
}
