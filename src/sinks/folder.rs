//! Files and folders of sinks: durable operations, and errors that say what to do.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::sink::SinkError;

/// Creates a missing folder.
pub(super) fn create_folder(folder: &Path) -> Result<(), SinkError> {
    if folder.is_dir() {
        return Ok(());
    }
    seine_system::folders::make_private(folder).map_err(|e| file_error("creating the folder", folder, e))?;
    match folder.parent() {
        Some(parent) if parent != Path::new("") => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}

/// Fails if the folder of a sink that has delivered pages is gone: it was deleted, or the data folder was restored without it. Called
/// before the folder is created. If only files are missing, they may have been moved away on purpose.
pub(super) fn refuse_missing(sink: &'static str, folder: &Path, has_delivered: bool) -> Result<(), SinkError> {
    match has_delivered && !folder.exists() {
        true => Err(SinkError::Replaced { sink, how: format!("the folder {} is gone", folder.display()) }),
        false => Ok(()),
    }
}

/// The files of a folder with matching names, sorted.
pub(super) fn list_named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, SinkError> {
    let names = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>())
        .map_err(|e| file_error("listing", folder, e))?;
    let wanted = |name: &std::ffi::OsString| name.to_str().is_some_and(&is_wanted);
    let mut paths: Vec<PathBuf> = names.into_iter().filter(wanted).map(|name| folder.join(name)).collect();
    paths.sort();
    Ok(paths)
}

/// The last `count` bytes of a file, or the whole file if it is shorter.
pub(crate) fn last_bytes(path: &Path, count: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(count)))?;
    let mut last = Vec::new();
    file.take(count).read_to_end(&mut last)?;
    Ok(last)
}

/// Makes added and removed names durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), SinkError> {
    File::open(folder).and_then(|it| it.sync_all()).map_err(|e| file_error("syncing", folder, e))
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<(), SinkError> {
    std::fs::rename(from, to).map_err(|e| file_error("renaming", from, e))
}

/// Cuts a file to a length, and appends an ending.
pub(super) fn cut(path: &Path, length: u64, ending: &[u8]) -> Result<(), SinkError> {
    let cut = || {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(ending)?;
        file.sync_all()
    };
    cut().map_err(|e| file_error("cutting back", path, e))
}

pub(super) fn file_error(action: &'static str, path: &Path, source: std::io::Error) -> SinkError {
    let remedy = match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space on the disk; delivery then continues by itself"
        }
        ErrorKind::PermissionDenied => "let the user that runs seine write there",
        _ => "check the disk and the folder; delivery is tried again",
    };
    SinkError::File { action, path: path.display().to_string(), source, remedy }
}
