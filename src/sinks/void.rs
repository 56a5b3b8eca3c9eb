//! The sink that keeps nothing: for measuring a crawl, and for crawls whose only fruit is the frontier.

use super::local::{Disposition, LocalStore};
use super::sink::SinkError;
use crate::delivery::Entry;

/// Everything counts as delivered.
pub(super) struct Void;

impl LocalStore for Void {
    fn put(&mut self, _entry: &Entry) -> Result<Disposition, SinkError> {
        Ok(Disposition::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        Ok(serde_json::Value::Null)
    }
}
