//! Random access to a file, a piece at a time.

use std::io::{self, ErrorKind, Read, SeekFrom};
use std::ops::Range;

use crate::records::ReadSeek;

/// The file.
pub(super) struct SeekableInput<'a> {
    input: &'a mut dyn ReadSeek,
    /// The current position of the file.
    at: u64,
    pub length: u64,
}

impl<'a> SeekableInput<'a> {
    pub(super) fn new(input: &'a mut dyn ReadSeek) -> io::Result<SeekableInput<'a>> {
        let length = input.seek(SeekFrom::End(0))?;
        Ok(SeekableInput { input, at: length, length })
    }

    /// Reads the whole range, which must be within the file.
    pub(super) fn read(&mut self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append(range, &mut bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, range: Range<u64>, bytes: &mut Vec<u8>) -> io::Result<()> {
        if self.at != range.start {
            self.input.seek(SeekFrom::Start(range.start))?;
        }
        let count = range.end.saturating_sub(range.start);
        bytes.reserve_exact(usize::try_from(count).map_err(io::Error::other)?);
        let read = (&mut *self.input).take(count).read_to_end(bytes)? as u64;
        self.at = range.start + read;
        match read < count {
            true => Err(io::Error::new(ErrorKind::UnexpectedEof, "the file became shorter while it was read")),
            false => Ok(()),
        }
    }
}

/// The bytes around one position of the file.
pub(super) struct Window {
    bytes: Vec<u8>,
    start: u64,
    /// Bytes read at a new position, and at most. The size doubles while reading on.
    least: usize,
    most: usize,
    step: usize,
}

/// A line without its LF.
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// The file ends before the LF.
    Cut(&'a [u8]),
    TooLong,
}

impl Window {
    pub(super) fn new(least: usize, most: usize) -> Window {
        Window { bytes: Vec::new(), start: 0, least, most, step: least }
    }

    /// At least `wanted` bytes from `offset` on; fewer only at the end of the file.
    pub(super) fn at(&mut self, source: &mut SeekableInput<'_>, offset: u64, wanted: usize) -> io::Result<&[u8]> {
        let end = self.start + self.bytes.len() as u64;
        if offset < self.start || offset > end {
            self.bytes.clear();
            (self.start, self.step) = (offset, self.least);
        }
        let wanted = source.length.saturating_sub(offset).min(wanted as u64) as usize;
        let mut skipped = (offset - self.start) as usize;
        if self.bytes.len() - skipped < wanted {
            self.bytes.drain(..skipped);
            (self.start, skipped) = (offset, 0);
            self.read_on(source, wanted)?;
        }
        Ok(&self.bytes[skipped..])
    }

    /// Reads until `wanted` bytes are available.
    fn read_on(&mut self, source: &mut SeekableInput<'_>, wanted: usize) -> io::Result<()> {
        let place = self.start + self.bytes.len() as u64;
        let more = (wanted - self.bytes.len()).max(self.step) as u64;
        self.step = (self.step * 2).min(self.most);
        source.append(place..source.length.min(place + more), &mut self.bytes)
    }

    /// The line at `offset`, if it has at most `limit` bytes.
    pub(super) fn line(&mut self, source: &mut SeekableInput<'_>, offset: u64, limit: usize) -> io::Result<Line<'_>> {
        let mut searched = 0;
        let mut wanted = self.least.min(limit + 1);
        loop {
            let bytes = self.at(source, offset, wanted)?;
            let known = bytes.len().min(limit + 1);
            if let Some(found) = memchr::memchr(b'\n', &bytes[searched..known]) {
                let skipped = (offset - self.start) as usize;
                return Ok(Line::Whole(&self.bytes[skipped..skipped + searched + found]));
            }
            if known > limit {
                return Ok(Line::TooLong);
            }
            if known < wanted {
                let skipped = (offset - self.start) as usize;
                return Ok(Line::Cut(&self.bytes[skipped..]));
            }
            searched = known;
            wanted = (known * 2).min(limit + 1);
        }
    }
}
