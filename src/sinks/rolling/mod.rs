//! Rolling files: append-only files of complete records. A later run never appends to the files of an earlier run.
//! After a crash the files are cut back to exactly what was acknowledged.
//!
//! The sink's committed state makes this possible. It has the name of the open file and its length at the last
//! acknowledgement. It also reserves a time for the names of files opened later. A file with the reserved time has
//! nothing acknowledged; otherwise a later state would have been committed. Formats differ only in how a cut file is
//! closed, see [`FileContent`](seine_formats::layout::FileContent).

mod indexes;
mod names;
mod open_file;
mod rollback;
mod salvage;
mod written;

use std::path::{Path, PathBuf};

use seine_parse::page::EpochMs;

pub(super) use self::indexes::Indexes;
pub(super) use self::names::OPEN;
pub use self::names::RollingOptions;
pub(crate) use self::names::is_named_by;
use self::open_file::OpenFile;
use self::rollback::SavedState;
use super::folder::{create_folder, refuse_missing, sync_folder};
use super::sink::SinkError;

/// The rolling files of one sink, in its own folder.
pub struct RollingFiles {
    folder: PathBuf,
    rolling: RollingOptions,
    /// The time in the name of the next file.
    reserved: EpochMs,
    /// A file uses the reserved time, so the next acknowledgement reserves another. Otherwise the state stays the same.
    /// An idle sink is synced several times a second, and only a changed state is written.
    is_used: bool,
    current: Option<OpenFile>,
}

/// Where a record is.
pub(crate) struct RecordPlace<'f> {
    /// Name of the file.
    pub file: &'f str,
    /// Number of its page in the file, from 1.
    pub page: u64,
    /// Offset of its first byte; 0 for a compressed stream.
    pub start: u64,
}

impl RollingFiles {
    /// Creates a missing folder, and removes what `state` does not acknowledge. With a null state it removes nothing:
    /// unfinished files are closed after their last complete record.
    ///
    /// # Errors [`SinkError::Replaced`] if there is a state and no folder.
    pub fn open(folder: &Path, rolling: RollingOptions, state: &serde_json::Value) -> Result<RollingFiles, SinkError> {
        refuse_missing("files", folder, !state.is_null())?;
        create_folder(folder)?;
        let reserved = rollback::restore(folder, &rolling, state)?;
        Ok(RollingFiles { folder: folder.into(), rolling, reserved, is_used: false, current: None })
    }

    /// Appends a complete record. If it might not fit, closes the file and starts a new one; `first` makes its
    /// beginning from its name. Returns the name of a file closed for that.
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

    /// Where the last record of `length` bytes is.
    pub(crate) fn location_of_last(&self, length: usize) -> Option<RecordPlace<'_>> {
        let current = self.current.as_ref()?;
        let start = current.length().map_or(0, |end| end.saturating_sub(length as u64));
        Some(RecordPlace { file: &current.name, page: current.pages, start })
    }

    /// Makes all records durable, and a compressed stream readable. Returns the state to commit.
    pub fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        match &mut self.current {
            Some(current) => current.sync()?,
            None => has_folder(&self.folder)?,
        }
        if std::mem::take(&mut self.is_used) {
            self.reserved = seine_system::clock::now_ms().max(self.reserved + 1);
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

/// Fails if the folder was deleted, since its files are lost.
fn has_folder(folder: &Path) -> Result<(), SinkError> {
    match folder.is_dir() {
        true => Ok(()),
        false => Err(gone(format!("the folder {} was deleted or moved", folder.display()))),
    }
}

/// The pages are delivered again as far as the page log still has them.
fn gone(how: String) -> SinkError {
    SinkError::Replaced { sink: "files", how }
}
