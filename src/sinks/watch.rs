//! What a sink that waits for its server shows of itself meanwhile: its place in the log does not move for longer than a
//! batch takes, whether it gets on or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Cheap to clone: the sink holds one, whoever watches it another.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    moves: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Watch {
    /// Something was acknowledged, or came closer to it.
    pub fn moved(&self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
        *self.0.trouble.lock() = None;
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
