//! Visits that wait for something that arrives without the crawl's help: a response, a politeness slot, a remote
//! worker's pages. Other waits need a notification from another part of the crawl and should be short (`crawl/stall.rs`
//! watches that).

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts these visits. Cheap to read: `crawl/stall.rs` does it many times a second.
#[derive(Debug, Default)]
pub struct Waits {
    now: AtomicU64,
    begun: AtomicU64,
}

/// One wait, until it is dropped.
pub(super) struct Wait<'w>(&'w Waits);

impl Waits {
    pub(super) fn begin(&self) -> Wait<'_> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.now.fetch_add(1, Ordering::Relaxed);
        Wait(self)
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
