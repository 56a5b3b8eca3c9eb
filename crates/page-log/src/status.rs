//! The status of the log and its readers.

use std::path::PathBuf;

use seine_delivery::{BegunAnew, Offset};

/// The reader name of the validator.
pub const VALIDATOR: &str = "validator";

/// The counters of a reader, in events. They balance: `accepted = delivered + skipped + dead + damaged + pending`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Events accepted since this reader exists.
    pub accepted: u64,
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    pub damaged: u64,
    pub pending: u64,
}

/// A range of the log with bytes that do not match their checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub segment: PathBuf,
    /// Start of the range in that file.
    pub offset: u64,
    pub bytes: u64,
    /// Number of events lost.
    pub events: u64,
}

/// The current status of the log.
#[derive(Debug, Clone)]
pub struct LogStatus {
    /// The position after the last accepted event.
    pub end: Offset,
    /// The position before the oldest event.
    pub oldest: Offset,
    /// Total size of the segment files.
    pub bytes: u64,
    pub segments: usize,
    /// False at the disk limit (`page_log.max_bytes`).
    pub room: bool,
    /// Free bytes on the log's disk; none if the system does not tell.
    pub free_bytes: Option<u64>,
    /// Bytes that must stay free there (`page_log.disk_reserve`).
    pub reserve_bytes: u64,
    /// Damage found since the log was opened: each range once, the first 1000.
    pub damage: Vec<Damage>,
    pub readers: Vec<ReaderStatus>,
}

#[derive(Debug, Clone)]
pub struct ReaderStatus {
    pub name: String,
    /// The last committed (or released) position.
    pub position: Offset,
    /// Accepted events after `position`.
    pub pending: u64,
    /// Bytes of records that the log keeps for this reader.
    pub unread_bytes: u64,
    /// Events accepted before this reader was created, which it never gets.
    pub missed: u64,
    /// When and why the reader was reset, if it was.
    pub anew: Option<BegunAnew>,
    /// Whether the reader is open in this run. A reader that is not open still keeps its segments.
    pub opened: bool,
    /// None for a follower, which has its own counters.
    pub counters: Option<Counters>,
}

impl LogStatus {
    /// Whether the disk has the free space that is required.
    pub fn has_free_bytes(&self) -> bool {
        self.free_bytes.is_none_or(|free| free >= self.reserve_bytes)
    }

    pub fn reader(&self, name: &str) -> Option<&ReaderStatus> {
        self.readers.iter().find(|reader| reader.name == name)
    }

    /// The readers with counters: the sinks.
    pub fn sinks(&self) -> impl Iterator<Item = (&str, Counters)> {
        self.readers.iter().filter_map(|reader| Some((reader.name.as_str(), reader.counters?)))
    }

    /// Accepted events that the validator has not read yet: the size of the table `page_proposed`.
    pub fn page_proposed(&self) -> u64 {
        self.reader(VALIDATOR).map_or(0, |reader| reader.pending)
    }
}
