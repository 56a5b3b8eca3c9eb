//! Errors of a Tianwang file.

use std::io;

use super::{ContentError, HeadError};

/// Why a file, or one of its records, could not be read. Offsets are those of the record's first byte.
#[derive(Debug, thiserror::Error)]
pub enum TianwangError {
    /// Reading continues at the next line that begins with `version:`.
    #[error(
        "no record begins at byte {offset}: {source}; reading continues at the next `version:`, recovering may find more"
    )]
    Head { offset: u64, source: HeadError },
    /// Reading continues at the next line that begins with `version:`.
    #[error(
        "the record at byte {offset} does not end where its length, {length}, says; reading continues at the next \
         `version:`, recovering may find more"
    )]
    WrongLength { offset: u64, length: u64 },
    /// The file ends before DATA does, so the start of the next record is unknown. Reading continues at the next line
    /// within DATA that begins with `version:`.
    #[error(
        "the record at byte {offset} has the length {length}, which goes beyond the end of the file; reading continues \
         at the next `version:`, recovering may find more"
    )]
    BeyondEnd { offset: u64, length: u64 },
    /// Reading continues with the next record.
    #[error("the record at byte {offset} lacks the property date, which every record must have")]
    NoDate { offset: u64 },
    /// Only if dates are checked. Reading continues with the next record.
    #[error("the record at byte {offset} has a date that is not in RFC 822 form: {date:?}")]
    BadDate { offset: u64, date: String },
    /// Reading continues with the next record.
    #[error("the record at byte {offset}: {source}")]
    Content { offset: u64, source: ContentError },
    /// Reading continues with the next record.
    #[error("the record at byte {offset} has {length} bytes of DATA, more than {limit}, and was skipped")]
    TooLong { offset: u64, length: u64, limit: u64 },
    /// Nothing after it can be read.
    #[error("reading at byte {offset} failed: {source}")]
    Io { offset: u64, source: io::Error },
}
