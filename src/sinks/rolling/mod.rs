//! Rolling files of whole records: appended to, never by a later run, and after a crash cut back to exactly what was
//! acknowledged.
//!
//! The sink's committed state says how: it names the open file with its length at the last acknowledgement, and reserves a
//! time for the names of files opened after it. A file with the reserved time holds nothing acknowledged, or a later state
//! would have been committed. Formats differ in one thing alone, [`FileContent`](crate::formats::layout::FileContent): how an acknowledged beginning is closed.

mod indexes;
mod names;
mod open_file;
mod salvage;
mod taken_back;

use std::path::{Path, PathBuf};

pub(super) use self::indexes::Indexes;
pub(super) use self::names::OPEN;
pub use self::names::RollingOptions;
pub(crate) use self::names::is_named_by;
use self::open_file::OpenFile;
use self::taken_back::SavedState;
use super::folder::{create_folder, sync_folder};
use super::sink::SinkError;
use crate::page::EpochMs;

/// The files of one folder; the folder is the sink's own.
pub struct RollingFiles {
    folder: PathBuf,
    rolling: RollingOptions,
    /// The time in the next file's name.
    reserved: EpochMs,
    /// A file has it in its name: the next acknowledgement reserves another. Without one nothing changes: an idle sink is
    /// asked several times a second, and what changed is written.
    is_used: bool,
    current: Option<OpenFile>,
}

impl RollingFiles {
    /// Creates the folder when it is absent, and takes back what `state` does not acknowledge. With a null state nothing
    /// is taken back: files that an earlier writer left unfinished are closed behind their last whole record.
    pub fn open(folder: &Path, rolling: RollingOptions, state: &serde_json::Value) -> Result<RollingFiles, SinkError> {
        create_folder(folder)?;
        let reserved = taken_back::restore(folder, &rolling, state)?;
        Ok(RollingFiles { folder: folder.into(), rolling, reserved, is_used: false, current: None })
    }

    /// Adds a whole record to the open file, or to a new one when it might not fit; a new file begins with what `first`
    /// makes of its name. Returns the name of a file that was closed for it.
    pub fn append(&mut self, record: &[u8], first: impl FnOnce(&str) -> Vec<u8>) -> Result<Option<String>, SinkError> {
        let most = self.rolling.max_file_size;
        let is_full = self.current.as_ref().is_some_and(|it| it.at_most_after(record.len()) > most);
        let closed = if is_full { self.close()? } else { None };
        let current = match &mut self.current {
            Some(current) => current,
            none => {
                has_folder(&self.folder)?;
                self.is_used = true;
                let mut new = OpenFile::create(&self.folder, self.reserved, &self.rolling)?;
                new.append(&first(&new.name))?;
                none.insert(new)
            }
        };
        current.append(record)?;
        current.pages += 1;
        Ok(closed)
    }

    /// Where the page stands that was added last, in `length` bytes: the file's name, the how manieth there, and where it begins; 0
    /// in a stream.
    pub fn place_of_last(&self, length: usize) -> Option<(&str, u64, u64)> {
        let current = self.current.as_ref()?;
        let start = current.length().map_or(0, |end| end.saturating_sub(length as u64));
        Some((&current.name, current.pages, start))
    }

    /// Makes everything added durable, and of a stream readable. Returns the state to commit with it.
    pub fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        match &mut self.current {
            Some(current) => current.sync()?,
            None => has_folder(&self.folder)?,
        }
        if std::mem::take(&mut self.is_used) {
            self.reserved = crate::clock::now_ms().max(self.reserved + 1);
        }
        let saved = SavedState { open: self.current.as_ref().map(OpenFile::acknowledged), reserved: self.reserved };
        Ok(serde_json::to_value(saved).expect("a struct of strings and numbers is always JSON"))
    }

    /// Finishes the open file; the next record starts another. Returns its name, if there was one.
    pub fn close(&mut self) -> Result<Option<String>, SinkError> {
        let Some(current) = self.current.take() else { return Ok(None) };
        let name = current.finish(&self.folder)?;
        sync_folder(&self.folder)?;
        Ok(Some(name))
    }
}

/// An error when the folder was deleted meanwhile: what was written there is not there any more.
fn has_folder(folder: &Path) -> Result<(), SinkError> {
    match folder.is_dir() {
        true => Ok(()),
        false => Err(gone(format!("the folder {} was deleted or moved", folder.display()))),
    }
}

/// What was delivered is delivered again, as far as the page log still holds it.
fn gone(how: String) -> SinkError {
    SinkError::Replaced { sink: "files", how }
}
