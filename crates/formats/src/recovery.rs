//! How to find complete records in a damaged file of a format.

use std::io::{self, Read, SeekFrom};

use super::inflate;
use super::records::ReadSeek;

/// How to find records in a damaged file.
pub enum RecoveryMethod {
    /// One record per line or row.
    Lines(RecordSplit),
    /// The codec finds the records itself, and saves them in order.
    Itself(fn(&DamagedFile<'_>, &mut dyn Salvage) -> Result<(), RecoveryError>),
    /// Each page has its own file, so there is nothing to recover.
    Nothing,
}

/// What counts as a record, and where it ends.
#[derive(Clone, Copy)]
pub struct RecordSplit {
    pub is_record: fn(&[u8]) -> bool,
    /// CSV rows, whose cells may contain line feeds; otherwise lines.
    pub is_row: bool,
}

/// A damaged file.
pub struct DamagedFile<'a> {
    /// Opens the file from its beginning; can be called repeatedly.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn ReadSeek>>,
    pub length: u64,
}

/// Saves records and reports losses.
pub trait Salvage {
    /// Saves a complete record as it must be in the clean file. `end`: its end in the damaged file.
    fn save(&mut self, record: &[u8], end: u64) -> io::Result<()>;

    /// Reports a range of the damaged file from which nothing could be saved.
    fn lose(&mut self, from: u64, to: u64, why: &str);
}

/// An I/O error in the damaged file or in the new one.
pub enum RecoveryError {
    Read(io::Error),
    Write(io::Error),
}

impl From<io::Error> for RecoveryError {
    fn from(error: io::Error) -> RecoveryError {
        RecoveryError::Read(error)
    }
}

/// Whether a compressed stream starts at this position.
pub(super) fn begins_compressed(file: &mut dyn ReadSeek, at: u64) -> Result<bool, RecoveryError> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(2).read_to_end(&mut start)?;
    Ok(inflate::is_compressed(&start))
}
