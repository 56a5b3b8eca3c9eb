//! The interface of a sink to the code that drives it.

use std::path::PathBuf;
use std::sync::Arc;

use seine_delivery::large;
use seine_delivery::{Entry, Offset};

use super::watch::Watch;
use crate::shutdown::Shutdown;

/// A destination. One thread drives it. After a failed call it must not be used again, since its state no longer
/// matches what was acknowledged. Build a new one from the saved state.
pub trait Sink: Send {
    /// Takes entries in order. Blocks while it writes. Returns what is durable at the destination now. It may be less
    /// than what was taken; the rest is in flight until a later `deliver` or `flush`.
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError>;

    /// Waits until everything taken is durable at the destination. If the server does not answer, it may return early
    /// with what is durable, so that the caller can check for shutdown. The caller then calls it again.
    fn flush(&mut self) -> Result<Delivered, SinkError>;

    /// Closes files and connections. Called after `flush`.
    fn close(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The environment of a sink.
#[derive(Clone)]
pub struct SinkContext {
    /// The sink's own folder.
    pub folder: PathBuf,
    /// Folder for dead letters. It is a different one when dead letters are being replayed.
    pub letters: PathBuf,
    /// At shutdown, a sink that waits for a server stops waiting, and [`Sink::flush`] returns what is durable.
    pub shutdown: Shutdown,
    /// Where a sink reports progress while it waits for a server.
    pub watch: Watch,
    /// Whether to write notes about where pages are.
    pub records_locations: bool,
}

impl SinkContext {
    /// Uses one folder for everything; nobody watches the progress.
    pub fn new(folder: impl Into<PathBuf>) -> SinkContext {
        let folder = folder.into();
        let letters = folder.clone();
        SinkContext {
            folder,
            letters,
            shutdown: Shutdown::default(),
            watch: Watch::default(),
            records_locations: false,
        }
    }
}

/// The progress of a sink. It is committed with its cursor in one atomic write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delivered {
    /// Everything before it is delivered, skipped or dead. The default if nothing was taken.
    pub up_to: Offset,
    /// Counts since the sink was built: entries delivered, entries that the format does not store, and entries rejected
    /// for good.
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    /// The state from which the sink is built again (FILES: the open file and its length).
    pub state: serde_json::Value,
}

/// Empties a buffer for the next page, and frees the extra memory of a large page.
pub(super) fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(large::SMALL as usize);
}

#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("{action} {path}: {source}; {remedy}")]
    File { action: &'static str, path: String, source: std::io::Error, remedy: &'static str },
    /// The reader of the pipe is gone; a retry is useless.
    #[error("stdout: the reader of standard output has closed it; keep the reading end of the pipe open")]
    ReaderGone,
    /// The destination was replaced. The caller resets the sink's counters and opens it without a state.
    #[error("{sink}: {how}; it does not hold what was delivered before")]
    Replaced { sink: &'static str, how: String },
    /// The driver opens the sink again with the configuration now in force.
    #[error("its configuration has changed; it is opened again")]
    Outdated,
    #[error("{sink}: {problem}; {remedy}")]
    Other { sink: &'static str, problem: String, remedy: &'static str },
}

/// How much a destination holds.
#[derive(Debug, Clone)]
pub(crate) struct SinkCount {
    pub what: &'static str,
    pub count: u64,
    /// Taken by the destination and removed since, according to its settings.
    pub removed: u64,
    /// How many of the expected events are there; none if the destination does not know events.
    pub found: Option<u64>,
    /// Remarks for the reader of the count.
    pub notes: Vec<String>,
}

impl SinkCount {
    /// A number without remarks.
    pub(crate) fn new(what: &'static str, count: u64) -> SinkCount {
        SinkCount { what, count, removed: 0, found: None, notes: Vec::new() }
    }
}
