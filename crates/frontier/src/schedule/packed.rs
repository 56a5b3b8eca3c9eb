//! A host's record in little memory, because a crawl may know millions of hosts. Rare fields are boxed.

use super::record::{Counted, HostRecord, NEVER, parked_due};
use crate::Trouble;
use crate::keys::Rank;
use seine_parse::page::EpochMs;
use seine_policies::revisit::Trust;

/// A [`HostRecord`], without loss.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub number: u64,
    pub origin: Box<str>,
    pub not_before: EpochMs,
    delay_ms: u32,
    pub ready: u64,
    pub later: u64,
    pages: u64,
    pub head: Rank,
    pub later_first: EpochMs,
    has_robots: bool,
    rare: Option<Box<Rare>>,
}

/// Rare fields.
#[derive(Debug, Default, PartialEq)]
struct Rare {
    trouble: Option<Trouble>,
    parked: u64,
    trust: Option<Box<Trust>>,
    is_blocked: bool,
    ordered_delay_ms: Option<u64>,
    ordered_pages: Option<u64>,
    deferred: u64,
    waits_for: Option<Box<str>>,
    /// The part above `delay_ms`, which ends at 49 days.
    more_delay_ms: u64,
}

impl From<HostRecord> for Packed {
    fn from(record: HostRecord) -> Packed {
        // Destructured by name, so that a new field must be handled here.
        let HostRecord { number, origin, not_before, delay_ms, ready, later, pages, head, later_first, .. } = record;
        let HostRecord { has_robots, trouble, parked, trust, .. } = record;
        let HostRecord { is_blocked, ordered_delay_ms, ordered_pages, deferred: held, waits_for, .. } = record;
        let short_delay = u32::try_from(delay_ms).unwrap_or(u32::MAX);
        let more_delay_ms = delay_ms - u64::from(short_delay);
        let rare = Rare {
            trouble,
            parked,
            trust,
            is_blocked,
            ordered_delay_ms,
            ordered_pages,
            deferred: held,
            waits_for,
            more_delay_ms,
        };
        let rare = (rare != Rare::default()).then(|| Box::new(rare));
        let delay_ms = short_delay;
        Packed { number, origin, not_before, delay_ms, ready, later, pages, head, later_first, has_robots, rare }
    }
}

impl Packed {
    pub(super) fn record(&self) -> HostRecord {
        let none = Rare::default();
        let rare = self.rare.as_deref().unwrap_or(&none);
        let Rare { trouble, parked, trust, is_blocked, ordered_delay_ms, ordered_pages, .. } = rare;
        let Rare { deferred: held, waits_for, more_delay_ms, .. } = rare;
        HostRecord {
            number: self.number,
            origin: self.origin.clone(),
            not_before: self.not_before,
            trouble: *trouble,
            delay_ms: u64::from(self.delay_ms) + more_delay_ms,
            ready: self.ready,
            later: self.later,
            pages: self.pages,
            head: self.head,
            later_first: self.later_first,
            parked: *parked,
            has_robots: self.has_robots,
            trust: trust.clone(),
            is_blocked: *is_blocked,
            ordered_delay_ms: *ordered_delay_ms,
            ordered_pages: *ordered_pages,
            deferred: *held,
            waits_for: waits_for.clone(),
        }
    }

    pub(super) fn waits_for(&self) -> Option<&str> {
        self.rare.as_ref()?.waits_for.as_deref()
    }

    pub(super) fn work(&self) -> u64 {
        self.ready + self.later
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.rare.as_ref()?.trouble
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.is_blocked)
    }

    pub(super) fn deferred(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.deferred)
    }

    /// See [`HostRecord::parked_due`].
    pub(super) fn parked_due(&self) -> EpochMs {
        self.rare.as_ref().map_or(NEVER, |rare| parked_due(rare.parked, rare.trouble.as_ref()))
    }

    /// See [`Trouble::is_tried_again`].
    pub(super) fn is_tried_again(&self, now: EpochMs) -> bool {
        self.trouble().is_some_and(|trouble| trouble.is_tried_again(now))
    }

    /// See [`HostRecord::first_later`].
    pub(super) fn first_later(&self) -> EpochMs {
        self.later_first.min(self.parked_due())
    }

    pub(super) fn counted(&self) -> Counted {
        Counted {
            work: self.work(),
            ready: self.ready,
            trouble: self.trouble(),
            is_blocked: self.is_blocked(),
            parked: self.rare.as_ref().map_or(0, |rare| rare.parked),
            has_deferred: self.deferred() > 0,
        }
    }
}
