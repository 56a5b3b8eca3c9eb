//! JSON lines, plain or compressed: what is common to the formats that keep one record a line.

use std::io::Read;

use super::inflate::{Inflating, StreamError};

/// The longest line that is read, in bytes. A body of 190 MB still fits in base64.
pub const MAX_LINE: usize = 256 << 20;

/// No more memory than this is kept from one line to the next.
const KEPT: usize = 1 << 20;

/// After so many bytes it is seen whether a line is an object.
pub(crate) const LOOKED_AT: usize = 64 << 10;

/// Why a file could not be read, wholly or in one record.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// Reading goes on with the next line. `what`: the record that was looked for, such as `FILES record`.
    #[error("line {line} is no {what}: {source}")]
    Record { line: u64, what: &'static str, source: serde_json::Error },
    /// Reading goes on with the next line.
    #[error("line {line} is longer than {limit} bytes and was passed over")]
    LineTooLong { line: u64, limit: usize },
    /// Nothing can be read behind it.
    #[error("after {records} records: {source}")]
    Stream { records: u64, source: StreamError },
}

/// Appends to what may become as long as `max` and no longer. Behind some megabytes room is made for all of that at once: only
/// what is filled of it takes memory, while growing step by step would hold the old and the new.
pub(crate) fn append(line: &mut Vec<u8>, bytes: &[u8], max: usize) {
    const STEP_BY_STEP: usize = 16 << 20;
    if line.len() + bytes.len() > line.capacity() && line.len() > STEP_BY_STEP {
        line.reserve_exact(max.saturating_sub(line.len()));
    }
    line.extend_from_slice(bytes);
}

/// Reads a file of objects, one a line: zlib, gzip or plain. What can be read is read; one error tells where it ends. A file
/// whose writer was killed is no error, see [`JsonLines::truncated`]. Memory is bounded by the longest line allowed; of a
/// line that begins no object, only the beginning is kept.
pub struct JsonLines<R, T> {
    stream: Inflating<R>,
    line: Vec<u8>,
    max_line: usize,
    /// The number of the line in `line`, from 1.
    lines: u64,
    /// Where it begins, and where it ended, in uncompressed bytes.
    begin: u64,
    end: u64,
    what: &'static str,
    parse: fn(&[u8]) -> Result<T, serde_json::Error>,
    records: u64,
    ended: bool,
    cut: bool,
}

/// A line, as far as it could be had.
enum LineEnd {
    /// With its line feed.
    Whole,
    /// Nothing but the input's end.
    None,
    /// The input broke off inside it, or ends without a line feed.
    Cut,
    /// Longer than allowed, and not kept.
    TooLong,
}

impl<R: Read, T> JsonLines<R, T> {
    /// Reads in pieces of 64 KB: `input` needs no buffer of its own. `what`: the record's name in errors. `parse`: reads one
    /// line, with or without its line feed.
    pub fn of(
        input: R,
        max_line: usize,
        what: &'static str,
        parse: fn(&[u8]) -> Result<T, serde_json::Error>,
    ) -> JsonLines<R, T> {
        JsonLines {
            stream: Inflating::new(input),
            line: Vec::new(),
            max_line,
            lines: 0,
            begin: 0,
            end: 0,
            what,
            parse,
            records: 0,
            ended: false,
            cut: false,
        }
    }

    /// Whether the file broke off inside a compressed stream or a record, as when its writer was killed. Known once the
    /// iterator has ended.
    pub fn truncated(&self) -> bool {
        self.cut || self.stream.truncated()
    }

    /// Where the last record begins, in uncompressed bytes.
    pub fn offset(&self) -> u64 {
        self.begin
    }

    /// Where the compressed stream begins that was read last; none in what is not compressed.
    pub fn stream(&self) -> Option<u64> {
        self.stream.stream()
    }

    /// Puts the next line that is not empty into `self.line`. Memory that a long one took is given back.
    fn advance(&mut self) -> Result<LineEnd, StreamError> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        let (blank, feeds) = self.stream.skip_line_ends()?;
        self.lines += feeds;
        self.end += blank;
        self.begin = self.end;
        self.lines += 1;
        let mut too_long = false;
        loop {
            let chunk = self.stream.chunk()?;
            if chunk.is_empty() {
                return Ok(match (too_long, self.line.is_empty()) {
                    (true, _) => LineEnd::TooLong,
                    (false, true) => LineEnd::None,
                    (false, false) => LineEnd::Cut,
                });
            }
            let feed = memchr::memchr(b'\n', chunk);
            let count = feed.map_or(chunk.len(), |at| at + 1);
            // What begins no object is no record, and its beginning enough to say so.
            let is_junk = self.line.len() >= LOOKED_AT && self.line.trim_ascii_start().first() != Some(&b'{');
            if is_junk {
            } else if !too_long && self.line.len() + count <= self.max_line {
                append(&mut self.line, &chunk[..count], self.max_line);
            } else {
                too_long = true;
                self.line = Vec::new();
            }
            self.stream.consume(count);
            self.end += count as u64;
            if feed.is_some() {
                return Ok(if too_long { LineEnd::TooLong } else { LineEnd::Whole });
            }
        }
    }

    fn record(&mut self) -> Result<T, LinesError> {
        let record = (self.parse)(&self.line);
        let record = record.map_err(|source| LinesError::Record { line: self.lines, what: self.what, source })?;
        self.records += 1;
        Ok(record)
    }
}

impl<R: Read, T> Iterator for JsonLines<R, T> {
    type Item = Result<T, LinesError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.advance() {
                Ok(LineEnd::Whole) if self.line.trim_ascii().is_empty() => {}
                Ok(LineEnd::Whole) => return Some(self.record()),
                Ok(LineEnd::TooLong) => {
                    return Some(Err(LinesError::LineTooLong { line: self.lines, limit: self.max_line }));
                }
                // A record may be whole without its line feed; half a one is what a killed writer leaves.
                Ok(LineEnd::Cut) => {
                    self.ended = true;
                    let record = self.record();
                    if matches!(&record, Err(LinesError::Record { source, .. }) if source.is_eof()) {
                        self.cut = true;
                        return None;
                    }
                    return Some(record);
                }
                Ok(LineEnd::None) => self.ended = true,
                Err(source) => {
                    self.ended = true;
                    return Some(Err(LinesError::Stream { records: self.records, source }));
                }
            }
        }
        None
    }
}
