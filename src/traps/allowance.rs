//! How much of what waits is asked for after all, so that what ends is complete, and what does not has a bounded share.
//!
//! Until its host has nothing else it is one URL now and then. Then it is asked for in portions. A portion that leads to less than it
//! took is free: what shrinks comes to its end. One that leads to as much again is charged, and with that the allowance is spent.

use minicbor::{Decode, Encode};

/// What may be spent of any host, and of a large one: one of so many fetches. What it took to see that a pattern brings nothing is
/// spent, too.
const LEAST: u32 = 512;
const ONE_OF: u32 = 12;
/// URLs that are asked for at once.
const PORTION: u32 = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct Allowance {
    #[n(0)]
    pub(super) fetches: u32,
    #[n(1)]
    spent: u32,
    /// The portion under way: what was held before, and how much was let go.
    #[n(2)]
    held: u64,
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

    /// Whether one may be asked for while its host has others: half is for when it has none.
    pub(super) fn is_for_more(&self) -> bool {
        self.spent < self.whole() / 2
    }

    pub(super) fn spend(&mut self, count: u32) {
        self.spent = self.spent.saturating_add(count);
    }

    /// How much may be let go of a host that has nothing else.
    pub(super) fn portion(&self) -> usize {
        self.left().min(PORTION) as usize
    }

    /// So many were held, and so many of them were let go. The portion before is done with.
    pub(super) fn released(&mut self, held: u64, released: usize) {
        let grown = (held + u64::from(self.released)).saturating_sub(self.held);
        self.spend(u32::try_from(grown).unwrap_or(u32::MAX).min(self.released));
        (self.held, self.released) = (held, released as u32);
    }
}
