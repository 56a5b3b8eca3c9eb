//! Limits how many deferred URLs of a host are fetched after all. Finite sets of pages are fetched completely; endless
//! ones get a bounded share.
//!
//! While its host has other URLs, a deferred URL is fetched now and then. When the host has nothing else, deferred URLs
//! are released in portions. A portion is free if the number of deferred URLs falls to a new low since its
//! maximum, because then the set comes to an end. Of the other portions, as many URLs are charged to the allowance as they
//! discovered.
//!
//! An allowance that was charged comes back in two ways. The last portion of a set that came to its end is given back.
//! And in a crawl that fetches its pages again and again, the allowance is renewed once per interval, so that a long
//! finite set is complete after some intervals.

use std::time::Duration;

use minicbor::{Decode, Encode};
use seine_parse::page::EpochMs;

/// The allowance of a host: the configured number of URLs, or for a large host one in `ONE_OF` of its fetches. The
/// fetches it took to detect an unproductive pattern are charged as well.
const ONE_OF: u32 = 12;
/// Number of URLs released at once.
const PORTION: u32 = 64;
/// In each interval, up to one in `RENEWED_ONE_OF` of the host's requests may go to deferred patterns, rechecks
/// included, and in any case `RENEWED_LEAST` URLs may be released.
const RENEWED_ONE_OF: u32 = 8;
const RENEWED_LEAST: u32 = 32;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct Allowance {
    /// Of new URLs.
    #[n(0)]
    pub(super) fetches: u32,
    #[n(1)]
    spent: u32,
    /// The current portion: how many URLs were deferred before it, and how many it released.
    #[n(2)]
    deferred: u64,
    #[n(3)]
    released: u32,
    /// The highest number of deferred URLs before a portion, and the lowest one after that.
    #[cbor(n(4), default)]
    most: u64,
    #[cbor(n(5), default)]
    fewest: u64,
    #[cbor(n(6), default)]
    interval: Interval,
    /// The configured number of URLs.
    #[cbor(n(7), default)]
    pub(super) least: u32,
}

/// The requests since the allowance was last renewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
struct Interval {
    /// 0: not yet known.
    #[n(0)]
    begins: EpochMs,
    #[n(1)]
    requests: u32,
    /// Of these, for URLs of deferred patterns.
    #[n(2)]
    unproductive: u32,
}

impl Allowance {
    fn whole(&self) -> u32 {
        self.least.max(self.fetches / ONE_OF)
    }

    pub(super) fn left(&self) -> u32 {
        self.whole().saturating_sub(self.spent)
    }

    /// Whether a deferred URL may be fetched while its host has others. Half of the allowance is reserved for when it
    /// has none.
    pub(super) fn is_for_more(&self) -> bool {
        self.spent < self.whole() / 2
    }

    pub(super) fn spend(&mut self, count: u32) {
        self.spent = self.spent.saturating_add(count).min(self.whole());
    }

    pub(super) fn give_back(&mut self, count: u32) {
        self.spent = self.spent.saturating_sub(count);
    }

    /// At most one portion is left.
    pub(super) fn is_nearly_spent(&self) -> bool {
        self.left() <= PORTION
    }

    /// How many URLs may be released if the host has nothing else.
    pub(super) fn portion(&self) -> usize {
        self.left().min(PORTION) as usize
    }

    /// Starts the next portion: `released` of `held` URLs are released. Charges the previous portion.
    pub(super) fn released(&mut self, held: u64, released: usize) {
        let grown = (held + u64::from(self.released)).saturating_sub(self.deferred);
        if held >= self.fewest {
            self.spend(u32::try_from(grown).unwrap_or(u32::MAX).min(self.released));
        }
        self.fewest = if held > self.most { held } else { self.fewest.min(held) };
        self.most = self.most.max(held);
        (self.deferred, self.released) = (held, released as u32);
    }

    /// Nothing is deferred after the last portion, which is given back. Not all that was spent is: a single page of an
    /// endless trap that is fetched again later also leaves nothing deferred. Returns whether anything changed.
    pub(super) fn ended(&mut self) -> bool {
        let before = *self;
        self.give_back(self.released);
        (self.deferred, self.released, self.most, self.fewest) = (0, 0, 0, 0);
        *self != before
    }

    /// Counts any request of the host, new URL or recheck. If an interval is over, renews the allowance. Returns
    /// whether an interval began.
    pub(super) fn asked(&mut self, is_unproductive: bool, now: EpochMs, every: Duration) -> bool {
        let Interval { begins, requests, unproductive } = &mut self.interval;
        *requests = requests.saturating_add(1);
        *unproductive = unproductive.saturating_add(u32::from(is_unproductive));
        let is_known = (1..=now).contains(begins);
        if is_known && u128::from(now - *begins) < every.as_millis() {
            return false;
        }
        let share = (*requests / RENEWED_ONE_OF).saturating_sub(*unproductive);
        self.interval = Interval { begins: now, ..Interval::default() };
        if is_known {
            self.give_back(share.max(RENEWED_LEAST));
        }
        true
    }
}
