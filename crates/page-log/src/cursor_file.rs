//! A reader's cursor on disk: `cursors/<name>.cursor`. The file has two slots of equal size, written in turn. The
//! newest intact slot counts.
//!
//! A slot is one line: CRC-32 (8 hex digits), a space, JSON, padded with spaces. Writing the slots in turn survives a
//! crash at any moment and costs one fdatasync. It needs no free space: on a full disk readers can still commit, so
//! that segments can be removed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::LogError;
use super::{record, segment};
use seine_delivery::Cursor;
use seine_system::folders::{self, if_there};

const SMALLEST_SLOT: usize = 4096;
/// Valid cursor files are smaller. A larger file is not read.
const LARGEST_FILE: u64 = 64 << 20;

/// Content of a slot.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Stored {
    sequence: u64,
    /// A follower keeps its cursor elsewhere. This one only keeps segments from being removed.
    pub follower: bool,
    pub cursor: Cursor,
}

#[derive(Debug)]
pub(super) struct CursorFile {
    path: PathBuf,
    file: File,
    slot_bytes: usize,
    stored: Stored,
}

pub(super) fn cursors_dir(dir: &Path) -> PathBuf {
    dir.join("cursors")
}

/// Whether the log in `dir` keeps the offset of a reader with this name. Opens nothing.
pub fn has_reader(dir: &Path, name: &str) -> bool {
    path(&cursors_dir(dir), name).is_file()
}

/// The durable cursor of a reader in the log in `dir`; none if there is no such reader. Opens nothing, so the reader may be in use.
pub fn stored_cursor(dir: &Path, name: &str) -> Result<Option<Cursor>, LogError> {
    let path = path(&cursors_dir(dir), name);
    let Some(file) = if_there(File::open(&path)).map_err(LogError::io("open", &path))? else { return Ok(None) };
    Ok(Some(read_slots(&path, &file)?.1.cursor))
}

/// Every cursor file in `dir`, by name of the reader.
pub(super) fn list(dir: &Path) -> Result<Vec<(String, PathBuf)>, LogError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(LogError::io("list", dir))? {
        let path = entry.map_err(LogError::io("list", dir))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".cursor"));
        if let Some(name) = name.filter(|name| check_name(name).is_ok()) {
            found.push((name.to_owned(), path));
        }
    }
    found.sort();
    Ok(found)
}

pub(super) fn check_name(name: &str) -> Result<(), LogError> {
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if (1..=64).contains(&name.len()) && name.bytes().all(fine) {
        Ok(())
    } else {
        Err(LogError::ReaderName(name.to_owned()))
    }
}

impl CursorFile {
    /// None if there is no such file.
    pub(crate) fn load(dir: &Path, name: &str) -> Result<Option<CursorFile>, LogError> {
        let path = path(dir, name);
        let opened = if_there(File::options().read(true).write(true).open(&path));
        let Some(file) = opened.map_err(LogError::io("open", &path))? else { return Ok(None) };
        let (slot_bytes, stored) = read_slots(&path, &file)?;
        Ok(Some(CursorFile { path, file, slot_bytes, stored }))
    }

    pub(crate) fn create(dir: &Path, name: &str, follower: bool, cursor: Cursor) -> Result<CursorFile, LogError> {
        let path = path(dir, name);
        let stored = Stored { sequence: 1, follower, cursor };
        let (file, slot_bytes) = make(&path, &stored).map_err(LogError::io("make cursor", &path))?;
        Ok(CursorFile { path, file, slot_bytes, stored })
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Durable when it returns. After an error the previous cursor still counts.
    pub(crate) fn write(&mut self, cursor: &Cursor) -> Result<(), LogError> {
        let stored =
            Stored { sequence: self.stored.sequence + 1, follower: self.stored.follower, cursor: cursor.clone() };
        let written = match slot(&stored, self.slot_bytes) {
            Some(slot) => {
                let at = (stored.sequence % 2) * self.slot_bytes as u64;
                self.file.write_all_at(&slot, at).and_then(|()| self.file.sync_data())
            }
            None => make(&self.path, &stored).map(|made| (self.file, self.slot_bytes) = made),
        };
        written.map_err(LogError::io("write cursor", &self.path))?;
        self.stored = stored;
        Ok(())
    }
}

/// Durable when it returns.
pub(super) fn remove(dir: &Path, name: &str) -> Result<(), LogError> {
    let path = path(dir, name);
    if_there(fs::remove_file(&path)).map_err(LogError::io("remove", &path))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(LogError::io("sync", dir))
}

fn path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.cursor"))
}

/// The bytes of a slot; none if the slot is too small.
fn slot(stored: &Stored, bytes: usize) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(stored).ok()?;
    let mut slot = format!("{:08x} ", record::crc32(&[&json])).into_bytes();
    slot.extend_from_slice(&json);
    if slot.len() >= bytes {
        return None;
    }
    slot.resize(bytes - 1, b' ');
    slot.push(b'\n');
    Some(slot)
}

/// A new cursor file for the given cursor.
pub(super) fn bytes_of(follower: bool, cursor: &Cursor) -> io::Result<Vec<u8>> {
    file_bytes(&Stored { sequence: 1, follower, cursor: cursor.clone() })
}

/// A new file whose slots have twice the size needed now.
fn file_bytes(stored: &Stored) -> io::Result<Vec<u8>> {
    let slot_bytes = (serde_json::to_vec(stored)?.len() * 2).next_power_of_two().max(SMALLEST_SLOT);
    let filled = slot(stored, slot_bytes).ok_or_else(|| io::Error::other("cursor does not fit its slot"))?;
    let empty = vec![b' '; slot_bytes];
    // Even sequence numbers are in the first slot.
    let slots = if stored.sequence.is_multiple_of(2) { [filled, empty] } else { [empty, filled] };
    Ok(slots.concat())
}

/// Replaces the file atomically with a new one. Returns it with the size of its slots.
fn make(path: &Path, stored: &Stored) -> io::Result<(File, usize)> {
    let bytes = file_bytes(stored)?;
    Ok((folders::put(path, &bytes, folders::EVERYBODYS)?, bytes.len() / 2))
}

fn read_slots(path: &Path, mut file: &File) -> Result<(usize, Stored), LogError> {
    let unreadable = |problem: &str| LogError::Cursor { path: path.to_owned(), problem: problem.to_owned() };
    let length = file.metadata().map_err(LogError::io("look at", path))?.len();
    if length > LARGEST_FILE || length < 2 * SMALLEST_SLOT as u64 {
        return Err(unreadable("it cannot be a cursor by its size"));
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes).map_err(LogError::io("read", path))?;
    let slot_bytes = bytes.len() / 2;
    let newest = bytes.chunks_exact(slot_bytes).filter_map(parse).max_by_key(|stored| stored.sequence);
    let stored = newest.ok_or_else(|| unreadable("both of its slots are damaged"))?;
    if stored.cursor.position.index >= segment::LARGEST || stored.cursor.position.offset >= segment::LARGEST {
        return Err(unreadable("its position is impossible"));
    }
    Ok((slot_bytes, stored))
}

fn parse(slot: &[u8]) -> Option<Stored> {
    let (crc, json) = slot.trim_ascii_end().split_at_checked(9)?;
    let crc = u32::from_str_radix(std::str::from_utf8(crc.trim_ascii_end()).ok()?, 16).ok()?;
    (crc == record::crc32(&[json])).then(|| serde_json::from_slice(json).ok())?
}
