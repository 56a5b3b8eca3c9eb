//! Sinks on this machine: pages are durable after a sync.

use std::sync::Arc;

use seine_delivery::Entry;

use super::sink::{Delivered, Sink, SinkError};
use crate::config::Upkeep;
use crate::judge::upkeep::DeliveryAction;

/// A local store that takes pages at once.
pub(super) trait LocalStore: Send {
    /// Takes an entry. It is durable after the next [`sync`](LocalStore::sync).
    fn put(&mut self, entry: &Entry) -> Result<Disposition, SinkError>;

    /// Makes all entries durable. Returns the state to commit.
    fn sync(&mut self) -> Result<serde_json::Value, SinkError>;

    /// Closes the store.
    fn close(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The result for an entry.
pub(super) enum Disposition {
    Delivered,
    /// The format does not store it, or it is not wanted.
    Skipped,
    /// Stored as a dead letter.
    Dead,
}

/// Stores nothing and counts everything as delivered. For measuring a crawl, and for crawls that only need the
/// frontier.
pub(super) struct Void;

impl LocalStore for Void {
    fn put(&mut self, _entry: &Entry) -> Result<Disposition, SinkError> {
        Ok(Disposition::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        Ok(serde_json::Value::Null)
    }
}

/// The sink for a local store.
pub(super) struct LocalSink<L> {
    store: L,
    upkeep: Upkeep,
    so_far: Delivered,
}

impl<L: LocalStore> LocalSink<L> {
    pub(super) fn new(place: L, upkeep: Upkeep) -> LocalSink<L> {
        LocalSink { store: place, upkeep, so_far: Delivered::default() }
    }
}

impl<L: LocalStore> Sink for LocalSink<L> {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            let fate = match self.upkeep.due(&entry.event) {
                DeliveryAction::Skip => Disposition::Skipped,
                // Local stores delete nothing. For a page that is gone, the format decides whether to store the answer.
                _ => self.store.put(entry)?,
            };
            match fate {
                Disposition::Delivered => self.so_far.delivered += 1,
                Disposition::Skipped => self.so_far.skipped += 1,
                Disposition::Dead => self.so_far.dead += 1,
            }
            self.so_far.up_to = entry.end;
        }
        self.so_far.state = self.store.sync()?;
        Ok(self.so_far.clone())
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.deliver(&[])
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.store.close()
    }
}
