//! Destinations on this machine: what they are given is durable once they are synced.

use std::sync::Arc;

use super::sink::{Delivered, Sink, SinkError};
use super::upkeep::Due;
use crate::config::Upkeep;
use crate::delivery::Entry;

/// A place for pages that answers at once.
pub(super) trait LocalStore: Send {
    /// Takes one entry, durable with the next [`sync`](LocalStore::sync).
    fn put(&mut self, entry: &Entry) -> Result<Disposition, SinkError>;

    /// Makes everything durable that was put. Returns the state to commit with it.
    fn sync(&mut self) -> Result<serde_json::Value, SinkError>;

    /// Ends cleanly.
    fn close(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// What became of an entry.
pub(super) enum Disposition {
    Delivered,
    /// Not held by the format, or not wanted.
    Skipped,
    /// In the dead letters.
    Dead,
}

/// Keeps nothing, and everything counts as delivered: for measuring a crawl, and for crawls whose only fruit is the frontier.
pub(super) struct Void;

impl LocalStore for Void {
    fn put(&mut self, _entry: &Entry) -> Result<Disposition, SinkError> {
        Ok(Disposition::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        Ok(serde_json::Value::Null)
    }
}

/// The sink of such a place.
pub(super) struct LocalSink<L> {
    place: L,
    upkeep: Upkeep,
    so_far: Delivered,
}

impl<L: LocalStore> LocalSink<L> {
    pub fn new(place: L, upkeep: Upkeep) -> LocalSink<L> {
        LocalSink { place, upkeep, so_far: Delivered::default() }
    }
}

impl<L: LocalStore> Sink for LocalSink<L> {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            let fate = match self.upkeep.due(&entry.event) {
                Due::Skip => Disposition::Skipped,
                // Nothing is taken away here: of a page that is gone, the format decides whether it holds the answer.
                _ => self.place.put(entry)?,
            };
            match fate {
                Disposition::Delivered => self.so_far.delivered += 1,
                Disposition::Skipped => self.so_far.skipped += 1,
                Disposition::Dead => self.so_far.dead += 1,
            }
            self.so_far.up_to = entry.end;
        }
        self.so_far.state = self.place.sync()?;
        Ok(self.so_far.clone())
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.deliver(&[])
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.place.close()
    }
}
