//! What the log says of itself and of its readers.

use std::path::PathBuf;

use crate::delivery::{BegunAnew, Position};

/// The validator's name as a reader.
pub const VALIDATOR: &str = "validator";

/// One reader's books, in events. They balance when `accepted = delivered + skipped + dead + damaged + pending`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Books {
    /// Accepted by the log since this reader is there.
    pub accepted: u64,
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    pub damaged: u64,
    pub pending: u64,
}

/// A range of the log whose bytes do not match their checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub segment: PathBuf,
    /// Where it begins in that file.
    pub offset: u64,
    pub bytes: u64,
    /// Events lost with it.
    pub events: u64,
}

/// The log as it is now.
#[derive(Debug, Clone)]
pub struct LogStatus {
    /// Behind the last accepted event.
    pub end: Position,
    /// Before the oldest event kept.
    pub oldest: Position,
    /// Of all segment files.
    pub bytes: u64,
    pub segments: usize,
    /// False at the disk limit (`page_log.max_bytes`).
    pub room: bool,
    /// Of the log's disk; none when the system does not say.
    pub free_bytes: Option<u64>,
    /// What is to stay free there (`page_log.disk_reserve`).
    pub reserve_bytes: u64,
    /// Damage met since the log was opened: every range once, the first 1000.
    pub damage: Vec<Damage>,
    pub readers: Vec<ReaderStatus>,
}

#[derive(Debug, Clone)]
pub struct ReaderStatus {
    pub name: String,
    /// Its last committed (or released) place.
    pub position: Position,
    /// Accepted events behind it that it has not committed.
    pub pending: u64,
    /// Bytes of records that are kept for it.
    pub unread_bytes: u64,
    /// Events accepted before it came that it was never due.
    pub missed: u64,
    /// When and why its books began anew, if they did.
    pub anew: Option<BegunAnew>,
    /// Somebody reads with it in this run. One that nobody opened still holds its segments.
    pub opened: bool,
    /// None for a follower, which keeps its own.
    pub books: Option<Books>,
}

impl LogStatus {
    /// Whether its disk has what is to stay free.
    pub fn has_free_bytes(&self) -> bool {
        self.free_bytes.is_none_or(|free| free >= self.reserve_bytes)
    }

    pub fn reader(&self, name: &str) -> Option<&ReaderStatus> {
        self.readers.iter().find(|reader| reader.name == name)
    }

    /// The readers with books: the sinks.
    pub fn sinks(&self) -> impl Iterator<Item = (&str, Books)> {
        self.readers.iter().filter_map(|reader| Some((reader.name.as_str(), reader.books?)))
    }

    /// Accepted events that the validator has not passed: the table of this name.
    pub fn page_proposed(&self) -> u64 {
        self.reader(VALIDATOR).map_or(0, |reader| reader.pending)
    }
}
