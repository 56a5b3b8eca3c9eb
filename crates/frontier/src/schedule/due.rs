//! Hosts by due time. If links have scores, hosts are in bands by their best queued URL: the most promising due host
//! comes first, and within a band the one due first. Now and then the host that has waited longest comes first, in any
//! band, so that no host starves and low scores can prove wrong.
//!
//! Hosts of a recently served domain wait with their domain instead ([`super::domain_queues`]), from the moment when they
//! are due.

use std::collections::BTreeSet;

use super::domain_queues::{DomainPosition, DomainQueues, HostPosition};
use crate::keys::{DomainKey, HostKey};
use seine_parse::page::EpochMs;

/// Number of bands, if links have scores.
const BANDS: usize = 16;
/// The band of a host that has only rechecks and retries.
const LATER: usize = 8;
/// One host in this many is the one that has waited longest.
const WAITED: u64 = 24;
/// If links have scores, a domain with more than one in this many leases comes after domains with fewer.
const SHARE: usize = 4;
/// A worker is reserved for other domains if one of their hosts is due within this time.
const SOON_MS: EpochMs = 10_000;

#[derive(Debug)]
pub(super) struct Due {
    /// A single one if links have no scores.
    bands: Vec<BTreeSet<HostPosition>>,
    /// Hosts of recently served domains, until they are due, with their bands.
    soon: BTreeSet<(HostPosition, u8)>,
    pub domains: DomainQueues,
    taken: u64,
}

/// Where a due host waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsWith {
    /// By its own due time: its domain was not served recently when it was listed.
    Alone,
    /// With its domain, as soon as it is due.
    Soon,
    WithDomain,
}

impl Listed {
    pub(super) fn with_its_domain(self) -> Listed {
        Listed { waits: WaitsWith::WithDomain, ..self }
    }

    /// Whether it has the same due time and band, wherever it waits.
    pub(super) fn is_as(self, other: Listed) -> bool {
        (self.due, self.band) == (other.due, other.band)
    }
}

/// The list entry of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub due: EpochMs,
    band: u8,
    waits: WaitsWith,
}

/// The chosen host.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChosenPosition {
    pub host: HostKey,
    band: usize,
    /// It has waited longest: take the first URL at or after this priority.
    pub from: Option<u8>,
}

/// The worker that a host is chosen for.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkerSupply {
    /// Number of leased hosts and free workers.
    pub workers: usize,
    /// It is one of the last workers, reserved for domains without leases if there are any.
    pub is_spared: bool,
}

/// The next host.
#[derive(Debug)]
pub(super) enum NextHost {
    /// By its own due time.
    Due(ChosenPosition, Listed),
    /// By its domain.
    Domain(ChosenPosition),
}

impl Default for Due {
    fn default() -> Due {
        Due::new(false)
    }
}

impl Due {
    pub(super) fn new(ranks: bool) -> Due {
        let bands = vec![BTreeSet::new(); if ranks { BANDS } else { 1 }];
        Due { bands, soon: BTreeSet::new(), domains: DomainQueues::default(), taken: 0 }
    }

    /// Switches scores on or off, and lists all hosts again.
    pub(super) fn rank(&mut self, ranks: bool) {
        let mut domains = std::mem::take(&mut self.domains);
        domains.clear_waiting();
        *self = Due { domains, ..Due::new(ranks) };
    }

    pub(super) fn ranks(&self) -> bool {
        self.bands.len() > 1
    }

    /// `best`: the priority of the best queued URL; none: only rechecks and retries are queued.
    pub(super) fn entry(&self, due: EpochMs, best: Option<u8>, domain: DomainKey) -> Listed {
        let band = if self.ranks() { best.map_or(LATER, band) } else { 0 };
        let waits = if self.domains.has(domain) { WaitsWith::Soon } else { WaitsWith::Alone };
        Listed { due, band: band as u8, waits }
    }

    /// The first host of a recently served domain that is due now, and does not wait with its domain yet.
    pub(super) fn first_soon(&self, now: EpochMs) -> Option<(HostKey, Listed)> {
        let ((due, _, host), band) = *self.soon.first()?;
        (due <= now).then_some((host, Listed { due, band, waits: WaitsWith::Soon }))
    }

    /// `domain`: of a host that waits with it.
    pub(super) fn insert(&mut self, listed: Listed, number: u64, host: HostKey, domain: impl FnOnce() -> DomainKey) {
        let position = (listed.due, number, host);
        match listed.waits {
            WaitsWith::Alone => _ = self.bands[usize::from(listed.band)].insert(position),
            WaitsWith::Soon => _ = self.soon.insert((position, listed.band)),
            WaitsWith::WithDomain => self.domains.insert(domain(), listed.band, position),
        }
    }

    pub(super) fn remove(&mut self, listed: Listed, number: u64, host: HostKey, domain: impl FnOnce() -> DomainKey) {
        let position = (listed.due, number, host);
        match listed.waits {
            WaitsWith::Alone => _ = self.bands[usize::from(listed.band)].remove(&position),
            WaitsWith::Soon => _ = self.soon.remove(&(position, listed.band)),
            WaitsWith::WithDomain => self.domains.remove(domain(), listed.band, position),
        }
    }

    /// A host will be chosen.
    pub(super) fn begin(&mut self) {
        self.taken += 1;
    }

