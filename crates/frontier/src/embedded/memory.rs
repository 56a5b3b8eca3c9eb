//! What the frontier keeps in memory beside its store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locks::Mutex;

use super::found::LastLinks;
use super::leases::Leases;
use super::opening::Opening;
use super::reservations::Reservations;
use super::standings::Standings;
use super::visits::Visits;
use crate::FrontierOptions;
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
    /// See [`FrontierOptions::wakes_duplicates`].
    pub wakes_duplicates: bool,
    /// The latest time passed in, stored over restarts.
    pub clock: AtomicU64,
}

/// How much the crawl may know; the maximum value if there is no limit.
#[derive(Default)]
pub struct Limits {
    pages_per_host: AtomicU64,
    hosts_per_domain: AtomicU64,
}

impl Limits {
    pub fn set(&self, options: &FrontierOptions) {
        self.pages_per_host.store(options.max_pages_per_host.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.hosts_per_domain.store(options.max_hosts_per_domain.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn pages_per_host(&self) -> u64 {
        self.pages_per_host.load(Ordering::Relaxed)
    }

    pub fn hosts_per_domain(&self) -> u64 {
        self.hosts_per_domain.load(Ordering::Relaxed)
    }
}
