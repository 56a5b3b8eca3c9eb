//! A folder that is still being written. A mark file in it shows that it is incomplete, so that nobody uses it before it
//! is finished.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use seine_system::folders::{if_there, make_private};

use super::error::BackupError;

pub(super) const BACKUP_MARK: &str = "backup.unfinished";
pub(super) const RESTORE_MARK: &str = "restore.unfinished";
/// Created by the file system at the top of a volume. A folder with nothing else counts as empty.
const LOST_AND_FOUND: &str = "lost+found";

/// Refuses a data folder that an interrupted restore left incomplete.
pub(crate) fn refuse_half_restored(folder: &Path) -> Result<(), BackupError> {
    match folder.join(RESTORE_MARK).exists() {
        true => Err(BackupError::HalfRestored(folder.to_owned())),
        false => Ok(()),
    }
}

/// If this is dropped before it is finished, it deletes what was written.
pub(super) struct Draft {
    pub folder: PathBuf,
    mark: PathBuf,
    /// The mark file, locked. If the process is killed, the mark stays but is no longer locked.
    lock: File,
    was_there: bool,
    is_whole: bool,
}

impl Draft {
    /// Starts in a missing or empty folder. Also takes a folder that an interrupted run left, and deletes its content.
    pub(super) fn begin(folder: &Path, mark_name: &str) -> Result<Draft, BackupError> {
        let was_there = folder.exists();
        make_private(folder).map_err(BackupError::file("making", folder))?;
        let mark = folder.join(mark_name);
        let is_empty = entries(folder).map_err(BackupError::file("reading", folder))?.is_empty();
        if !is_empty && !mark.exists() {
            return Err(BackupError::NotEmpty(folder.to_owned()));
        }
        let lock = File::options().create(true).truncate(false).write(true).open(&mark);
        let lock = lock.map_err(BackupError::file("making", &mark))?;
        lock.try_lock().map_err(|_| BackupError::InUse(folder.to_owned()))?;
        let draft = Draft { folder: folder.to_owned(), mark, lock, was_there, is_whole: false };
        draft.empty().map_err(BackupError::file("emptying", folder))?;
        Ok(draft)
    }

    /// Makes everything in the folder durable, then calls `last`. After that the folder is complete.
    pub(super) fn finish(mut self, last: impl FnOnce(&Path) -> Result<(), BackupError>) -> Result<(), BackupError> {
        sync_tree(&self.folder).map_err(BackupError::file("syncing", &self.folder))?;
        last(&self.folder)?;
        fs::remove_file(&self.mark).map_err(BackupError::file("removing", &self.mark))?;
        self.is_whole = true;
        File::open(&self.folder).and_then(|it| it.sync_all()).map_err(BackupError::file("syncing", &self.folder))
    }

    /// Deletes everything except the mark.
    fn empty(&self) -> std::io::Result<()> {
        for path in entries(&self.folder)? {
            match path.is_dir() {
                _ if path == self.mark => {}
                true => fs::remove_dir_all(&path)?,
                false => fs::remove_file(&path)?,
            }
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_whole {
            let emptied = self.empty().and_then(|()| fs::remove_file(&self.mark));
            let removed = emptied.and_then(|()| if self.was_there { Ok(()) } else { fs::remove_dir(&self.folder) });
            if let Err(error) = if_there(removed) {
                tracing::warn!(folder = %self.folder.display(), %error, "the incomplete folder could not be removed");
            }
        }
        let _ = self.lock.unlock();
    }
}

fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.file_name().is_none_or(|name| name != LOST_AND_FOUND)).collect())
}

fn sync_tree(folder: &Path) -> std::io::Result<()> {
    for path in entries(folder)? {
        match path.is_dir() {
            true => sync_tree(&path)?,
            false => File::open(&path)?.sync_all()?,
        }
    }
    File::open(folder)?.sync_all()
}
