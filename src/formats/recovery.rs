//! What can be saved of a damaged file of a format: how its whole records are found again.

use std::io::{self, Read, SeekFrom};

use super::inflate;
use super::records::ReadSeek;

/// How records are found again.
pub enum RecoveryMethod {
    /// One a line or a row.
    Lines(RecordSplit),
    /// The codec finds them itself, and saves them in the file's order.
    Itself(fn(&DamagedFile<'_>, &mut dyn Salvage) -> Result<(), RecoveryError>),
    /// Each page has a file of its own, whole or lost.
    Nothing,
}

/// What is a record, and where it ends.
#[derive(Clone, Copy)]
pub struct RecordSplit {
    pub is_record: fn(&[u8]) -> bool,
    /// Rows of CSV, whose cells may hold line feeds; else lines.
    pub is_row: bool,
}

/// A damaged file.
pub struct DamagedFile<'a> {
    /// Opens it from its beginning, as often as it is asked.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn ReadSeek>>,
    pub length: u64,
}

/// Where records are saved, and what is lost is noted.
pub trait Salvage {
    /// A whole record, as it is to stand in the clean file. `end`: behind it in the damaged one.
    fn save(&mut self, record: &[u8], end: u64) -> io::Result<()>;

    /// A range of the damaged file of which nothing could be saved.
    fn lose(&mut self, from: u64, to: u64, why: &str);
}

/// What went wrong while saving: with the damaged file, or with the new one.
pub enum RecoveryError {
    Read(io::Error),
    Write(io::Error),
}

impl From<io::Error> for RecoveryError {
    fn from(error: io::Error) -> RecoveryError {
        RecoveryError::Read(error)
    }
}

/// Whether a compressed stream begins there.
pub(super) fn begins_compressed(file: &mut dyn ReadSeek, at: u64) -> Result<bool, RecoveryError> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(2).read_to_end(&mut start)?;
    Ok(inflate::is_compressed(&start))
}
