//! The record of a host as stored.

use minicbor::{Decode, Encode};

use crate::Trouble;
use crate::keys::Rank;
use seine_parse::page::EpochMs;
use seine_policies::revisit::Trust;

/// Later than every time.
pub(crate) const NEVER: EpochMs = EpochMs::MAX;

/// The stored record of a host.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct HostRecord {
    /// Counts hosts in the order they were first seen, and orders hosts that are due at the same time.
    #[n(0)]
    pub number: u64,
    #[n(1)]
    pub origin: Box<str>,
    #[n(2)]
    pub not_before: EpochMs,
    #[n(11)]
    pub trouble: Option<Trouble>,
    /// The host's own delay (ms), from its last release.
    #[n(3)]
    pub delay_ms: u64,
    /// Queued URLs that may be fetched any time, and those that wait for a retry or recheck.
    #[n(4)]
    pub ready: u64,
    #[n(5)]
    pub later: u64,
    /// Pages ever admitted, for the limit.
    #[n(6)]
    pub pages: u64,
    /// No URL in `ready` has a lower rank. Reading starts here, to skip deleted entries.
    #[n(7)]
    pub head: Rank,
    /// The first due time in `later`; [`NEVER`] if it is empty.
    #[n(8)]
    pub later_first: EpochMs,
    /// The part of `later` that waits because the host was given up ([`crate::WHEN_LINKED_AGAIN`]).
    #[n(9)]
    pub parked: u64,
    #[n(10)]
    pub has_robots: bool,
    /// Reliability of its hints; boxed, because most hosts have none.
    #[n(12)]
    pub trust: Option<Box<Trust>>,
    /// Blocked by the operator: it is not leased, and its URLs wait.
    #[cbor(n(13), skip_if = "std::ops::Not::not")]
    pub is_blocked: bool,
    /// Delay set by the operator (ms), instead of the configured one.
    #[n(14)]
    pub ordered_delay_ms: Option<u64>,
    /// Maximum number of pages set by the operator, instead of the configured limit.
    #[n(15)]
    pub ordered_pages: Option<u64>,
    /// The deferred part of `later` ([`crate::deferred`]).
    #[cbor(n(16), default, skip_if = "is_none")]
    pub deferred: u64,
    /// The blocked host to which its robots.txt redirected at the last visit.
    #[n(17)]
    pub waits_for: Option<Box<str>>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl HostRecord {
    /// For an unknown host.
    pub fn new(number: u64, origin: Box<str>, not_before: EpochMs) -> HostRecord {
        HostRecord { number, origin, not_before, later_first: NEVER, ..HostRecord::default() }
    }

    pub fn work(&self) -> u64 {
        self.ready + self.later
    }

    /// Takes over changes of leases and releases, which the schedule has first.
    pub(crate) fn take_visits_from(&mut self, now: &HostRecord) {
        self.not_before = now.not_before;
        self.trouble = now.trouble;
        self.delay_ms = now.delay_ms;
        self.has_robots = now.has_robots;
        self.waits_for = now.waits_for.clone();
    }

    /// See [`Counted::waits_for`].
    pub fn waits_for(&self) -> Option<Trouble> {
        self.counted().waits_for()
    }

    pub fn is_given_up(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.given_up)
    }

    /// When the first URL of `later` is due, as far as the store knows.
    pub(super) fn first_later(&self) -> EpochMs {
        self.later_first.min(self.parked_due())
    }

    /// When parked URLs are due: at once if the host is not given up any more.
    pub(super) fn parked_due(&self) -> EpochMs {
        parked_due(self.parked, self.trouble.as_ref())
    }

    pub(super) fn counted(&self) -> Counted {
        Counted {
            work: self.work(),
            ready: self.ready,
            trouble: self.trouble,
            is_blocked: self.is_blocked,
            parked: self.parked,
            has_deferred: self.deferred > 0,
        }
    }
}

/// See [`HostRecord::parked_due`].
pub(super) fn parked_due(parked: u64, trouble: Option<&Trouble>) -> EpochMs {
    if parked == 0 { NEVER } else { trouble.map_or(0, Trouble::tried_again_at) }
}

/// The facts of a host that the counters need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub work: u64,
    pub ready: u64,
    pub trouble: Option<Trouble>,
    pub is_blocked: bool,
    pub parked: u64,
    pub has_deferred: bool,
}

impl Counted {
    /// It has URLs that were never requested, and nothing but its delay keeps them waiting.
    pub(super) fn is_fresh(self) -> bool {
        self.ready > 0 && !self.is_blocked && self.waits_for().is_none()
    }

    /// URLs that wait because the host is given up.
    pub(super) fn given_up(self) -> u64 {
        if self.trouble.is_some_and(|trouble| trouble.given_up) { self.parked } else { 0 }
    }

    /// The trouble that the host's URLs wait for, apart from its delay: the host is in trouble, or many of its URLs
    /// fail together and no new URL is left.
    pub(super) fn waits_for(&self) -> Option<Trouble> {
        let is_left_with_errors = |trouble: &Trouble| trouble.errors.are_many() && !trouble.given_up && self.ready == 0;
        self.trouble.filter(|trouble| trouble.is_the_hosts() || is_left_with_errors(trouble))
    }
}
