//! Folders and files of a crawl.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// Creates a folder and its missing parents for the owner only (0700), since pages fetched with somebody's cookies are
/// private. The permissions of an existing folder are kept: its owner may want others to read it.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The result of a file operation; none if the file does not exist.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Locks a file or folder as long as the result lives. None: another process has it.
pub fn try_lock(file: File) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Suffix of a folder that is not complete.
pub const DRAFT: &str = ".new";

/// A folder in which to prepare something that must be complete when it appears at `place`. The folder is next to
/// `place` and does not exist yet; leftovers of an interrupted attempt are removed. [`settle`] moves it.
pub fn draft(target: &Path) -> io::Result<PathBuf> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(DRAFT);
    let draft = target.with_file_name(name);
    if draft.try_exists()? {
        fs::remove_dir_all(&draft)?;
    }
    Ok(draft)
}

/// Moves a complete and durable draft to its place.
pub fn settle(draft: &Path, target: &Path) -> io::Result<()> {
    fs::rename(draft, target)?;
    sync_folder_of(target)
}

/// Moves a complete and durable file to its place. Durable when this returns.
pub fn move_to(file: TempPath, target: &Path) -> io::Result<()> {
    // Not `persist`, whose system call the simulation cannot see: in a process that was killed, it would still happen.
    fs::rename(&file, target)?;
    _ = file.keep();
    sync_folder_of(target)
}

/// A file that was made, renamed or removed in the folder of `place` is so after a power failure, too.
fn sync_folder_of(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Permissions of a file: for the owner only; or for everybody, as far as umask and folder allow.
pub const OWNERS: u32 = 0o600;
pub const EVERYBODYS: u32 = 0o666;

/// Replaces a file with these bytes in one step. Durable when this returns. An error leaves no unfinished file.
pub fn put(target: &Path, bytes: &[u8], mode: u32) -> io::Result<File> {
    let new = TempPath::try_from_path(target.with_extension("new"))?;
    // Leftovers of an interrupted write may have other permissions.
    if_there(fs::remove_file(&new))?;
    let mut file = File::options().read(true).write(true).create_new(true).mode(mode).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    move_to(new, target)?;
    Ok(file)
}
