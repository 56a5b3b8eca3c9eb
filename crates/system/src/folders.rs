//! Folders of a crawl's own.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Makes a folder, and those above it that are missing, for its owner alone (0700): pages that were fetched with somebody's
/// cookies are nobody else's business. One that is there stays as it is: whoever made it may want others to read it.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// What was found or done, unless there was nothing there.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// What a folder's name ends in until it is whole.
pub const DRAFT: &str = ".new";

/// Where to make what must be whole at its `place` or not be there: a folder beside it, which is not there yet. What an
/// interrupted making left of it is removed. [`settle`] moves it.
pub fn draft(place: &Path) -> io::Result<PathBuf> {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(DRAFT);
    let draft = place.with_file_name(name);
    if draft.try_exists()? {
        fs::remove_dir_all(&draft)?;
    }
    Ok(draft)
}

/// Moves a draft that is whole, and on disk, to its place.
pub fn settle(draft: &Path, place: &Path) -> io::Result<()> {
    fs::rename(draft, place)?;
    File::open(place.parent().unwrap_or(place))?.sync_all()
}

/// Who may read a file: its owner alone; or everybody, as far as the process's umask and its folder let them.
pub const OWNERS: u32 = 0o600;
pub const EVERYBODYS: u32 = 0o666;

/// Puts a file with these bytes in the place of whatever is there, in one step. Durable when this returns.
pub fn put(place: &Path, bytes: &[u8], mode: u32) -> io::Result<File> {
    let new = place.with_extension("new");
    // What an interrupted writing left may have other rights.
    if_there(fs::remove_file(&new))?;
    let mut file = File::options().read(true).write(true).create_new(true).mode(mode).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    settle(&new, place)?;
    Ok(file)
}
