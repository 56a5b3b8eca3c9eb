//! The page log: `page_proposed`. Append-only segment files; an event is accepted when its record is fsynced.
//!
//! # Layout
//!
//! * [`PageLog`]; `open`: the folder, its lock, recovery; `append`: the way in; `writer`: group commit.
//! * [`Reader`]: events out, in order, with a durable cursor (`cursor_file`) that keeps segments until it has passed.
//! * `segment`, `record`: the bytes on disk. `state`: what writer and readers share.
//!
//! # Damage
//!
//! Only the end of the last segment can be torn by a crash, and only by records that nobody was told are accepted: it
//! is cut. Everything else that does not match its checksum is [`Damage`]: it stays on disk, readers go on at the next
//! whole record, and every lost event is counted, in the status and in each reader's books.

mod anew;
mod append;
mod copy;
mod cursor_file;
mod error;
mod log;
mod open;
mod queue;
mod reader;
mod record;
mod scan;
mod segment;
mod state;
mod status;
mod writer;

pub use append::Ticket;
pub use copy::{CopiedSegment, LogCopy};
pub use error::LogError;
pub use log::PageLog;
pub use open::{Recovery, Torn};
pub use reader::Reader;
pub use scan::Scan;
pub use segment::FORMAT;
pub use status::{Books, Damage, LogStatus, ReaderStatus, VALIDATOR};
