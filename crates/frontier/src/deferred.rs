//! Deferred URLs: their pattern yields nothing new ([`seine_policies::traps`]), so they wait until they are released. They are
//! in `work_proposed` like others, but no run waits for them.

use super::trouble::WHEN_LINKED_AGAIN;
use seine_parse::page::EpochMs;
use seine_policies::traps::HostTraps;

/// The due time of deferred URLs: never reached, and before [`WHEN_LINKED_AGAIN`]. The times after it are for the marks.
pub const DEFERRED: EpochMs = WHEN_LINKED_AGAIN - (1 << 33);

/// The priority of URLs whose pattern has yielded nothing but that may not be deferred: after all others of the host.
pub const LAST_OF_ALL: u8 = u8::MAX;

/// The due time of URLs deferred under a mark.
pub(super) fn due_of(mark: u32) -> EpochMs {
    DEFERRED + EpochMs::from(mark)
}

/// The mark of a due time; none: the URL is not deferred.
pub fn deferred_under(due: EpochMs) -> Option<u32> {
    due.checked_sub(DEFERRED).and_then(|mark| u32::try_from(mark).ok())
}

/// The stored facts of a host that find traps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredTraps {
    /// Pages of the host ever admitted.
    pub pages: u64,
    /// Its trap statistics, as stored by [`crate::Batch::traps`]; none before there were any.
    pub statistics: Option<Vec<u8>>,
}

/// The changes of a batch concerning traps.
#[derive(Debug, Clone, Default)]
pub struct Traps {
    /// Proposals of the batch to be deferred if they are new: positions in ascending order, with their marks.
    pub deferred: Vec<(usize, u32)>,
    pub hosts: Vec<HostTrapsChange>,
}

#[derive(Debug, Clone, Default)]
pub struct HostTrapsChange {
    pub origin: String,
    /// New trap statistics; none: unchanged.
    pub record: Option<Vec<u8>>,
    /// Releases up to this many URLs deferred under each mark, in the order of their proposal.
    pub release: Vec<(u32, usize)>,
    /// Checks its queue from this position with its present traps.
    pub sweep: Option<(u64, HostTraps)>,
    /// The deferred URLs to release if the host has no other URL that was never fetched.
    pub drain: Drain,
}

#[derive(Debug, Clone, Default)]
pub struct Drain {
    pub at_most: usize,
    /// Marks to release first.
    pub leading: Vec<u32>,
    /// How many of `at_most` other marks get nevertheless.
    pub of_others: usize,
    /// For a mirror: the other host, and its traps. URLs that the other host has too are not released.
    pub mirror: Option<(String, HostTraps)>,
}

/// The results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrapsDone {
    /// Positions of new proposals of the batch, in ascending order.
    pub added: Vec<usize>,
    /// In the order of [`Traps::hosts`].
    pub hosts: Vec<HostTrapsDone>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostTrapsDone {
    /// Requested marks without further deferred URLs.
    pub empty: Vec<u32>,
    /// Where the check of the queue continues; none: it is finished, or there was none.
    pub swept_to: Option<u64>,
    /// The host had nothing else: number of deferred URLs, perhaps 0, and of released ones.
    pub drained: Option<(u64, usize)>,
}
