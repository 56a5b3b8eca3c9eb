//! Writes files that are complete or missing: first under a temporary name, then renamed when they are on disk.
//!
//! The disk is synced once per batch (`syncfs`). An `fsync` for each small file would cost more than fetching its page.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::folder::{create_folder, file_error};
use super::sink::SinkError;
use crate::folders::if_there;
use crate::page::EpochMs;

/// Folder for unfinished files, in the sink's folder. No folder of a URL or day has this name.
pub const WRITING: &str = "~writing";

/// A batch of unfinished files.
pub(super) struct StagedFiles {
    folder: PathBuf,
    waiting: Vec<StagedFile>,
    /// Files were renamed since the last [`sync`](StagedFiles::sync).
    is_unsynced: bool,
}

/// A file with a temporary name.
struct StagedFile {
    temporary: PathBuf,
    path: PathBuf,
}

impl StagedFiles {
    /// Removes files that an earlier run did not finish.
    pub fn open(folder: &Path) -> Result<StagedFiles, SinkError> {
        let writing = folder.join(WRITING);
        if_there(std::fs::remove_dir_all(&writing)).map_err(|e| file_error("emptying", &writing, e))?;
        create_folder(&writing)?;
        Ok(StagedFiles { folder: folder.into(), waiting: Vec::new(), is_unsynced: false })
    }

    /// Writes a file for `path`, whose folder must exist. `time` becomes its modification time; the default is the time
    /// of writing.
    pub fn write(&mut self, path: PathBuf, content: &[u8], time: Option<EpochMs>) -> Result<(), SinkError> {
        let temporary = self.folder.join(WRITING).join(self.waiting.len().to_string());
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(content)?;
            time.map_or(Ok(()), |time| file.set_modified(UNIX_EPOCH + Duration::from_millis(time)))
        };
        write().map_err(|e| file_error("writing", &temporary, e))?;
        self.waiting.push(StagedFile { temporary, path });
        Ok(())
    }

    /// Renames all written files; for equal paths the last one stays. Durable after [`sync`](StagedFiles::sync).
    pub fn place(&mut self) -> Result<(), SinkError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.sync_disk()?;
        self.is_unsynced = true;
        for file in self.waiting.drain(..) {
            std::fs::rename(&file.temporary, &file.path).map_err(|e| file_error("renaming to", &file.path, e))?;
        }
        Ok(())
    }

    /// Makes renamed files durable, along with everything else on this disk. Does nothing if no file was renamed, since
    /// an idle sink is flushed several times a second.
    pub fn sync(&mut self) -> Result<(), SinkError> {
        if self.is_unsynced {
            self.sync_disk()?;
            self.is_unsynced = false;
        }
        Ok(())
    }

    fn sync_disk(&self) -> Result<(), SinkError> {
        let synced = File::open(&self.folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        synced.map_err(|e| file_error("syncing", &self.folder, e))
    }
}
