//! Writes files that are complete or missing: first under a temporary name, then renamed when they are on disk.
//!
//! The disk is synced once per batch (`syncfs`). An `fsync` for each small file would cost more than fetching its page.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use seine_parse::page::EpochMs;
use seine_system::folders::if_there;

use super::folder::{create_folder, file_error, refuse_missing};
use super::sink::SinkError;

/// In the committed state of a sink that has begun.
const BEGUN: &str = "begun";

/// Folder for unfinished files, in the sink's folder. No folder of a URL or day has this name.
pub(crate) const WRITING: &str = "~writing";

/// A batch of unfinished files.
pub(super) struct StagedFiles {
    /// The name of the sink's kind, for errors.
    sink: &'static str,
    folder: PathBuf,
    /// Device and inode of the folder for unfinished files. They tell whether the sink's folder was deleted.
    identity: (u64, u64),
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
    pub(super) fn open(folder: &Path, sink: &'static str) -> Result<StagedFiles, SinkError> {
        let writing = folder.join(WRITING);
        if_there(std::fs::remove_dir_all(&writing)).map_err(|e| file_error("emptying", &writing, e))?;
        create_folder(&writing)?;
        let identity = identity(&writing)?.unwrap_or_default();
        Ok(StagedFiles { sink, folder: folder.into(), identity, waiting: Vec::new(), is_unsynced: false })
    }

    /// The state that such a sink commits.
    pub(super) fn state() -> serde_json::Value {
        serde_json::json!({ BEGUN: true })
    }

    /// Fails if the folder was deleted since a sink delivered into it, and reports it if everything in it was. Called before the folder
    /// is made. `state`: as committed.
    pub(super) fn check_before(sink: &'static str, folder: &Path, state: &serde_json::Value) -> Result<(), SinkError> {
        let has_delivered = state[BEGUN] == true;
        refuse_missing(sink, folder, has_delivered)?;
        if has_delivered && !folder.join(WRITING).is_dir() {
            tracing::error!(
                folder = %folder.display(),
                "the files in the folder are gone, with pages that were delivered; seine sinks refill NAME delivers them again"
            );
        }
        Ok(())
    }

    /// Fails if the folder, or all that was in it, was deleted or moved. Nobody would find what was delivered before.
    fn check_folder(&self) -> Result<(), SinkError> {
        match identity(&self.folder.join(WRITING))? == Some(self.identity) {
            true => Ok(()),
            false => Err(gone(self.sink, &self.folder)),
        }
    }

    /// Writes a file for `path`, whose folder must exist. `time` becomes its modification time; the default is the time
    /// of writing.
    pub(super) fn write(&mut self, path: PathBuf, content: &[u8], time: Option<EpochMs>) -> Result<(), SinkError> {
        let temporary = self.folder.join(WRITING).join(self.waiting.len().to_string());
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(content)?;
            time.map_or(Ok(()), |time| file.set_modified(UNIX_EPOCH + Duration::from_millis(time)))
        };
        write().or_else(|error| {
            self.check_folder()?;
            Err(file_error("writing", &temporary, error))
        })?;
        self.waiting.push(StagedFile { temporary, path });
        Ok(())
    }

    /// Renames all written files; for equal paths the last one stays. Durable after [`sync`](StagedFiles::sync).
    pub(super) fn publish(&mut self) -> Result<(), SinkError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.sync_disk()?;
        self.is_unsynced = true;
        for file in std::mem::take(&mut self.waiting) {
            let Err(error) = std::fs::rename(&file.temporary, &file.path) else { continue };
            let folder = file.path.parent().filter(|folder| !folder.is_dir());
            return Err(folder.map_or_else(|| file_error("renaming to", &file.path, error), |it| gone(self.sink, it)));
        }
        Ok(())
    }

    /// Makes renamed files durable, along with everything else on this disk. Does nothing if no file was renamed, since
    /// an idle sink is flushed several times a second.
    pub(super) fn sync(&mut self) -> Result<(), SinkError> {
        if self.is_unsynced {
            self.sync_disk()?;
            self.is_unsynced = false;
        }
        self.check_folder()
    }

    fn sync_disk(&self) -> Result<(), SinkError> {
        let synced = File::open(&self.folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        synced.map_err(|e| file_error("syncing", &self.folder, e))
    }
}

fn gone(sink: &'static str, folder: &Path) -> SinkError {
    let how = format!("the folder {} was deleted or moved, or what was in it", folder.display());
    SinkError::Replaced { sink, how }
}

/// Device and inode; none if it does not exist.
fn identity(folder: &Path) -> Result<Option<(u64, u64)>, SinkError> {
    let metadata = if_there(std::fs::metadata(folder)).map_err(|e| file_error("looking at", folder, e))?;
    Ok(metadata.map(|metadata| (metadata.dev(), metadata.ino())))
}
