//! What can be wrong with a file.

use std::io;

use super::{ContentError, HeadError};

/// Why a file could not be read, wholly or in one record. Offsets are of the record's first byte.
#[derive(Debug, thiserror::Error)]
pub enum TianwangError {
    /// Reading goes on at the next line that begins with `version:`.
    #[error(
        "byte {offset} begins no record: {source}; reading goes on at the next `version:`, recovering may find more"
    )]
    Head { offset: u64, source: HeadError },
    /// Reading goes on at the next line that begins with `version:`.
    #[error(
        "the record at byte {offset} does not end where its length, {length}, says; reading goes on at the next \
         `version:`, recovering may find more"
    )]
    WrongLength { offset: u64, length: u64 },
    /// The file ends before DATA does, so that nobody can tell where the next record begins. Reading goes on at the next
    /// line in it that begins with `version:`.
    #[error(
        "the record at byte {offset} has the length {length}, which goes beyond the end of the file; reading goes on at \
         the next `version:`, recovering may find more"
    )]
    BeyondEnd { offset: u64, length: u64 },
    /// Reading goes on with the next record.
    #[error("the record at byte {offset} has no property date, without which none is whole")]
    NoDate { offset: u64 },
    /// Only where dates are checked. Reading goes on with the next record.
    #[error("the record at byte {offset} has a date that is none of RFC 822: {date:?}")]
    BadDate { offset: u64, date: String },
    /// Reading goes on with the next record.
    #[error("the record at byte {offset}: {source}")]
    Content { offset: u64, source: ContentError },
    /// Reading goes on with the next record.
    #[error("the record at byte {offset} has {length} bytes of DATA, more than {limit}, and was passed over")]
    TooLong { offset: u64, length: u64, limit: u64 },
    /// Nothing can be read behind it.
    #[error("reading at byte {offset} failed: {source}")]
    Io { offset: u64, source: io::Error },
}
