//! What a sink is to whoever drives it.

use std::path::PathBuf;
use std::sync::Arc;

use super::watch::Watch;
use crate::delivery::{Entry, Position};
use crate::large;
use crate::shutdown::Shutdown;

/// A destination. One task drives it. After a failed call it is not used on, as what it has in hand no longer matches what was
/// acknowledged: it is built anew from its saved state.
pub trait Sink: Send {
    /// Takes entries in order. Blocks while it writes. Returns what is durable at the destination by now, which may be
    /// less than what was taken: the rest is in flight until a later `deliver` or `flush`.
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError>;

    /// Waits until everything taken is durable at the destination. A sink whose server does not answer may come back
    /// with what is durable by now, so that the caller can look around; it is called again for the rest.
    fn flush(&mut self) -> Result<Delivered, SinkError>;

    /// Ends cleanly: files are closed, connections too. Called after `flush`.
    fn close(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Where a sink works, and whom it heeds.
#[derive(Clone)]
pub struct SinkContext {
    /// The sink's own, for what it keeps on disk.
    pub folder: PathBuf,
    /// Dead letters are kept below it; another folder for pages that are dead letters already.
    pub letters: PathBuf,
    /// When the process hurries to its end, a sink that waits for a server stops waiting, and [`Sink::flush`] returns what is
    /// durable.
    pub shutdown: Shutdown,
    /// Where a sink that waits for a server shows whether it gets on.
    pub watch: Watch,
    /// Somebody will ask where pages are.
    pub notes_places: bool,
}

impl SinkContext {
    /// All is kept in one folder, and nobody watches.
    pub fn new(folder: impl Into<PathBuf>) -> SinkContext {
        let folder = folder.into();
        let letters = folder.clone();
        SinkContext { folder, letters, shutdown: Shutdown::default(), watch: Watch::default(), notes_places: false }
    }
}

/// How far a sink has come, to be committed with its cursor in one atomic write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delivered {
    /// Everything before it is delivered, skipped or dead. The default as long as nothing was taken.
    pub up_to: Position,
    /// Since the sink was built: entries delivered, those the format does not hold, and those refused for good.
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    /// What the sink wants back when it is built again (FILES: the open file and its length).
    pub state: serde_json::Value,
}

/// Empties a buffer between pages, and gives back what a large one needed.
pub(super) fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(large::SMALL as usize);
}

#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("{action} {path}: {source}; {remedy}")]
    File { action: &'static str, path: String, source: std::io::Error, remedy: &'static str },
    /// Trying again is of no use.
    #[error("stdout: whoever read standard output has gone away; keep the reading end of the pipe open")]
    ReaderGone,
    /// Whoever drives the sink begins its books anew and opens it without a state.
    #[error("{sink}: {how}; it does not hold what was delivered before")]
    Replaced { sink: &'static str, how: String },
    #[error("{sink}: {problem}; {remedy}")]
    Other { sink: &'static str, problem: String, remedy: &'static str },
}

/// How much a destination holds.
#[derive(Debug, Clone)]
pub struct SinkCount {
    pub what: &'static str,
    pub count: u64,
    /// Taken by the destination and removed by it since, as its settings say.
    pub removed: u64,
    /// How many of the events that were asked for are there; none for who knows no events.
    pub found: Option<u64>,
    /// What the one who reads the count should know.
    pub notes: Vec<String>,
}

impl SinkCount {
    /// A number, and nothing more.
    pub fn new(what: &'static str, count: u64) -> SinkCount {
        SinkCount { what, count, removed: 0, found: None, notes: Vec::new() }
    }
}
