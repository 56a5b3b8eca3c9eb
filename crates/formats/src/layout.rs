//! Names and structure of files with many records: `crawl_data-<time>-<serial><suffix>`.

use std::io::{self, SeekFrom};

use super::options::Options;
use super::records::ReadSeek;

/// The layout of a format's rolling files.
#[derive(Debug, Clone, Copy)]
pub struct RollingLayout {
    /// Possible suffixes of file names, each with its dot …
    pub suffixes: &'static [&'static str],
    /// … and the suffix of new files.
    pub suffix: fn(&Options) -> &'static str,
    pub stamp: NameStamp,
    /// The serial number is padded with zeros to this many digits.
    pub serial_digits: usize,
    pub content: FileContent,
    /// Written after each record.
    pub record_end: &'static [u8],
    pub index: Option<SidecarIndex>,
}

/// An index file for each file, made when the file is closed.
#[derive(Debug, Clone, Copy)]
pub struct SidecarIndex {
    /// Appended to the name of the file.
    pub suffix: &'static str,
    pub is_wanted: fn(&Options) -> bool,
    /// Makes the index from a file's content and name.
    pub make: fn(&mut dyn ReadSeek, &str) -> BuiltIndex,
}

/// An index, and the parts of the file that could not be indexed.
pub struct BuiltIndex {
    pub lines: Vec<u8>,
    pub missing: Vec<String>,
}

/// The layout of files with one record per line. Default for line formats.
pub(super) const fn of_lines(suffix: &'static [&'static str; 1], new: fn(&Options) -> &'static str) -> RollingLayout {
    RollingLayout {
        suffixes: suffix,
        suffix: new,
        stamp: NameStamp::EpochMs,
        serial_digits: 1,
        content: FileContent::Records(whole_lines),
        record_end: b"\n",
        index: None,
    }
}

/// How the time is written in file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStamp {
    /// `1795271825985`
    EpochMs,
    /// `20261121143705985`, UTC
    UtcMillis,
}

/// How records are stored in a file.
#[derive(Debug, Clone, Copy)]
pub enum FileContent {
    /// In one zlib stream, flushed with every acknowledgement, so that the file is readable while it is written.
    Stream,
    /// One after the other. The file name ends in `.open` while the file is written. The function tells how many bytes
    /// are complete records; it is used for files that an earlier writer left open and no state knows.
    Records(fn(&mut dyn ReadSeek) -> io::Result<u64>),
}

/// The position after the last line feed, for records that end in their only line feed.
pub fn whole_lines(file: &mut dyn ReadSeek) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut piece = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(piece.len() as u64);
        let length = (end - start) as usize;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece[..length])?;
        if let Some(at) = memchr::memrchr(b'\n', &piece[..length]) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
