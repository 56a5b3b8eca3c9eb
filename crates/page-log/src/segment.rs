//! A segment file: `<index of its first event>-<its offset in the log>.log`. A header of 32 bytes, then records.
//!
//! The header, little-endian: magic (8 bytes), format version (4), index of the first event (8), offset (8), CRC-32 of
//! these (4). Offsets in the log count records only. So a segment ends exactly where the next one begins; bytes after
//! that were never accepted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::error::LogError;
use super::record::{self, Header};
use super::status::Damage;
use seine_delivery::Offset;
use seine_system::{disk, folders};

pub(super) const FILE_HEADER: u64 = 32;
const FILE_MAGIC: [u8; 8] = *b"SEINELOG";
/// Version of the segment format. Seine reads this version and earlier ones.
pub const FORMAT: u32 = 1;
/// No valid index or offset is near this. A larger one is invalid, and adding to it could overflow.
pub(super) const LARGEST: u64 = 1 << 62;
/// Number of bytes searched at once for the next intact record.
const WINDOW: usize = 64 << 10;

/// `start` is the position before the first event of the segment.
pub(super) fn path(dir: &Path, start: Offset) -> PathBuf {
    dir.join(format!("{:020}-{:020}.log", start.index + 1, start.offset))
}

/// The start of the segment with this file name; none if it is not a segment.
fn start_of(name: &str) -> Option<Offset> {
    let (first, offset) = name.strip_suffix(".log")?.split_once('-')?;
    let (first, offset) = (first.parse::<u64>().ok()?, offset.parse::<u64>().ok()?);
    (first > 0 && first < LARGEST && offset < LARGEST).then(|| Offset { index: first - 1, offset })
}

/// All segments in `dir` in order, by start. Removes temporary files.
pub(super) fn list(dir: &Path) -> Result<Vec<(Offset, PathBuf)>, LogError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(LogError::io("list", dir))? {
        let path = entry.map_err(LogError::io("list", dir))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.ends_with(".new") {
            fs::remove_file(&path).map_err(LogError::io("remove", &path))?;
        } else if let Some(start) = start_of(name) {
            found.push((start, path));
        }
    }
    found.sort();
    Ok(found)
}

