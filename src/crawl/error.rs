//! Errors that prevent a crawl, or end it without a summary.

use std::path::PathBuf;

use seine_frontier::FrontierError;
use seine_frontier::scope::ScopeError;
use seine_page_log::LogError;

use crate::api::ListenError;
use crate::archive::inputs::InputError;
use crate::archive::transfer_state::TransferStateError;
use crate::backup::BackupError;
use crate::config::StartedWithError;
use crate::fetch::ClientError;
use crate::sinks::SinkError;
use crate::telemetry::fetch_log::FetchLogError;

#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    #[error("cannot make the data folder {path}: {source}; choose a writable one with -o")]
    Folder { path: PathBuf, source: std::io::Error },
    /// Without the socket, commands could not reach the crawl.
    #[error(
        "{folder}/api.sock is a folder that is not empty, but must be a socket for the crawl's commands: move it away"
    )]
    Socket { folder: PathBuf },
    #[error("no seeds: give --seed URL or -s FILE (or -o with the folder of an earlier crawl)")]
    NoSeeds,
    /// The two stores depend on each other. An empty one instead of the missing one would lose pages silently.
    #[error(
        "{folder}/{missing} is missing and {folder}/{there} is there: a crawl needs both. Put {missing}/ back (seine restore makes a data \
         folder of a backup), or move {there}/ away to begin anew"
    )]
    Half { folder: PathBuf, missing: &'static str, there: &'static str },
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error(transparent)]
    Log(#[from] LogError),
    /// A sink's committed offset is unreadable.
    #[error("{0}")]
    Cursor(String),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    FetchLog(#[from] FetchLogError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(transparent)]
    StartedWith(#[from] StartedWithError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("target_storage.from_archive: {0}")]
    Archive(#[from] InputError),
    #[error(transparent)]
    Filling(#[from] TransferStateError),
    /// Stopped by a signal before it began.
    #[error("stopped while waiting for free disk space; the same command continues")]
    Stopped,
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] std::io::Error),
    #[error("{0} did not end in time; its events are on disk, and the next start continues")]
    Unfinished(String),
}
