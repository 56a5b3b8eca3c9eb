//! Files that are there whole or not at all: written under another name, and given their own when they are on disk.
//!
//! The disk is asked once a batch, for everything (`syncfs`): an `fsync` for each small file would cost more than fetching
//! what is in it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::folder::{create_folder, file_error};
use super::sink::SinkError;
use crate::folders::if_there;
use crate::page::EpochMs;

/// Where files are on their way, below the sink's folder. No URL's or day's folder has such a name.
pub const WRITING: &str = "~writing";

/// A batch of files on their way.
pub(super) struct StagedFiles {
    folder: PathBuf,
    waiting: Vec<StagedFile>,
    /// Files have got their names since the last [`sync`](StagedFiles::sync).
    is_unsynced: bool,
}

/// Written, and without its own name.
struct StagedFile {
    temporary: PathBuf,
    path: PathBuf,
}

impl StagedFiles {
    /// Removes what an earlier run had not finished.
    pub fn open(folder: &Path) -> Result<StagedFiles, SinkError> {
        let writing = folder.join(WRITING);
        if_there(std::fs::remove_dir_all(&writing)).map_err(|e| file_error("emptying", &writing, e))?;
        create_folder(&writing)?;
        Ok(StagedFiles { folder: folder.into(), waiting: Vec::new(), is_unsynced: false })
    }

    /// Writes a file that will be at `path`, whose folder is there. `time`: what it shows as the time of its last change;
    /// else when it was written.
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

    /// Everything written gets its name; the last of one path stays. Durable after [`sync`](StagedFiles::sync).
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

    /// Makes durable what was placed, and whatever else was written on this disk; asks nothing of it when nothing was placed,
    /// as an idle sink is flushed several times a second.
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
