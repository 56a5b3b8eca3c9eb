//! Rolling compressed files: one zlib stream each, never appended to by a later run, and after a crash cut back to
//! exactly what was acknowledged.
//!
//! The sink's committed state says how: it names the open file with its length and checksum at the last acknowledgement,
//! and reserves a number of milliseconds for the names of files opened after it. A file with the reserved number holds
//! nothing acknowledged, or a later state would have been committed.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{SinkError, salvage};
use crate::formats::zlib_stream::{self, ZlibStream};
use crate::page::EpochMs;

/// Compressed bytes are gathered up to this many before they are written.
const WRITE_BYTES: usize = 256 << 10;

/// The files of one folder; the folder is the sink's own.
pub struct RollingFiles {
    folder: PathBuf,
    max_file_size: u64,
    level: u32,
    /// The milliseconds in the next file's name.
    reserved: EpochMs,
    /// A file has them in its name: the next acknowledgement reserves others. Without one nothing changes: an idle sink is
    /// asked several times a second, and what changed is written.
    is_used: bool,
    current: Option<Current>,
}

/// The file being written.
struct Current {
    name: String,
    path: PathBuf,
    file: File,
    stream: ZlibStream,
    /// Compressed, and not yet written to `file`.
    pending: Vec<u8>,
    /// Compressed bytes in `file`.
    written: u64,
}

/// What is committed with the cursor.
#[derive(Serialize, Deserialize)]
struct Saved {
    open: Option<OpenFile>,
    reserved: EpochMs,
}

/// A file as of an acknowledgement: `length` compressed bytes that end with a flush.
#[derive(Serialize, Deserialize)]
struct OpenFile {
    name: String,
    length: u64,
    /// Of the uncompressed bytes.
    adler32: u32,
}

impl RollingFiles {
    /// Creates the folder when it is absent, and takes back what `state` does not acknowledge. With a null state nothing
    /// is taken back: files that an earlier writer left unfinished are closed behind their last whole line.
    pub fn open(
        folder: &Path,
        max_file_size: u64,
        level: u32,
        state: &serde_json::Value,
    ) -> Result<RollingFiles, SinkError> {
        create_folder(folder)?;
        let is_ours = |saved: &Saved| saved.open.as_ref().is_none_or(|open| is_our_name(&open.name));
        let reserved = match read_state(state, is_ours) {
            Some(saved) => {
                take_back(folder, &saved, level)?;
                saved.reserved
            }
            None => {
                salvage::close_unfinished(folder, level)?;
                now_ms()
            }
        };
        Ok(RollingFiles { folder: folder.into(), max_file_size, level, reserved, is_used: false, current: None })
    }

    /// Adds a record, its line feed included, to the open file, or to a new one when it might not fit.
    pub fn append(&mut self, record: &[u8]) -> Result<(), SinkError> {
        if self.current.as_ref().is_some_and(|it| it.at_most_after(record.len()) > self.max_file_size) {
            self.close()?;
        }
        let current = match &mut self.current {
            Some(current) => current,
            none => {
                self.is_used = true;
                none.insert(create(&self.folder, self.reserved, self.level)?)
            }
        };
        for piece in record.chunks(WRITE_BYTES) {
            current.stream.write(piece, &mut current.pending).map_err(|e| current.compress_error(e))?;
            if current.pending.len() >= WRITE_BYTES {
                current.write_pending()?;
            }
        }
        Ok(())
    }

    /// Makes everything added durable and readable. Returns the state to commit with it.
    pub fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        if let Some(current) = &mut self.current {
            current.sync()?;
        }
        if std::mem::take(&mut self.is_used) {
            self.reserved = now_ms().max(self.reserved + 1);
        }
        let open = self.current.as_ref().map(|current| OpenFile {
            name: current.name.clone(),
            length: current.written,
            adler32: current.stream.adler32(),
        });
        let saved = Saved { open, reserved: self.reserved };
        Ok(serde_json::to_value(saved).expect("a struct of strings and numbers is always JSON"))
    }

    /// Finishes the open file; the next record starts another.
    pub fn close(&mut self) -> Result<(), SinkError> {
        match self.current.take() {
            Some(current) => current.finish(),
            None => Ok(()),
        }
    }
}

impl Current {
    /// The most that the file's size can be once `more` bytes are added and it is finished.
    fn at_most_after(&self, more: usize) -> u64 {
        self.written + self.pending.len() as u64 + self.stream.at_most_after(more)
    }

    fn sync(&mut self) -> Result<(), SinkError> {
        self.stream.flush(&mut self.pending).map_err(|e| self.compress_error(e))?;
        if self.pending.is_empty() {
            return Ok(());
        }
        self.write_pending()?;
        self.file.sync_data().map_err(|e| file_error("syncing", &self.path, e))
    }

    fn finish(mut self) -> Result<(), SinkError> {
        self.stream.finish(&mut self.pending).map_err(|e| self.compress_error(e))?;
        self.write_pending()?;
        self.file.sync_all().map_err(|e| file_error("syncing", &self.path, e))
    }

