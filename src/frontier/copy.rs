//! A frontier as it is at one moment, read to its end while it goes on.

use super::error::FrontierError;
use crate::delivery::Position;

/// A key and its value, as the frontier keeps them.
pub type CopiedRecord = (fjall::Slice, fjall::Slice);

/// Holds up nobody. As long as it is there, the frontier's disk keeps what it shows.
pub trait FrontierCopy {
    /// How far the validator had come in the page log.
    fn cursor(&self) -> Position;

    /// The names of its tables.
    fn tables(&self) -> &'static [&'static str];

    /// A table's records by their keys, each once. Memory: some blocks of the store, however large it is.
    fn records(&self, table: &str) -> Box<dyn Iterator<Item = Result<CopiedRecord, FrontierError>> + '_>;
}
