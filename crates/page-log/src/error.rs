//! Errors of the page log: what failed, where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use seine_parse::page::codec::CodecError;

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("page log: cannot {action} {}: {source}; {}", path.display(), remedy(source))]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("page log {} is in use by another seine; stop that one, or choose another data folder", path.display())]
    Locked { path: PathBuf },
    #[error("page log: {} at byte {offset}: {problem}; {remedy}", segment.display())]
    Corrupt { segment: PathBuf, offset: u64, problem: String, remedy: &'static str },
    #[error("page log: {} has format {found}, this seine reads up to {known}; run the newer seine", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("page log: {} at byte {offset}: {source}", segment.display())]
    Event { segment: PathBuf, offset: u64, source: CodecError },
    #[error(
        "page log: cursor {}: {problem}; delete the file, and this reader gets everything again from the oldest event kept",
        path.display()
    )]
    Cursor { path: PathBuf, problem: String },
    #[error("page log: {0:?} is not a valid reader name; use 1 to 64 characters of a-z, 0-9, - and _")]
    ReaderName(String),
    #[error("page log: reader {0} is already open; only one can be open at a time")]
    ReaderOpen(String),
    #[error("page log: reader {name} asked to commit event {to}, but it has read events {from} to {read}")]
    Commit { name: String, from: u64, to: u64, read: u64 },
    #[error("page log: {url} makes a record of {bytes} bytes, the limit is {most}; lower the limit on bodies")]
    TooLarge { url: String, bytes: usize, most: usize },
    #[error("page log: closed before the event was accepted; its URL stays queued")]
    Closed,
    #[error("page log: reader {name} is at event {at}, but the log ends at {end} and is being written; restart seine")]
    Ahead { name: String, at: u64, end: u64 },
}

impl LogError {
    /// For `map_err`: the failed action and the path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LogError {
        let path = path.to_owned();
        move |source| LogError::Io { action, path, source }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space on this disk; nothing is lost, and the log continues by itself"
        }
        io::ErrorKind::PermissionDenied => "give this user the right to write there",
        io::ErrorKind::ReadOnlyFilesystem => "mount this disk for writing",
        io::ErrorKind::NotFound => "something removed it: do not touch the log's folder, and restart seine",
        _ => "check this disk",
    }
}
