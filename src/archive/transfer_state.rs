//! How far a conversion or replay is, on disk: replaced in one step with every acknowledgement, so that a killed one goes
//! on where its destination had acknowledged.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::delivery::Cursor;
use crate::folders::if_there;
use crate::sinks::whole_file::WholeFile;

/// A conversion's state, in the folder it writes to.
pub const FILE_NAME: &str = ".seine-convert.json";

/// Whether a file of this name is a state, or one being written.
pub fn is_own(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".seine-convert.")
}

/// What is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferState {
    /// What is done, in words that change when something else is asked for: what goes where, and which pages.
    pub task: Vec<String>,
    /// The sink's place, counted in pages since the beginning, its books and its own state.
    pub cursor: Cursor,
    /// The last record that is settled: the part's name, and the record's number in it.
    pub settled: Option<(String, u64)>,
    /// Before it.
    #[serde(flatten)]
    pub not_sent: NotSent,
    /// Everything there was is settled.
    pub done: bool,
}

/// What was met and not sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct NotSent {
    /// Records that could not be read.
    pub unreadable: u64,
    /// Pages that were not asked for.
    pub left_out: u64,
    /// Pages without the content that the destination demands.
    #[serde(default)]
    pub without_content: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TransferStateError {
    #[error("{action} {path}: {source}; progress is kept there, so seine must be able to write it")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{path} holds no progress that can be read ({source}); remove it to begin anew")]
    Unreadable { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path} is of another task: it was begun with {theirs}; finish that, or choose another folder, or remove the file to begin anew"
    )]
    OtherTask { path: PathBuf, theirs: String },
}

impl TransferState {
    /// The state of this task; new when there is no file.
    pub fn load(path: &Path, task: Vec<String>) -> Result<TransferState, TransferStateError> {
        let Some(state) = TransferState::read(path)? else {
            return Ok(TransferState { task, ..TransferState::default() });
        };
        if state.task != task {
            return Err(TransferStateError::OtherTask { path: path.into(), theirs: state.task.join(" ") });
        }
        Ok(state)
    }

    /// The state of whatever task; none when there is no file.
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
