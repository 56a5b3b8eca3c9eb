//! Limits how many deferred URLs of a host are fetched after all. Finite sets of pages are fetched completely; endless
//! ones get a bounded share.
//!
//! While its host has other URLs, a deferred URL is fetched now and then. When the host has nothing else, deferred URLs
//! are released in portions. A portion that discovers fewer URLs than it used is free, since such a set comes to an
//! end. The other portions are charged to the allowance.

use minicbor::{Decode, Encode};

/// The allowance of a host: `LEAST` URLs, or for a large host one in `ONE_OF` of its fetches. The fetches it took to
/// detect an unproductive pattern are charged as well.
const LEAST: u32 = 512;
const ONE_OF: u32 = 12;
/// Number of URLs released at once.
const PORTION: u32 = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct Allowance {
    #[n(0)]
    pub(super) fetches: u32,
    #[n(1)]
    spent: u32,
    /// The current portion: how many URLs were deferred before it, and how many it released.
    #[n(2)]
    deferred: u64,
    #[n(3)]
    released: u32,
}

impl Allowance {
    fn whole(&self) -> u32 {
        LEAST.max(self.fetches / ONE_OF)
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
        self.spent = self.spent.saturating_add(count);
    }

    /// How many URLs may be released if the host has nothing else.
    pub(super) fn portion(&self) -> usize {
        self.left().min(PORTION) as usize
    }

    /// Starts the next portion: `released` of `held` URLs are released. Charges the previous portion.
    pub(super) fn released(&mut self, held: u64, released: usize) {
        let grown = (held + u64::from(self.released)).saturating_sub(self.deferred);
        self.spend(u32::try_from(grown).unwrap_or(u32::MAX).min(self.released));
        (self.deferred, self.released) = (held, released as u32);
    }
}
