//! Why a backup or restore failed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use seine_frontier::FrontierError;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{action} {}: {source}; {}", path.display(), remedy(source))]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} is not empty; name an empty folder, or one that does not exist", .0.display())]
    NotEmpty(PathBuf),
    #[error("another seine is writing to {}; wait until it has finished, or name another folder", .0.display())]
    InUse(PathBuf),
    #[error("{} is inside {}, which is being copied; name a folder elsewhere, if possible on another disk", inner.display(), outer.display())]
    Inside { inner: PathBuf, outer: PathBuf },
    #[error(
        "{} is being restored, or its restore was interrupted: it holds no complete crawl. Run seine restore again with -o {} to start over",
        .0.display(), .0.display()
    )]
    HalfRestored(PathBuf),
    /// The stream ended early.
    #[error("the connection to the crawl broke: {0}; see its log, then take the backup again")]
    BrokenOff(String),
    /// The sender reported an error.
    #[error("the crawl cannot be copied: {0}")]
    Refused(String),
    #[error("the crawl sent unknown data: {0}; is it another version of seine?")]
    Foreign(&'static str),
    #[error(
        "{} holds no complete backup: it has no {manifest}, which is written last. An interrupted backup cannot be restored: \
         take another one, or name another folder",
        folder.display()
    )]
    NotWhole { folder: PathBuf, manifest: &'static str },
    #[error("{}: {problem}; restore with the version of seine that took the backup, or from another backup", path.display())]
    Manifest { path: PathBuf, problem: String },
    #[error(
        "{}: {problem}; this backup is damaged: take the file from another copy of it, or restore from another backup",
        path.display()
    )]
    Damaged { path: PathBuf, problem: String },
    #[error("{0}")]
    StartedWith(String),
    #[error(transparent)]
    Frontier(#[from] FrontierError),
}

impl BackupError {
    /// For `map_err`: the failed action and the path.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> BackupError {
        let path = path.to_owned();
        move |source| BackupError::File { action, path, source }
    }
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space there, or name a folder on another disk, and run the same command again; the incomplete folder was removed"
        }
        ErrorKind::PermissionDenied => "give this user the right to write there, or name another folder",
        ErrorKind::NotFound => "check the name of the folder",
        _ => "check this disk, then run the same command again",
    }
}
