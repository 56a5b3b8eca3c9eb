//! Progress of a conversion or replay on disk. It is replaced in one step with every acknowledgement, so that a killed
//! transfer continues after the last one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use seine_delivery::Cursor;
use seine_system::folders::{if_there, try_lock};
use serde::{Deserialize, Serialize};

use crate::sinks::whole_file::WholeFile;

/// File name of the progress, in the output folder of a conversion.
pub(crate) const FILE_NAME: &str = ".seine-convert.json";

/// Whether a file name is that of a progress file, finished or not.
pub fn is_own(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".seine-convert.")
}

/// The stored progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferState {
    /// A description of the task: source, destination and selected pages. It differs if another task is requested.
    pub task: Vec<String>,
    /// The sink's cursor, counted in pages since the start, with its counters and its own state.
    pub cursor: Cursor,
    /// The last settled record: the name of its input, and its number there.
    pub settled: Option<(String, u64)>,
    /// Counts of pages before that record.
    #[serde(flatten)]
    pub not_sent: NotSent,
    /// Everything is settled.
    pub done: bool,
}

/// Records that were not sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NotSent {
    /// Unreadable records.
    pub unreadable: u64,
    /// Pages that were not selected.
    pub left_out: u64,
    /// Pages without the content that the destination demands.
    #[serde(default)]
    pub without_content: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TransferStateError {
    #[error("{action} {path}: {source}; progress is kept there, so seine must be able to write it")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{path} cannot be read ({source}); remove it to start over")]
    Unreadable { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path} belongs to another task, started with {theirs}; finish that task, choose another folder, or remove the file to start over"
    )]
    OtherTask { path: PathBuf, theirs: String },
    #[error("another seine replay or convert writes to {folder}; wait until it ends, or choose another folder")]
    Busy { folder: PathBuf },
    #[error("the crawl in {folder} is running, and may write the same files; stop it first, or choose another folder")]
    Crawling { folder: PathBuf },
}

/// Makes an output folder, and locks it as long as the file lives: two transfers would replace each other's open files.
/// None: this file system cannot lock a folder.
pub(crate) fn lock(folder: &Path) -> Result<Option<File>, TransferStateError> {
    std::fs::create_dir_all(folder).map_err(|source| file_error("making", folder, source))?;
    let file = File::open(folder).map_err(|source| file_error("opening", folder, source))?;
    match try_lock(file) {
        Ok(None) => Err(TransferStateError::Busy { folder: folder.into() }),
        locked => Ok(locked.ok().flatten()),
    }
}

/// Refuses the folder of a running crawl.
pub(crate) fn refuse_crawling(folder: &Path) -> Result<(), TransferStateError> {
    match seine_page_log::is_in_use(&folder.join("log")) {
        true => Err(TransferStateError::Crawling { folder: folder.into() }),
        false => Ok(()),
    }
}

impl TransferState {
    /// Loads the progress of this task; new if there is no file.
    pub fn load(path: &Path, task: Vec<String>) -> Result<TransferState, TransferStateError> {
        let Some(state) = TransferState::read(path)? else {
            return Ok(TransferState { task, ..TransferState::default() });
        };
        if state.task != task {
            return Err(TransferStateError::OtherTask { path: path.into(), theirs: state.task.join(" ") });
        }
        Ok(state)
    }

    /// Reads the progress of any task; none if there is no file.
    pub fn read(path: &Path) -> Result<Option<TransferState>, TransferStateError> {
        let text = if_there(std::fs::read(path)).map_err(|source| file_error("reading", path, source))?;
        let state = text.map(|text| serde_json::from_slice(&text)).transpose();
        state.map_err(|source| TransferStateError::Unreadable { path: path.into(), source })
    }

    /// Durable when this returns.
    pub fn save(&self, path: &Path) -> Result<(), TransferStateError> {
        let text = serde_json::to_vec(self).expect("a struct of strings and numbers is always JSON");
        let written = WholeFile::create(path, None).and_then(|mut file| {
            file.write_all(&text)?;
            file.finish()
        });
        written.map_err(|source| file_error("writing", path, source))
    }
}

fn file_error(action: &'static str, path: &Path, source: std::io::Error) -> TransferStateError {
    TransferStateError::File { action, path: path.into(), source }
}
