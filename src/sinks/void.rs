//! The sink that keeps nothing: for measuring a crawl, and for crawls whose only fruit is the frontier.

use std::sync::Arc;

use super::{Delivered, Sink, SinkError};
use crate::delivery::Entry;

/// Everything counts as delivered.
#[derive(Debug, Default)]
pub struct VoidSink {
    so_far: Delivered,
}

impl Sink for VoidSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.so_far.delivered += entries.len() as u64;
        if let Some(last) = entries.last() {
            self.so_far.up_to = last.end;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        Ok(self.so_far.clone())
    }

    fn close(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}
