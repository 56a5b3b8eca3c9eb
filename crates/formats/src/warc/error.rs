//! Errors of a WARC file.

use crate::http::HttpError;
use crate::inflate::StreamError;

/// Why something could not be read. `offset`: of the record in the file, or of its gzip member.
#[derive(Debug, thiserror::Error)]
pub enum WarcError {
    /// Reading continues with the next record.
    #[error("there is no valid WARC record at byte {offset}: {problem}")]
    Record { offset: u64, problem: &'static str },
    /// Reading continues after it.
    #[error("the record at byte {offset} is longer ({length} bytes) than {limit} bytes and was skipped")]
    TooLong { offset: u64, length: u64, limit: u64 },
    /// After damage, reading continues with the next record that can be found. After an I/O error, nothing more is
    /// read.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// Reading continues with the next record (not from [`WarcReader`](super::WarcReader)). `what`: `block` or
    /// `payload`.
    #[error("the {what} of the record at byte {offset} has the digest {found}, and the record says {stated}")]
    Digest { what: &'static str, offset: u64, stated: String, found: String },
    /// The record is complete, but its block is not an HTTP message (only from [`WarcPages`](super::WarcPages)).
    #[error("the block of the record at byte {offset} is not an HTTP message: {source}")]
    Http { offset: u64, source: HttpError },
}

/// Why no record was read.
pub(super) enum ReadFailure {
    /// The input ended inside the record.
    Cut,
    Error(WarcError),
}

impl From<StreamError> for ReadFailure {
    fn from(error: StreamError) -> ReadFailure {
        ReadFailure::Error(error.into())
    }
}
