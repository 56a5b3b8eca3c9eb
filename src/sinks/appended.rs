//! Rolling files of whole records: appended to, never by a later run, and after a crash cut back to exactly what was
//! acknowledged. A file carries `.open` behind its name while it is written.
//!
//! As in [`rolling`](super::rolling), the sink's committed state names the open file with its length at the last
//! acknowledgement, and reserves a time for the names of files opened after it: a file with the reserved time holds
//! nothing acknowledged, or a later state would have been committed.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::macros::format_description;

use super::SinkError;
use super::rolling::{
    Last, create_folder, file_error, list_named, look_at_last, now_ms, read_state, remove_unacknowledged, sync_folder,
};
use crate::page::EpochMs;

/// Records are gathered up to this many bytes before they are written.
const WRITE_BYTES: usize = 256 << 10;
const PREFIX: &str = "crawl_data-";
const OPEN: &str = ".open";

/// What the files of a folder look like: `crawl_data-<time>-<serial><suffix>`.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// With its dot: `.warc.gz`.
    pub suffix: &'static str,
    pub stamp: Stamp,
    /// The serial number has zeros before it, up to so many digits.
    pub serial_digits: usize,
    /// A larger file is closed and the next one begun; only a single record that is larger makes a larger file.
    pub max_file_size: u64,
    /// How many bytes of a file are whole records. Asked of files that an earlier writer left open and no state knows.
    pub whole_length: fn(&mut File) -> std::io::Result<u64>,
}

/// How the time stands in a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// `1795271825985`
    EpochMs,
    /// `20261121143705985`, UTC
    UtcMillis,
}

/// The files of one folder; the folder is the sink's own.
pub struct AppendedFiles {
    folder: PathBuf,
    shape: Shape,
    /// The time in the next file's name.
    reserved: EpochMs,
    /// As in [`rolling`](super::rolling): a file has it in its name.
    is_used: bool,
    current: Option<Current>,
}

/// The file being written.
struct Current {
    /// Without `.open`.
    name: String,
    path: PathBuf,
    file: File,
    /// Not yet written to `file`.
    pending: Vec<u8>,
    /// Bytes in `file`.
    written: u64,
    /// Bytes of them that are on disk for certain.
    synced: u64,
}

/// What is committed with the cursor.
#[derive(Serialize, Deserialize)]
struct Saved {
    open: Option<OpenFile>,
    reserved: EpochMs,
}

/// A file as of an acknowledgement.
#[derive(Serialize, Deserialize)]
struct OpenFile {
    name: String,
    length: u64,
}

impl AppendedFiles {
    /// Creates the folder when it is absent, and takes back what `state` does not acknowledge. With a null state nothing
    /// is taken back: files that an earlier writer left open are closed behind their last whole record.
    pub fn open(folder: &Path, shape: Shape, state: &serde_json::Value) -> Result<AppendedFiles, SinkError> {
        create_folder(folder)?;
        let is_ours = |saved: &Saved| saved.open.as_ref().is_none_or(|open| shape.is_ours(&open.name));
        let reserved = match read_state(state, is_ours) {
            Some(saved) => {
                take_back(folder, &saved, &shape)?;
                saved.reserved
            }
            None => {
                close_left_open(folder, &shape)?;
                now_ms()
            }
        };
        Ok(AppendedFiles { folder: folder.into(), shape, reserved, is_used: false, current: None })
    }

    /// Adds a whole record to the open file, or to a new one when it does not fit; a new file begins with what `first`
    /// makes of its name.
    pub fn append(&mut self, record: &[u8], first: impl FnOnce(&str) -> Vec<u8>) -> Result<(), SinkError> {
        let too_long = |it: &Current| it.length() + record.len() as u64 > self.shape.max_file_size;
        if self.current.as_ref().is_some_and(too_long) {
            self.close()?;
        }
        let current = match &mut self.current {
            Some(current) => current,
            none => {
                self.is_used = true;
                let mut new = create(&self.folder, self.reserved, &self.shape)?;
                new.pending = first(&new.name);
                none.insert(new)
            }
        };
        for piece in record.chunks(WRITE_BYTES) {
            current.pending.extend_from_slice(piece);
            if current.pending.len() >= WRITE_BYTES {
                current.write_pending()?;
            }
        }
        Ok(())
    }

    /// The name, without `.open`, and length of the file that the next record goes to, as far as that is decided.
    pub fn current(&self) -> Option<(&str, u64)> {
        self.current.as_ref().map(|it| (it.name.as_str(), it.length()))
    }

    /// Makes everything added durable. Returns the state to commit with it.
    pub fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        if let Some(current) = &mut self.current {
            current.sync()?;
        }
        if std::mem::take(&mut self.is_used) {
            self.reserved = now_ms().max(self.reserved + 1);
        }
        let open = self.current.as_ref().map(|it| OpenFile { name: it.name.clone(), length: it.written });
        let saved = Saved { open, reserved: self.reserved };
        Ok(serde_json::to_value(saved).expect("a struct of strings and numbers is always JSON"))
    }

    /// Finishes the open file; the next record starts another.
    pub fn close(&mut self) -> Result<(), SinkError> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        current.sync()?;
        rename(&current.path, &self.folder.join(&current.name))?;
        sync_folder(&self.folder)
    }
}

