//! The page log: `page_proposed`. Append-only segment files; an event is accepted when its record is fsynced.

use std::sync::{Arc, OnceLock};

use crate::page::PageEvent;
use crate::parse::Derived;

/// A place in the log: just behind event number `index` (the first event has index 1), at byte `offset` of the whole log.
/// The default is the log's very beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Position {
    pub index: u64,
    pub offset: u64,
}

/// An accepted event, as readers get it.
#[derive(Debug)]
pub struct Entry {
    /// Behind this entry: what a reader commits when it is done with it.
    pub end: Position,
    pub event: Arc<PageEvent>,
    derived: OnceLock<Arc<Derived>>,
}

impl Entry {
    pub fn new(end: Position, event: Arc<PageEvent>, derived: Option<Arc<Derived>>) -> Entry {
        let cell = OnceLock::new();
        if let Some(derived) = derived {
            let _ = cell.set(derived);
        }
        Entry { end, event, derived: cell }
    }

    /// What the fetch worker derived, or derived now for an entry read back from disk.
    pub fn derived(&self, derive: impl FnOnce(&PageEvent) -> Derived) -> &Arc<Derived> {
        self.derived.get_or_init(|| Arc::new(derive(&self.event)))
    }
}
