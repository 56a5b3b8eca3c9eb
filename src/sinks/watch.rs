//! What a sink that waits for its server shows of itself meanwhile: its place in the log does not move for longer than a
//! batch takes, whether it gets on or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Cheap to clone: the sink holds one, whoever watches it another.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    moves: AtomicU64,
    filled: AtomicU64,
    was_opened: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Watch {
    /// Something was acknowledged, or came closer to it.
    pub fn moved(&self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
        *self.0.trouble.lock() = None;
    }

    /// What it had on a disk is in order, and it takes what comes.
    pub fn opened(&self) {
        self.0.was_opened.store(true, Ordering::Relaxed);
    }

    /// Since the start, once at least.
    pub fn was_opened(&self) -> bool {
        self.0.was_opened.load(Ordering::Relaxed)
    }

    /// So many more pages are settled that are none of the log.
    pub fn filled(&self, pages: u64) {
        self.0.filled.fetch_add(pages, Ordering::Relaxed);
    }

    /// How many those are by now.
    pub fn pages_filled(&self) -> u64 {
        self.0.filled.load(Ordering::Relaxed)
    }

    /// Nothing can be delivered just now, and why.
    pub fn waits(&self, why: impl Into<String>) {
        *self.0.trouble.lock() = Some(why.into());
    }

    /// Grows with every [`moved`](Watch::moved).
    pub fn moves(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    /// What it waits for, as far as it has said.
    pub fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().clone()
    }
}
