//! Hosts by the time they may be visited. Where links are ranked they stand in bands, by the best that waits of each: the most promising
//! host that may be visited comes first, and among its likes the one that is due first. Now and then whoever has waited for longest comes
//! first, whatever waits there: nothing starves, and what is thought little of gets the chance to prove better.

use std::collections::BTreeSet;

use crate::frontier::keys::HostKey;
use crate::page::EpochMs;

/// Bands of priorities, where links are ranked.
const BANDS: usize = 16;
/// The band of a host that has looks again or retries alone.
const LATER: usize = 8;
/// One host of so many is the one that has waited for longest.
const WAITED: u64 = 24;

/// Due time, number, host.
type Place = (EpochMs, u64, HostKey);

#[derive(Debug)]
pub(super) struct Due {
    /// One, where links are not ranked.
    bands: Vec<BTreeSet<Place>>,
    taken: u64,
}

/// Where a host is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub due: EpochMs,
    band: usize,
}

/// The host whose turn it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub host: HostKey,
    band: usize,
    /// It has waited for longest: the URL to take is the first of this priority, or behind it.
    pub from: Option<u8>,
}

impl Default for Due {
    fn default() -> Due {
        Due::new(false)
    }
}

impl Due {
    pub fn new(ranks: bool) -> Due {
        Due { bands: vec![BTreeSet::new(); if ranks { BANDS } else { 1 }], taken: 0 }
    }

    pub fn ranks(&self) -> bool {
        self.bands.len() > 1
    }

    /// `best`: the priority of the best URL that waits; none: only looks again and retries do.
    pub fn place(&self, due: EpochMs, best: Option<u8>) -> Listed {
        let band = if self.ranks() { best.map_or(LATER, band) } else { 0 };
        Listed { due, band }
    }

    pub fn insert(&mut self, listed: Listed, number: u64, host: HostKey) {
        self.bands[listed.band].insert((listed.due, number, host));
    }

    pub fn remove(&mut self, listed: Listed, number: u64, host: HostKey) {
        self.bands[listed.band].remove(&(listed.due, number, host));
    }

    /// Takes the host whose turn it is, if one is due.
    pub fn take(&mut self, now: EpochMs) -> Option<Taken> {
        let is_due = |band: &BTreeSet<Place>| band.first().is_some_and(|(due, ..)| *due <= now);
        let mut at = self.bands.iter().position(is_due)?;
        let mut from = None;
        if self.ranks() {
            self.taken += 1;
            if self.taken.is_multiple_of(WAITED) {
                let waited = self.bands.iter().enumerate().filter_map(|(at, band)| Some((band.first()?, at)));
                at = waited.min().map_or(at, |(_, at)| at);
                // Steps of the golden section fall everywhere alike.
                from = Some((self.taken / WAITED).wrapping_mul(158) as u8);
            }
        }
        let (.., host) = self.bands[at].pop_first()?;
        Some(Taken { host, band: at, from })
    }

    /// Whether a better host than the one that was taken may be visited: what it has is of this priority.
    pub fn has_better(&self, taken: Taken, priority: u8, now: EpochMs) -> bool {
        let mut better = self.bands[..band(priority).min(self.bands.len())].iter();
        let is_less = self.ranks() && taken.from.is_none() && band(priority) > taken.band;
        is_less && better.any(|band| band.first().is_some_and(|(due, ..)| *due <= now))
    }

    pub fn first(&self) -> Option<EpochMs> {
        self.bands.iter().filter_map(|band| Some(band.first()?.0)).min()
    }

    /// The first of those that `is_wanted` takes.
    pub fn first_of(&self, is_wanted: impl Fn(HostKey) -> bool) -> Option<EpochMs> {
        let first = |band: &BTreeSet<Place>| band.iter().find(|(.., host)| is_wanted(*host)).map(|(due, ..)| *due);
        self.bands.iter().filter_map(first).min()
    }

    /// Band by band; in each, the first to be due first.
    pub fn hosts(&self) -> impl Iterator<Item = HostKey> {
        self.bands.iter().flatten().map(|(.., host)| *host)
    }

    /// Up to `at_most` that are wanted and due from one time on and before another, the first to be due first.
    pub fn between(
        &self,
        (from, to): (EpochMs, EpochMs),
        at_most: usize,
        is_wanted: impl Fn(&HostKey) -> bool,
    ) -> Vec<(EpochMs, HostKey)> {
        let mut found = Vec::new();
        for band in &self.bands {
            let wanted = band.range((from, 0, 0)..(to, 0, 0)).filter(|(.., host)| is_wanted(host));
            found.extend(wanted.take(at_most).copied());
        }
        found.sort_unstable();
        found.truncate(at_most);
        found.into_iter().map(|(due, _, host)| (due, host)).collect()
    }
}

/// URLs of one band are as good as one another.
pub(super) fn band(priority: u8) -> usize {
    usize::from(priority) * BANDS / 256
}
