//! The queues of a host's URLs, and what a lease takes from them.

use super::due::ChosenPosition;
use crate::keys::{HostKey, Rank, UrlKey};
use crate::lease::RETRY_WAITS_MS;
use seine_parse::page::EpochMs;

/// The queue of a URL in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Ready,
    Later(EpochMs),
}

impl Queue {
    pub(crate) fn due(self) -> EpochMs {
        match self {
            Queue::Ready => 0,
            Queue::Later(due) => due,
        }
    }
}

/// A host taken for a lease, and where to read its queues.
#[derive(Debug)]
pub(crate) struct ChosenHost {
    pub lease: u64,
    pub host: HostKey,
    pub head: Rank,
    pub later_first: EpochMs,
    /// Whether `ready` has anything to read, `later` anything that may be due, and whether parked URLs are due.
    pub reads_ready: bool,
    pub reads_later: bool,
    pub reads_parked: bool,
    /// It was given up, and one URL shows whether it answers again.
    pub is_tried_again: bool,
    pub in_flight_ready: usize,
    pub in_flight_later: usize,
    pub(super) epoch: u32,
    pub(super) taken: ChosenPosition,
    /// Further entries of `ready` to read. If links have scores, one shows what is left.
    pub spare: usize,
    /// Some of its URLs are deferred.
    pub has_deferred: bool,
}

impl ChosenHost {
    /// The host has waited longest: read `ready` from here, or from the head if there is nothing.
    pub(crate) fn from(&self) -> Option<Rank> {
        self.taken.from.map(|priority| Rank::new(priority, 0))
    }
}

/// The URLs that a lease read from the store, before URLs in flight are removed.
#[derive(Debug, Default)]
pub(crate) struct Found<T> {
    /// From the head on.
    pub ready: Vec<Candidate<T>>,
    /// By due time: those that are due, and one more if there is one.
    pub later: Vec<Candidate<T>>,
    /// The due time from which `later` was not read; [`super::NEVER`] if it was read completely.
    pub later_unread_from: EpochMs,
}

#[derive(Debug)]
pub(crate) struct Candidate<T> {
    pub url: UrlKey,
    pub rank: Rank,
    pub queue: Queue,
    /// It was fetched before, and is rechecked.
    pub is_revisit: bool,
    /// The queue entry.
    pub item: T,
}

impl<T> Candidate<T> {
    /// It failed before. URLs that were never fetched come first, because a URL that fails again and again would delay
    /// them. But it does not wait for ever.
    pub(crate) fn waits_for_fresh(&self, now: EpochMs) -> bool {
        let is_tried_again = |due: EpochMs| !self.is_revisit && now.saturating_sub(due) < RETRY_WAITS_MS;
        matches!(self.queue, Queue::Later(due) if is_tried_again(due))
    }
}
