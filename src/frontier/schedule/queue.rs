//! The queues that the URLs of a host lie in, and what a lease takes out of them.

use super::due::Taken;
use crate::frontier::keys::{HostKey, Rank, UrlKey};
use crate::frontier::lease::RETRY_WAITS_MS;
use crate::page::EpochMs;

/// Which queue a URL in flight lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    Ready,
    Later(EpochMs),
}

impl Queue {
    pub fn due(self) -> EpochMs {
        match self {
            Queue::Ready => 0,
            Queue::Later(due) => due,
        }
    }
}

/// A host taken out for a lease, and where to read its queues.
#[derive(Debug)]
pub struct Claim {
    pub lease: u64,
    pub host: HostKey,
    pub head: Rank,
    pub later_first: EpochMs,
    /// Whether there is anything to read in each queue; of `later`, whether what is parked is due.
    pub reads_ready: bool,
    pub reads_later: bool,
    pub reads_parked: bool,
    pub in_flight_ready: usize,
    pub in_flight_later: usize,
    pub(super) epoch: u32,
    pub(super) taken: Taken,
    /// Entries of `ready` beyond what can be needed: where links are ranked one tells what is left.
    pub spare: usize,
    /// Some of its URLs are held.
    pub has_held: bool,
}

impl Claim {
    /// The host has waited for longest: `ready` is read from here on, or from the head if nothing is there.
    pub fn from(&self) -> Option<Rank> {
        self.taken.from.map(|priority| Rank::new(priority, 0))
    }
}

/// What a lease found in the store, to be settled against what is in flight.
#[derive(Debug, Default)]
pub struct Found<T> {
    /// From the head on.
    pub ready: Vec<Candidate<T>>,
    /// In order of due time; those that are due, and one more if there is one.
    pub later: Vec<Candidate<T>>,
    /// The due time from which `later` was not read; [`super::NEVER`] when it was read to its end.
    pub later_unread_from: EpochMs,
}

#[derive(Debug)]
pub struct Candidate<T> {
    pub url: UrlKey,
    pub rank: Rank,
    pub queue: Queue,
    /// Fetched before, and looked at again.
    pub is_revisit: bool,
    /// What the queue keeps of it.
    pub item: T,
}

impl<T> Candidate<T> {
    /// It failed before. What was never asked for comes first: a URL that fails again and again would keep the others waiting. But it
    /// does not wait for ever.
    pub fn waits_for_fresh(&self, now: EpochMs) -> bool {
        let is_tried_again = |due: EpochMs| !self.is_revisit && now.saturating_sub(due) < RETRY_WAITS_MS;
        matches!(self.queue, Queue::Later(due) if is_tried_again(due))
    }
}
