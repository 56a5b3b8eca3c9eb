//! What can be saved of a damaged file of a format: how its whole records are found again.

use std::io::{self, Read, SeekFrom};

use super::inflate;
use super::records::ReadSeek;

/// How records are found again.
pub enum RecoveryMethod {
    /// One a line. Says whether a line is a record.
    Lines(fn(&[u8]) -> bool),
    /// One a row of CSV, whose cells may hold line feeds.
    Rows(fn(&[u8]) -> bool),
    /// The codec finds them itself, and saves them in the file's order.
    Itself(fn(&DamagedFile<'_>, &mut dyn Salvage) -> Result<(), RecoveryError>),
    /// Each page has a file of its own, whole or lost.
    Nothing,
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

/// Whether a compressed stream begins there.
pub(super) fn begins_compressed(file: &mut dyn ReadSeek, at: u64) -> Result<bool, RecoveryError> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(at)).map_err(RecoveryError::Read)?;
    file.take(2).read_to_end(&mut start).map_err(RecoveryError::Read)?;
    Ok(inflate::is_compressed(&start))
}