    /// The next host, if one is due. It stays listed.
    pub(super) fn next(&self, now: EpochMs, room: WorkerSupply) -> Option<NextHost> {
        let is_longest = self.is_longest();
        let due = self.bands.iter().enumerate().filter_map(|(at, band)| Some((at, *band.first()?)));
        let mut due = due.filter(|(_, (due, ..))| *due <= now);
        // By band, or by waiting time.
        let due = match is_longest {
            false => due.next(),
            true => due.min_by_key(|(at, position)| (*position, *at)),
        };
        let domain_position = self.next_position(now, room, due.is_some());
        match due {
            Some((at, position))
                if domain_position.is_none_or(|of_domain| is_before((at, position), of_domain, is_longest)) =>
            {
                let listed = Listed { due: position.0, band: at as u8, waits: WaitsWith::Alone };
                Some(NextHost::Due(self.taken(position, at), listed))
            }
            _ => self.at_position(domain_position?, now).map(NextHost::Domain),
        }
    }

    /// The same, only for hosts that wait with their domains.
    pub(super) fn next_domain(&self, now: EpochMs, room: WorkerSupply) -> Option<ChosenPosition> {
        self.at_position(self.next_position(now, room, false)?, now)
    }

    /// The next domain. `has_due`: a host that waits by its own due time is available too.
    fn next_position(&self, now: EpochMs, room: WorkerSupply, has_due: bool) -> Option<DomainPosition> {
        let bands = self.bands.len() as u8;
        if room.is_spared && self.has_others(now) {
            return self.domains.first(bands, 1);
        }
        let share = match self.ranks() {
            true => u32::try_from((room.workers / SHARE).max(1)).unwrap_or(u32::MAX),
            false => u32::MAX,
        };
        let of_domain = match self.is_longest() {
            false => self.domains.first(bands, share),
            true => self.domains.least(bands).filter(|of_domain| of_domain.1 < share),
        };
        of_domain.or_else(|| self.domains.least(bands).filter(|_| !has_due))
    }

    fn at_position(&self, of_domain: DomainPosition, now: EpochMs) -> Option<ChosenPosition> {
        let position = self.domains.first_of(of_domain).filter(|(due, ..)| *due <= now)?;
        Some(self.taken(position, usize::from(of_domain.0)))
    }

    /// Whether the host that has waited longest comes now.
    fn is_longest(&self) -> bool {
        self.ranks() && self.taken.is_multiple_of(WAITED)
    }

    fn taken(&self, (.., host): HostPosition, band: usize) -> ChosenPosition {
        // Steps by the golden ratio cover the range evenly.
        let from = self.is_longest().then(|| (self.taken / WAITED).wrapping_mul(158) as u8);
        ChosenPosition { host, band, from }
    }

    /// Whether more than one domain has work soon.
    fn has_others(&self, now: EpochMs) -> bool {
        let mut firsts = self.bands.iter().filter_map(|band| band.first()).chain(self.soon.first().map(|(it, _)| it));
        self.domains.active() > 1 || firsts.any(|(due, ..)| *due <= now + SOON_MS)
    }

    /// Whether a better host than the chosen one, whose best URL has this priority, may be visited.
    pub(super) fn has_better(&self, taken: ChosenPosition, priority: u8, now: EpochMs) -> bool {
        let band = band(priority).min(self.bands.len());
        let mut better = self.bands[..band].iter();
        let is_less = self.ranks() && taken.from.is_none() && band > taken.band;
        is_less
            && (better.any(|band| band.first().is_some_and(|(due, ..)| *due <= now))
                || self.domains.first(band as u8, 1).is_some())
    }

    pub(super) fn first(&self) -> Option<EpochMs> {
        let firsts = self.bands.iter().filter_map(|band| band.first()).chain(self.soon.first().map(|(it, _)| it));
        firsts.map(|(due, ..)| *due).chain(self.domains.first_due(self.bands.len() as u8)).min()
    }

    /// The due time of the first host accepted by `is_wanted`.
    pub(super) fn first_of(&self, is_wanted: impl Fn(HostKey) -> bool) -> Option<EpochMs> {
        let is_one = |position: &&HostPosition| is_wanted(position.2);
        let soon = self.soon.iter().map(|(position, _)| position).find(is_one);
        let listed = self.bands.iter().filter_map(|band| band.iter().find(is_one)).chain(soon);
        listed.chain(self.domains.waiting().find(is_one)).map(|(due, ..)| *due).min()
    }

    /// Band by band, in the order of due times. Then those of recently served domains.
    pub(super) fn hosts(&self) -> impl Iterator<Item = HostKey> {
        let soon = self.soon.iter().map(|(position, _)| position);
        self.bands.iter().flatten().chain(soon).chain(self.domains.waiting()).map(|(.., host)| *host)
    }

    /// Up to `at_most` accepted hosts due in a time range, first due first. `from` is in the future, since hosts that
    /// wait with a domain are due.
    pub(super) fn between(
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
        let soon = self.soon.range(((from, 0, 0), 0)..((to, 0, 0), 0)).map(|(position, _)| position);
        found.extend(soon.filter(|(.., host)| is_wanted(host)).take(at_most).copied());
        found.sort_unstable();
        found.truncate(at_most);
        found.into_iter().map(|(due, _, host)| (due, host)).collect()
    }
}

/// Whether a host comes before a domain. The host's domain has no leases.
fn is_before((band, (due, number, _)): (usize, HostPosition), of_domain: DomainPosition, is_longest: bool) -> bool {
    let (domain_band, leases, since, domain_number, _) = of_domain;
    let (band, domain_band) = if is_longest { (0, 0) } else { (band, usize::from(domain_band)) };
    (band, 0, due, number) < (domain_band, leases, since, domain_number)
}

/// URLs of one band are equally good.
pub(super) fn band(priority: u8) -> usize {
    usize::from(priority) * BANDS / 256
}
