//! Progress of a sink while it waits for its server. Its cursor does not move during a batch, so the cursor cannot show
//! whether the sink makes progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Cheap to clone: the sink has one, and its observer another.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    moves: AtomicU64,
    filled: AtomicU64,
    was_opened: AtomicBool,
    is_outdated: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Watch {
    /// Reports that something was acknowledged or came closer to it.
    pub fn moved(&self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
        *self.0.trouble.lock() = None;
    }

    /// Reports that the sink's files are in order and that it takes entries.
    pub fn opened(&self) {
        self.0.was_opened.store(true, Ordering::Relaxed);
    }

    /// The sink is to be opened again: its configuration has changed. Told after the new configuration is in force.
    pub(crate) fn outdate(&self) {
        self.0.is_outdated.store(true, Ordering::Relaxed);
    }

    /// From now on it has the configuration that is in force. Called before that is read.
    pub(crate) fn is_up_to_date(&self) {
        self.0.is_outdated.store(false, Ordering::Relaxed);
    }

    pub fn is_outdated(&self) -> bool {
        self.0.is_outdated.load(Ordering::Relaxed)
    }

    /// Whether the sink was opened at least once since the start.
    pub(crate) fn was_opened(&self) -> bool {
        self.0.was_opened.load(Ordering::Relaxed)
    }

    /// Counts settled pages that came from an archive and not from the log.
    pub fn filled(&self, pages: u64) {
        self.0.filled.fetch_add(pages, Ordering::Relaxed);
    }

    /// Number of settled pages from an archive.
    pub(crate) fn pages_filled(&self) -> u64 {
        self.0.filled.load(Ordering::Relaxed)
    }

    /// Reports that nothing can be delivered at the moment, and why.
    pub fn waits(&self, why: impl Into<String>) {
        *self.0.trouble.lock() = Some(why.into());
    }

    /// Number of [`moved`](Watch::moved) calls.
    pub fn moves(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    /// The reason for waiting, if one was reported.
    pub fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().clone()
    }
}
