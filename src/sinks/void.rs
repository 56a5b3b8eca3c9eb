//! The sink that keeps nothing: for measuring a crawl, and for crawls whose only fruit is the frontier.

use super::local::{Fate, Local};
use super::sink::SinkError;
use crate::delivery::Entry;

/// Everything counts as delivered.
pub(super) struct Void;

impl Local for Void {
    fn put(&mut self, _entry: &Entry) -> Result<Fate, SinkError> {
        Ok(Fate::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        Ok(serde_json::Value::Null)
    }

    fn close(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}
