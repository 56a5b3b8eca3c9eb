//! Why a backup or restore failed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::frontier::FrontierError;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{action} {}: {source}; {}", path.display(), remedy(source))]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} is not empty; name a folder that is, or that is not there yet", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} is being written to by another seine; let it end, or name another folder", .0.display())]
    InUse(PathBuf),
    #[error("{} lies in {}, which is what is copied; name a folder elsewhere, on another disk if there is one", inner.display(), outer.display())]
    Inside { inner: PathBuf, outer: PathBuf },
    #[error(
        "{} is being restored, or was when that was broken off: it is no crawl. Run seine restore again with -o {}, which begins anew",
        .0.display(), .0.display()
    )]
    HalfRestored(PathBuf),
    /// The stream ended early.
    #[error("the crawl broke off: {0}; see its log, then take the backup again")]
    BrokenOff(String),
    /// The sender reported an error.
    #[error("the crawl cannot be copied: {0}")]
    Refused(String),
    #[error("what the crawl sends is not understood: {0}; is it another version?")]
    Foreign(&'static str),
    #[error(
        "{} holds no whole backup: there is no {manifest} in it, which is written last. One that was broken off cannot be restored: \
         take another, or name another folder",
        folder.display()
    )]
    NotWhole { folder: PathBuf, manifest: &'static str },
    #[error("{}: {problem}; restore with the seine that took the backup, or from another backup", path.display())]
    Manifest { path: PathBuf, problem: String },
    #[error(
        "{}: {problem}; this backup is damaged: bring the file back from another copy of it, or restore from another backup",
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
            "make room there, or name a folder on another disk, and run the same command again: what was begun is removed"
        }
        ErrorKind::PermissionDenied => "give this user the right to write there, or name another folder",
        ErrorKind::NotFound => "is the folder named as it should be?",
        _ => "look after this disk, then run the same command again",
    }
}
