//! The limits on the numbers of known URLs, hosts, and hosts per domain.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::FrontierOptions;

/// The maximum value if there is no limit.
#[derive(Default)]
pub(crate) struct Limits {
    pages_per_host: AtomicU64,
    hosts_per_domain: AtomicU64,
    lowers_depths: AtomicBool,
}

impl Limits {
    pub(crate) fn set(&self, options: &FrontierOptions) {
        self.pages_per_host.store(options.max_pages_per_host.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.hosts_per_domain.store(options.max_hosts_per_domain.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.lowers_depths.store(options.lowers_depths, Ordering::Relaxed);
    }

    pub(crate) fn pages_per_host(&self) -> u64 {
        self.pages_per_host.load(Ordering::Relaxed)
    }

    pub(crate) fn hosts_per_domain(&self) -> u64 {
        self.hosts_per_domain.load(Ordering::Relaxed)
    }

    /// See [`FrontierOptions::lowers_depths`].
    pub(crate) fn lowers_depths(&self) -> bool {
        self.lowers_depths.load(Ordering::Relaxed)
    }
}
