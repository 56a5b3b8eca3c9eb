//! Visits that wait for something that arrives without the crawl's help: a response, a politeness slot, a remote
//! worker's pages. Other waits need a notification from another part of the crawl and should be short (`crawl/stall.rs`
//! watches that).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Maximum number of hosts that fetch a file of one other host at a time. If that host is silent, it holds so many workers.
const MOST_AT_ONE_HOST: usize = 4;

/// Counts these visits. Cheap to read: `crawl/stall.rs` does it many times a second.
#[derive(Debug, Default)]
pub struct Waits {
    now: AtomicU64,
    begun: AtomicU64,
    /// Number of hosts that fetch a file of another host, because theirs redirects there, by that host's origin.
    elsewhere: Mutex<HashMap<String, usize>>,
}

/// A file is fetched from another host, until this is dropped.
pub(super) struct Elsewhere<'w> {
    waits: &'w Waits,
    origin: String,
}

/// One wait, until it is dropped.
pub(super) struct Wait<'w>(&'w Waits);

impl Waits {
    pub(super) fn begin(&self) -> Wait<'_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.now.fetch_add(1, Ordering::Relaxed);
        Wait(self)
    }

    /// Begins to fetch a file from another host. None: too many hosts do so.
    pub(super) fn go_elsewhere(&self, origin: String) -> Option<Elsewhere<'_>> {
        let mut elsewhere = self.elsewhere.lock();
        let hosts = elsewhere.entry(origin.clone()).or_default();
        (*hosts < MOST_AT_ONE_HOST).then(|| {
            *hosts += 1;
            Elsewhere { waits: self, origin }
        })
    }

    pub(crate) fn are_any(&self) -> bool {
        self.now.load(Ordering::Relaxed) > 0
    }

    /// Number of waits since the start.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Elsewhere<'_> {
    fn drop(&mut self) {
        let mut elsewhere = self.waits.elsewhere.lock();
        if let Some(hosts) = elsewhere.get_mut(&self.origin) {
            *hosts -= 1;
            if *hosts == 0 {
                elsewhere.remove(&self.origin);
            }
        }
    }
}
