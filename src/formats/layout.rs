//! What files look like that hold many records of a format: `crawl_data-<time>-<serial><suffix>`.

use std::io::{self, SeekFrom};

use super::options::Options;
use super::records::ReadSeek;

/// What a format's rolling files look like.
#[derive(Debug, Clone, Copy)]
pub struct RollingLayout {
    /// What their names may end in, each with its dot …
    pub suffixes: &'static [&'static str],
    /// … and what those of new ones end in.
    pub suffix: fn(&Options) -> &'static str,
    pub stamp: NameStamp,
    /// The serial number has zeros before it, up to so many digits.
    pub serial_digits: usize,
    pub content: FileContent,
    /// What stands behind each record.
    pub record_end: &'static [u8],
    pub index: Option<SidecarIndex>,
}

/// An index beside each file, made when the file is closed.
#[derive(Debug, Clone, Copy)]
pub struct SidecarIndex {
    /// Behind the name of the file.
    pub suffix: &'static str,
    pub is_wanted: fn(&Options) -> bool,
    /// Of a file's content and name.
    pub make: fn(&mut dyn ReadSeek, &str) -> BuiltIndex,
}

/// An index, and what of its file cannot be in it.
pub struct BuiltIndex {
    pub lines: Vec<u8>,
    pub missing: Vec<String>,
}

/// Files of records that have a line feed at their end and nowhere else; what others do not say of theirs.
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

/// How the time stands in a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStamp {
    /// `1795271825985`
    EpochMs,
    /// `20261121143705985`, UTC
    UtcMillis,
}

/// How records stand in a file.
#[derive(Debug, Clone, Copy)]
pub enum FileContent {
    /// In one zlib stream, flushed with every acknowledgement: the file can be read while it is written.
    Stream,
    /// One behind the other; the file's name ends in `.open` while it is written. The function says how many bytes of a
    /// file are whole records: it is asked of files that an earlier writer left open and no state knows.
    Records(fn(&mut dyn ReadSeek) -> io::Result<u64>),
}

/// Behind the last line feed: for records that have none but at their end.
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
