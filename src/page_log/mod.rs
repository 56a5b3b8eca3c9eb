//! The page log: `page_proposed`. Append-only segment files; an event is accepted when its record is fsynced.
//!
//! # Layout
//!
//! * [`PageLog`] (`open`): the folder, its lock, recovery; `append`: the queue in; `writer`: group commit.
//! * [`Reader`]: events out, in order, with a durable cursor (`cursor_file`) that keeps segments until it has passed.
//! * `segment`, `record`: the bytes on disk. `state`: what writer and readers share.
//!
//! # Damage
//!
//! Only the end of the last segment can be torn by a crash, and only by records that nobody was told are accepted: it
//! is cut. Everything else that does not match its checksum is [`Damage`]: it stays on disk, readers go on at the next
//! whole record, and every lost event is counted, in the status and in each reader's books.

mod append;
mod cursor_file;
mod error;
mod forget;
mod open;
mod reader;
mod record;
mod scan;
mod segment;
mod state;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

pub use append::Ticket;
pub use error::LogError;
pub use open::{PageLog, Recovery, Torn};
pub use reader::Reader;
pub use scan::Scan;

use crate::page::PageEvent;
use crate::parse::Derived;

/// A body this long fits into a record (256 MiB), with the heads of all its redirects.
pub const MAX_BODY_BYTES: u64 = 200 << 20;

/// The validator's name as a reader.
pub const VALIDATOR: &str = "validator";

/// A place in the log: just behind event number `index` (the first event has index 1), at byte `offset` of the whole log.
/// Neither is ever used twice. The default is the log's very beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Position {
    pub index: u64,
    pub offset: u64,
}

/// An accepted event, as readers get it.
#[derive(Debug)]
pub struct Entry {
    /// Behind this entry: what a reader commits when it is done with it.
    pub end: Position,
    pub event: Arc<PageEvent>,
    kept: Mutex<Option<Kept>>,
}

/// What the fetch worker derived, as long as it is kept.
#[derive(Debug)]
struct Kept {
    derived: Arc<Derived>,
    /// Of what may be kept in all (see `append`).
    _room: Option<OwnedSemaphorePermit>,
}

impl Entry {
    pub fn new(end: Position, event: Arc<PageEvent>, derived: Option<Arc<Derived>>) -> Entry {
        Entry::keeping(end, event, derived.map(|derived| Kept { derived, _room: None }))
    }

    fn keeping(end: Position, event: Arc<PageEvent>, kept: Option<Kept>) -> Entry {
        Entry { end, event, kept: Mutex::new(kept) }
    }

    /// What the fetch worker derived, if it is still kept; else derived now, and kept by nobody but the caller: entries wait
    /// in batches and queues that are bounded by what was received.
    pub fn derived(&self, derive: impl FnOnce(&PageEvent) -> Derived) -> Arc<Derived> {
        self.kept().unwrap_or_else(|| Arc::new(derive(&self.event)))
    }

    /// The body with its content codings taken off, from what is kept or decoded now: for who needs no more.
    pub fn body(&self, decode: impl FnOnce(&PageEvent) -> Bytes) -> Bytes {
        match self.kept() {
            Some(derived) => derived.body.clone(),
            None => decode(&self.event),
        }
    }

    fn kept(&self) -> Option<Arc<Derived>> {
        self.kept.lock().as_ref().map(|kept| kept.derived.clone())
    }

    /// Whoever still has the entry derives for himself.
    fn forget(&self) {
        *self.kept.lock() = None;
    }
}

/// How far a reader has come, and its books over its whole life.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cursor {
    /// Everything before it is delivered, skipped, dead or damaged.
    pub position: Position,
    pub delivered: u64,
    /// Not for this reader: what its format does not hold.
    pub skipped: u64,
    /// Refused for good; in the reader's dead letters.
    pub dead: u64,
    /// The reader's own (FILES: the open file and its length).
    pub state: serde_json::Value,
    /// Index of the event before the first one this reader was ever due. Kept by the log; what is committed is ignored.
    pub from: u64,
    /// Events that this reader was due and that the disk has lost. Kept by the log; what is committed is ignored.
    pub damaged: u64,
}

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

impl Books {
    pub fn balance(&self) -> bool {
        self.accepted == self.delivered + self.skipped + self.dead + self.damaged + self.pending
    }
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
    /// Events waiting to be written.
    pub queued: usize,
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

    /// The readers with books: the sinks.
    pub fn sinks(&self) -> impl Iterator<Item = (&str, Books)> {
        self.readers.iter().filter_map(|reader| Some((reader.name.as_str(), reader.books?)))
    }

    /// Accepted events that the validator has not passed: the table of this name.
    pub fn page_proposed(&self) -> u64 {
        self.readers.iter().find(|reader| reader.name == VALIDATOR).map_or(0, |reader| reader.pending)
    }
}