    fn write_pending(&mut self) -> Result<(), SinkError> {
        self.file.write_all(&self.pending).map_err(|e| file_error("writing", &self.path, e))?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    fn compress_error(&self, error: flate2::CompressError) -> SinkError {
        file_error("compressing for", &self.path, std::io::Error::other(error))
    }
}

pub(super) fn create_folder(folder: &Path) -> Result<(), SinkError> {
    if folder.is_dir() {
        return Ok(());
    }
    crate::folders::make_private(folder).map_err(|e| file_error("creating the folder", folder, e))?;
    match folder.parent() {
        Some(parent) if parent != Path::new("") => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}

/// A new file under the first free name, durable before anything in it is acknowledged.
fn create(folder: &Path, epoch_ms: EpochMs, level: u32) -> Result<Current, SinkError> {
    let mut n = 0_u32;
    let (name, path, file) = loop {
        let name = format!("{}{n}{}", prefix(epoch_ms), SUFFIX);
        let path = folder.join(&name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => break (name, path, file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => n += 1,
            Err(error) => return Err(file_error("creating", &path, error)),
        }
    };
    sync_folder(folder)?;
    Ok(Current { name, path, file, stream: ZlibStream::new(level), pending: Vec::new(), written: 0 })
}

/// Brings the folder back to what was acknowledged. Can be broken off and done again at any point.
fn take_back(folder: &Path, saved: &Saved, level: u32) -> Result<(), SinkError> {
    let reserved = prefix(saved.reserved);
    remove_unacknowledged(folder, |name| name.starts_with(&reserved) && is_our_name(name))?;
    if let Some(open) = &saved.open {
        cut_back(folder, open, level)?;
    }
    sync_folder(folder)
}

/// Removes the files that were opened after the last acknowledgement.
pub(super) fn remove_unacknowledged(folder: &Path, is_one: impl Fn(&str) -> bool) -> Result<(), SinkError> {
    for path in list_named(folder, is_one)? {
        std::fs::remove_file(&path).map_err(|e| file_error("removing", &path, e))?;
        tracing::info!(path = %path.display(), "removed a file of which nothing was acknowledged; its pages come again");
    }
    Ok(())
}

/// What is there of the file written to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// At least what was acknowledged.
    Whole,
    Short,
    Gone,
}

/// Compares a file with its acknowledged length, and tells of what is lost.
pub(super) fn look_at_last(path: &Path, acknowledged: u64) -> Result<Last, SinkError> {
    let length = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            tracing::error!(path = %path.display(), "the file written to last is gone, with pages that were delivered");
            return Ok(Last::Gone);
        }
        Err(error) => return Err(file_error("looking at", path, error)),
    };
    if length < acknowledged {
        tracing::error!(path = %path.display(), length, acknowledged,
            "the file written to last is shorter than what was synced to it: delivered pages are lost");
        return Ok(Last::Short);
    }
    Ok(Last::Whole)
}

/// Cuts the file to its acknowledged length and ends the stream there.
fn cut_back(folder: &Path, open: &OpenFile, level: u32) -> Result<(), SinkError> {
    let path = folder.join(&open.name);
    match look_at_last(&path, open.length)? {
        Last::Gone => return Ok(()),
        Last::Short => return salvage::close_file(&path, level),
        Last::Whole => {}
    }
    let cut = || {
        let mut file = OpenOptions::new().write(true).open(&path)?;
        file.set_len(open.length)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&zlib_stream::ending(open.adler32))?;
        file.sync_all()
    };
    cut().map_err(|e| file_error("cutting back", &path, e))
}

/// None when there is none. One that cannot be read counts as lost, which may deliver pages twice but loses none.
/// `is_ours`: whether what it names is one of the sink's files.
pub(super) fn read_state<S: DeserializeOwned>(state: &serde_json::Value, is_ours: impl Fn(&S) -> bool) -> Option<S> {
    if state.is_null() {
        return None;
    }
    match S::deserialize(state) {
        Ok(saved) if is_ours(&saved) => Some(saved),
        Ok(_) => {
            tracing::warn!(%state, "the saved state names a file that is none of this sink's; going on without it");
            None
        }
        Err(error) => {
            tracing::warn!(%state, %error, "the saved state cannot be read; going on without it");
            None
        }
    }
}

const PREFIX: &str = "crawl_data-";
const SUFFIX: &str = ".deflate";

fn prefix(epoch_ms: EpochMs) -> String {
    format!("{PREFIX}{epoch_ms}-")
}

fn is_our_name(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX) && !name.contains(std::path::is_separator)
}

/// The folder's files of our naming whose name begins with `prefix`, in order.
pub(super) fn list(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, SinkError> {
    list_named(folder, |name| name.starts_with(prefix) && is_our_name(name))
}

/// The folder's files of such names, in order.
pub(super) fn list_named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, SinkError> {
    let names = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>())
        .map_err(|e| file_error("listing", folder, e))?;
    let wanted = |name: &std::ffi::OsString| name.to_str().is_some_and(&is_wanted);
    let mut paths: Vec<PathBuf> = names.into_iter().filter(wanted).map(|name| folder.join(name)).collect();
    paths.sort();
    Ok(paths)
}

/// Makes names that came or went durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), SinkError> {
    File::open(folder).and_then(|it| it.sync_all()).map_err(|e| file_error("syncing", folder, e))
}

pub(super) fn file_error(action: &'static str, path: &Path, source: std::io::Error) -> SinkError {
    let remedy = match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk; delivery then goes on by itself",
        ErrorKind::PermissionDenied => "let the user that runs seine write there",
        _ => "look at the disk and the folder; delivery is tried again",
    };
    SinkError::File { action, path: path.display().to_string(), source, remedy }
}

pub(super) fn now_ms() -> EpochMs {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis() as EpochMs)
}