impl Current {
    fn length(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn sync(&mut self) -> Result<(), SinkError> {
        self.write_pending()?;
        // Nothing may be pending and yet not be synced: much is written before anybody asks.
        if self.synced < self.written {
            self.file.sync_data().map_err(|e| file_error("syncing", &self.path, e))?;
            self.synced = self.written;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> Result<(), SinkError> {
        self.file.write_all(&self.pending).map_err(|e| file_error("writing", &self.path, e))?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

impl Shape {
    fn prefix(&self, epoch_ms: EpochMs) -> String {
        match self.stamp {
            Stamp::EpochMs => format!("{PREFIX}{epoch_ms}-"),
            Stamp::UtcMillis => format!("{PREFIX}{}-", utc_millis(epoch_ms)),
        }
    }

    /// Whether a file name, with or without `.open`, is one of these.
    fn is_ours(&self, name: &str) -> bool {
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        name.starts_with(PREFIX) && name.ends_with(self.suffix) && !name.contains(std::path::is_separator)
    }
}

/// `20261121143705985`
fn utc_millis(epoch_ms: EpochMs) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(epoch_ms) * 1_000_000);
    let format = format_description!("[year][month][day][hour][minute][second][subsecond digits:3]");
    time.ok().and_then(|it| it.format(&format).ok()).unwrap_or_else(|| epoch_ms.to_string())
}

/// A new file under the first free name, durable before anything in it is acknowledged.
fn create(folder: &Path, epoch_ms: EpochMs, shape: &Shape) -> Result<Current, SinkError> {
    let mut serial = 0_u32;
    let (name, path, file) = loop {
        let name = format!("{}{serial:0digits$}{}", shape.prefix(epoch_ms), shape.suffix, digits = shape.serial_digits);
        let path = folder.join(format!("{name}{OPEN}"));
        if !folder.join(&name).exists() {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break (name, path, file),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(file_error("creating", &path, error)),
            }
        }
        serial += 1;
    };
    sync_folder(folder)?;
    Ok(Current { name, path, file, pending: Vec::new(), written: 0, synced: 0 })
}

/// Brings the folder back to what was acknowledged. Can be broken off and done again at any point.
fn take_back(folder: &Path, saved: &Saved, shape: &Shape) -> Result<(), SinkError> {
    let reserved = shape.prefix(saved.reserved);
    remove_unacknowledged(folder, |name| shape.is_ours(name) && name.starts_with(&reserved))?;
    if let Some(open) = &saved.open {
        cut_back(folder, open)?;
    }
    sync_folder(folder)
}

/// Cuts the file to its acknowledged length and gives it its final name. It may have that already.
fn cut_back(folder: &Path, open: &OpenFile) -> Result<(), SinkError> {
    let done = folder.join(&open.name);
    let writing = folder.join(format!("{}{OPEN}", open.name));
    let path = if writing.exists() { &writing } else { &done };
    match look_at_last(path, open.length)? {
        Last::Gone => return Ok(()),
        Last::Short => {}
        Last::Whole => cut(path, open.length)?,
    }
    if path == &writing { rename(&writing, &done) } else { Ok(()) }
}

/// What an earlier writer left open, and no state knows of.
fn close_left_open(folder: &Path, shape: &Shape) -> Result<(), SinkError> {
    for path in list_named(folder, |name| name.ends_with(OPEN) && shape.is_ours(name))? {
        let length = File::open(&path)
            .and_then(|mut file| (shape.whole_length)(&mut file))
            .map_err(|e| file_error("reading", &path, e))?;
        if length == 0 {
            std::fs::remove_file(&path).map_err(|e| file_error("removing", &path, e))?;
            continue;
        }
        cut(&path, length)?;
        rename(&path, &path.with_extension(""))?;
        tracing::info!(path = %path.display(), length, "closed a file that an earlier run left open");
    }
    sync_folder(folder)
}

fn cut(path: &Path, length: u64) -> Result<(), SinkError> {
    let cut = || {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.sync_all()
    };
    cut().map_err(|e| file_error("cutting back", path, e))
}

fn rename(from: &Path, to: &Path) -> Result<(), SinkError> {
    std::fs::rename(from, to).map_err(|e| file_error("renaming", from, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No file system lets a test see this from outside.
    #[test]
    fn what_was_written_before_anybody_asked_is_synced_too() {
        let folder = tempfile::tempdir().unwrap();
        let whole_length = |file: &mut File| Ok(file.metadata()?.len());
        let shape =
            Shape { suffix: ".txt", stamp: Stamp::EpochMs, serial_digits: 1, max_file_size: u64::MAX, whole_length };
        let mut files = AppendedFiles::open(folder.path(), shape, &serde_json::Value::Null).unwrap();
        for size in [WRITE_BYTES, 1, WRITE_BYTES + 1] {
            files.append(&vec![b'x'; size], |_| Vec::new()).unwrap();
            files.sync().unwrap();
            let current = files.current.as_ref().unwrap();
            assert_eq!((current.synced, current.pending.len()), (current.written, 0));
        }
    }
}
