#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]
//!
//! The page log: `page_proposed`. Append-only segment files. An event is accepted when its record is fsynced.
//!
//! # Layout
//!
//! * [`PageLog`]; `open`: the folder, its lock, recovery; `append`: queueing events; `writer`: group commit.
//! * [`Reader`]: reads events in order. Its durable cursor (`cursor_file`) keeps segments until the reader has passed
//!   them.
//! * `segment`, `record`: the bytes on disk. `state`: shared by the writer and the readers.
//!
//! # Damage
//!
//! A crash can tear only the end of the last segment, and only records that were not yet reported as accepted. This end
//! is cut off. Any other bytes that do not match their checksum are [`Damage`]. They stay on disk, and readers continue
//! at the next intact record. The status and the counters of each reader count every lost event.

mod anew;
mod append;
mod config;
mod copy;
mod cursor_file;
mod error;
mod hold;
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
pub use config::LogConfig;
pub use copy::{CopiedSegment, LogCopy};
pub use cursor_file::{has_reader, stored_cursor};
pub use error::LogError;
pub use log::PageLog;
pub use open::{Recovery, Torn, is_in_use};
pub use reader::Reader;
pub use scan::Scan;
pub use segment::FORMAT;
pub use status::{Counters, Damage, LogStatus, ReaderStatus, VALIDATOR};
