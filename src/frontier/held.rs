//! URLs that are held: their pattern brings nothing new ([`crate::traps`]), and they wait until they are released. They are in
//! `work_proposed` as any other, and no run waits for them.

use super::trouble::WHEN_MET_AGAIN;
use crate::page::EpochMs;
use crate::traps::HostTraps;

/// When what is held is due: never by itself, and before [`WHEN_MET_AGAIN`]. Behind it there is a time for each mark.
pub const HELD: EpochMs = WHEN_MET_AGAIN - (1 << 33);

/// The priority of what brought nothing so far and may not be held: behind all others of its host.
pub const LAST_OF_ALL: u8 = u8::MAX;

/// When what is held under a mark is due.
pub(super) fn due_of(mark: u32) -> EpochMs {
    HELD + EpochMs::from(mark)
}

/// The mark that a URL with this due time is held under; none: it is not held.
pub fn held_under(due: EpochMs) -> Option<u32> {
    due.checked_sub(HELD).and_then(|mark| u32::try_from(mark).ok())
}

/// What a batch says of traps.
#[derive(Debug, Clone, Default)]
pub struct Traps {
    /// Of the batch's proposals, by their places in ascending order: those that are held if they are new, and under which mark.
    pub held: Vec<(usize, u32)>,
    pub hosts: Vec<HostTrapsChange>,
}

#[derive(Debug, Clone, Default)]
pub struct HostTrapsChange {
    pub origin: String,
    /// What is kept of it from now on; none: what was.
    pub record: Option<Vec<u8>>,
    /// Up to so many URLs that are held under a mark are held no longer, the first proposed first.
    pub release: Vec<(u32, usize)>,
    /// Its queue is looked through from this place on, by its traps as they are.
    pub sweep: Option<(u64, HostTraps)>,
    /// What is let go if the host has nothing else that was never fetched.
    pub drain: Drain,
}

#[derive(Debug, Clone, Default)]
pub struct Drain {
    pub at_most: usize,
    /// Marks that come before all others.
    pub leading: Vec<u32>,
    /// Of a mirror: of whom, and its traps. What the other has, too, is not let go.
    pub mirror: Option<(String, HostTraps)>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrapsDone {
    /// Of the batch's proposals: those that were new, by their places in ascending order.
    pub added: Vec<usize>,
    /// In the order of [`Traps::hosts`].
    pub hosts: Vec<HostTrapsDone>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostTrapsDone {
    /// Marks under which nothing more is held, of those that were asked for.
    pub empty: Vec<u32>,
    /// Where a sweep goes on; none: it has come to the end, or there was none.
    pub swept_to: Option<u64>,
    /// The host had nothing else: how many URLs it held, and how many of them were let go.
    pub drained: Option<(u64, usize)>,
}
