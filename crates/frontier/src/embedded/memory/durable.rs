//! The validator's offset that survives a power failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use locks::Mutex;

use crate::FrontierError;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use seine_delivery::Offset;

/// The offset of the last fsync, and whether the store has gone back behind it.
pub(crate) struct DurableCursor {
    store_handle: Arc<ReopenableStore>,
    durable: Mutex<Option<Offset>>,
    /// The store was reopened with less than it had, so the validator must be notified.
    went_back: AtomicBool,
}

impl DurableCursor {
    pub(crate) fn new(store_handle: Arc<ReopenableStore>) -> DurableCursor {
        DurableCursor { store_handle, durable: Mutex::default(), went_back: AtomicBool::new(false) }
    }

    /// Makes this offset durable, if it is not yet.
    pub(crate) fn reach(&self, cursor: Offset) -> Result<(), FrontierError> {
        let mut durable = self.durable.lock();
        if durable.is_none_or(|durable| durable < cursor) {
            self.store_handle.store()?.persist()?;
            *durable = Some(cursor);
        }
        Ok(())
    }

    /// The store was reopened. `goes_back`: it has fewer records than before.
    pub(crate) fn reopened(&self, goes_back: bool) {
        if goes_back {
            self.went_back.store(true, Ordering::Relaxed);
        }
        *self.durable.lock() = None;
    }

    /// An error, once, if the store has gone back: the validator must start again at the stored offset, because its next
    /// batch would leave a gap.
    pub(crate) fn check_rolled_back(&self) -> Result<(), FrontierError> {
        match self.went_back.swap(false, Ordering::Relaxed) {
            true => Err(self.store_handle.waiting("the store has fewer records than before".to_owned())),
            false => Ok(()),
        }
    }
}
