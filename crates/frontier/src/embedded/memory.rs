//! What the frontier keeps in memory beside its store.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use locks::Mutex;

use super::last_links::LastLinks;
use super::leases::Leases;
use super::limits::Limits;
use super::opening::Opening;
use super::reservations::Reservations;
use super::standings::Standings;
use super::visits::Visits;
use crate::keys::Keys;
use crate::schedule::Schedule;

/// The parts, each with its own lock.
pub struct Memory {
    pub keys: Keys,
    pub opening: Opening,
    pub limits: Limits,
    pub schedule: Arc<Mutex<Schedule>>,
    pub visits: Visits,
    pub leases: Leases,
    pub reservations: Arc<Reservations>,
    pub last_links: Mutex<LastLinks>,
    pub standings: Mutex<Standings>,
    /// See [`crate::FrontierOptions::wakes_duplicates`].
    pub wakes_duplicates: bool,
    /// The latest time passed in, stored over restarts.
    pub clock: AtomicU64,
}
