//! The parts of the frontier that are in memory, beside its store. Each part owns its data and its lock.

mod alias_reservations;
pub(super) mod budget_reservations;
mod content_reservations;
pub(super) mod deferred_starts;
pub(super) mod durable;
pub(super) mod known;
pub(super) mod last_links;
pub(super) mod leases;
pub(super) mod ledger;
pub(super) mod limits;
pub(super) mod opening;
pub(super) mod priority_cache;
pub(super) mod reservations;
pub(super) mod slots;
pub(super) mod visits;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use locks::Mutex;

use crate::keys::Keys;
use crate::schedule::Schedule;
use deferred_starts::DeferredStarts;
use known::Known;
use last_links::LastLinks;
use leases::Leases;
use limits::Limits;
use opening::Opening;
use priority_cache::PriorityCache;
use reservations::Reservations;
use visits::Visits;

/// The parts, each with its own lock.
pub(super) struct Memory {
    pub keys: Keys,
    pub opening: Opening,
    pub limits: Limits,
    pub schedule: Arc<Mutex<Schedule>>,
    pub visits: Visits,
    pub leases: Leases,
    pub reservations: Arc<Reservations>,
    pub last_links: Mutex<LastLinks>,
    pub priorities: Mutex<PriorityCache>,
    /// See [`crate::FrontierOptions::wakes_duplicates`].
    pub wakes_duplicates: bool,
    /// The latest time passed in, stored over restarts.
    pub clock: AtomicU64,
}

/// The writer of the store remembers this of it, and so reads less. Empty after the store was opened.
#[derive(Debug, Default)]
pub(super) struct WriterCache {
    pub known: Known,
    pub deferred: DeferredStarts,
}
