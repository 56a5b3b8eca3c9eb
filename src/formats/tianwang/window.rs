//! A file that is read here and there, a piece at a time.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;

/// The file.
pub(super) struct SeekableInput<'a, R> {
    input: &'a mut R,
    /// Where the next read would be, without seeking.
    at: u64,
    pub length: u64,
}

impl<'a, R: Read + Seek> SeekableInput<'a, R> {
    pub fn new(input: &'a mut R) -> io::Result<SeekableInput<'a, R>> {
        let length = input.seek(SeekFrom::End(0))?;
        Ok(SeekableInput { input, at: length, length })
    }

    /// All of the range, which lies within the file.
    pub fn read(&mut self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let read = self.fill(range.start, &mut bytes)?;
        if read < length { Err(shorter()) } else { Ok(bytes) }
    }

    /// As much as there is at the offset. Returns how much that is.
    fn fill(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at != offset {
            self.input.seek(SeekFrom::Start(offset))?;
            self.at = offset;
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }
}

fn shorter() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the file became shorter while it was read")
}

/// The bytes around one place of the file.
pub(super) struct Window {
    bytes: Vec<u8>,
    start: u64,
    /// Read at a new place, and at the most: as one place is read on, twice as much each time.
    least: usize,
    most: usize,
    step: usize,
}

/// A line, without its LF.
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// The file ends before its LF.
    Cut(&'a [u8]),
    TooLong,
}

impl Window {
    pub fn new(least: usize, most: usize) -> Window {
        Window { bytes: Vec::new(), start: 0, least, most, step: least }
    }

    /// At least `wanted` bytes from `offset` on; fewer only where the file ends.
    pub fn at<R: Read + Seek>(
        &mut self,
        source: &mut SeekableInput<R>,
        offset: u64,
        wanted: usize,
    ) -> io::Result<&[u8]> {
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

    /// Until `wanted` bytes are there.
    fn read_on<R: Read + Seek>(&mut self, source: &mut SeekableInput<R>, wanted: usize) -> io::Result<()> {
        let filled = self.bytes.len();
        let place = self.start + filled as u64;
        let left = source.length.saturating_sub(place);
        let more = (wanted - filled).max(self.step).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.bytes.resize(filled + more, 0);
        let read = source.fill(place, &mut self.bytes[filled..])?;
        self.bytes.truncate(filled + read);
        self.step = (self.step * 2).min(self.most);
        if read < more { Err(shorter()) } else { Ok(()) }
    }

    /// The line that begins at `offset`, if it has no more than `limit` bytes.
    pub fn line<R: Read + Seek>(
        &mut self,
        source: &mut SeekableInput<R>,
        offset: u64,
        limit: usize,
    ) -> io::Result<Line<'_>> {
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