fn header_bytes(start: Offset) -> [u8; FILE_HEADER as usize] {
    let mut bytes = [0; FILE_HEADER as usize];
    bytes[..8].copy_from_slice(&FILE_MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[12..20].copy_from_slice(&(start.index + 1).to_le_bytes());
    bytes[20..28].copy_from_slice(&start.offset.to_le_bytes());
    let crc = record::crc32(&[&bytes[..28]]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Creates a durable, empty segment. Replaces one of the same name that has no durable records.
pub(super) fn create(dir: &Path, start: Offset) -> Result<(File, PathBuf), LogError> {
    let path = path(dir, start);
    let file =
        folders::put(&path, &header_bytes(start), folders::EVERYBODYS).map_err(LogError::io("make segment", &path))?;
    Ok((file, path))
}

/// Deletes the files of removed segments. A file that cannot be deleted is found and removed at the next start.
pub(super) fn remove(freed: &[PathBuf]) {
    for path in freed {
        if let Err(error) = std::fs::remove_file(path) {
            tracing::warn!(segment = %path.display(), %error, "could not remove a segment that every reader has passed");
        }
    }
}

/// The content at a position of a segment.
pub(super) enum Found {
    Record {
        payload: Bytes,
        end: Offset,
    },
    /// Not an intact record. The next one, or the end of the segment, is at `to`.
    Damaged {
        to: Offset,
    },
}

/// A segment opened for reading.
#[derive(Debug)]
pub(super) struct SegmentFile {
    pub path: PathBuf,
    pub start: Offset,
    file: File,
}

impl SegmentFile {
    pub(crate) fn open(path: &Path, start: Offset) -> Result<SegmentFile, LogError> {
        let file = File::open(path).map_err(LogError::io("open", path))?;
        Ok(SegmentFile { path: path.to_owned(), start, file })
    }

    pub(crate) fn file_bytes(&self) -> Result<u64, LogError> {
        Ok(self.file.metadata().map_err(LogError::io("look at", &self.path))?.len())
    }

    /// Converts an offset in the log to an offset in this file.
    pub(crate) fn file_offset(&self, offset: u64) -> u64 {
        FILE_HEADER + offset.saturating_sub(self.start.offset)
    }

    pub(crate) fn damage(&self, from: Offset, to: Offset) -> Damage {
        Damage {
            segment: self.path.clone(),
            offset: self.file_offset(from.offset),
            bytes: to.offset.saturating_sub(from.offset),
            events: to.index.saturating_sub(from.index),
        }
    }

    /// Whether the file header is intact. A newer format, or the header of another segment, is an error.
    pub(crate) fn check_header(&self) -> Result<bool, LogError> {
        let mut bytes = [0; FILE_HEADER as usize];
        let have = disk::read_at(&self.file, &mut bytes, 0).map_err(LogError::io("read", &self.path))?;
        let whole = have == bytes.len()
            && bytes[..8] == FILE_MAGIC
            && bytes[28..] == record::crc32(&[&bytes[..28]]).to_le_bytes();
        if !whole {
            return Ok(false);
        }
        let found = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if found > FORMAT {
            return Err(LogError::Newer { path: self.path.clone(), found, known: FORMAT });
        }
        if bytes != header_bytes(self.start) {
            return Err(LogError::Corrupt {
                segment: self.path.clone(),
                offset: 0,
                problem: "the file's header does not match its name".into(),
                remedy: "rename the file to its original name",
            });
        }
        Ok(true)
    }

    /// Reads at `at`, using only records before `end`. `at` must be before `end`.
    pub(crate) fn read(&self, at: Offset, end: Offset) -> Result<Found, LogError> {
        let fail = LogError::io("read", &self.path);
        let found = self.header(at.offset, end).and_then(|header| match header {
            Some(header) if header.index == at.index + 1 => {
                let behind = Offset { index: header.index, offset: at.offset + header.record_bytes() };
                Ok(match self.payload(header, at.offset)? {
                    Some(payload) => Found::Record { payload, end: behind },
                    None => Found::Damaged { to: behind },
                })
            }
            _ => Ok(Found::Damaged { to: self.next_record(at, end)?.unwrap_or(end) }),
        });
        found.map_err(fail)
    }

    /// Whether the record of the event after `at` starts there.
    pub(crate) fn begins_record(&self, at: Offset, end: Offset) -> Result<bool, LogError> {
        let header = self.header(at.offset, end).map_err(LogError::io("read", &self.path))?;
        Ok(header.is_some_and(|header| header.index == at.index + 1))
    }

    /// The header at an offset of the log, if it is intact and its record ends before `end`.
    fn header(&self, offset: u64, end: Offset) -> io::Result<Option<Header>> {
        let mut bytes = [0; record::HEADER];
        let have = disk::read_at(&self.file, &mut bytes, self.file_offset(offset))?;
        let header = Header::from_bytes(&bytes[..have], offset);
        Ok(header.filter(|h| h.index <= end.index && offset + h.record_bytes() <= end.offset))
    }

    fn payload(&self, header: Header, offset: u64) -> io::Result<Option<Bytes>> {
        let mut payload = vec![0; header.length as usize];
        let have = disk::read_at(&self.file, &mut payload, self.file_offset(offset) + record::HEADER as u64)?;
        let whole = have == payload.len() && record::crc32(&[&payload]) == header.payload_crc;
        Ok(whole.then(|| Bytes::from(payload)))
    }

    /// The position just before the next intact record after `at`.
    fn next_record(&self, at: Offset, end: Offset) -> io::Result<Option<Offset>> {
        let magic = memchr::memmem::Finder::new(&record::MAGIC);
        let mut window = vec![0; WINDOW];
        let mut from = at.offset + 1;
        while from < end.offset {
            let have = disk::read_at(&self.file, &mut window, self.file_offset(from))?;
            for hit in magic.find_iter(&window[..have]) {
                let offset = from + hit as u64;
                if let Some(header) = self.header(offset, end)?
                    && header.index > at.index
                    && self.payload(header, offset)?.is_some()
                {
                    return Ok(Some(Offset { index: header.index - 1, offset }));
                }
            }
            if have < window.len() {
                return Ok(None);
            }
            // The magic may be split between two windows.
            from += (have - record::MAGIC.len() + 1) as u64;
        }
        Ok(None)
    }
}
