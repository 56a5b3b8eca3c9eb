//! JSON lines, plain or compressed: shared by the formats with one record per line.

use std::io::Read;

use super::inflate::{Inflating, StreamError};

/// Longest line that is read, in bytes. A body of 190 MB still fits in base64.
pub const MAX_LINE: usize = 256 << 20;

/// Most memory kept from one line to the next.
const KEPT: usize = 1 << 20;

/// After this many bytes, check whether the line is an object.
pub const LOOKED_AT: usize = 64 << 10;

/// Why a file, or one of its records, could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// Reading continues with the next line. `what`: the expected record, such as `FILES record`.
    #[error("line {line} is no {what}: {source}")]
    Record { line: u64, what: &'static str, source: serde_json::Error },
    /// Reading continues with the next line.
    #[error("line {line} is longer than {limit} bytes and was skipped")]
    LineTooLong { line: u64, limit: usize },
    /// Nothing after it can be read.
    #[error("after {records} records: {source}")]
    Stream { records: u64, source: StreamError },
}

/// Appends to a line of at most `max` bytes. Above some megabytes, reserves all `max` bytes at once. Unused reserved
/// memory costs nothing, while each reallocation would need the old and the new buffer at the same time.
pub fn append(line: &mut Vec<u8>, bytes: &[u8], max: usize) {
    const STEP_BY_STEP: usize = 16 << 20;
    if line.len() + bytes.len() > line.capacity() && line.len() > STEP_BY_STEP {
        line.reserve_exact(max.saturating_sub(line.len()));
    }
    line.extend_from_slice(bytes);
}

/// Reads a file with one object per line: zlib, gzip or plain. Reads as much as possible; one error tells where a
/// damaged stream ends. A file whose writer was killed is not an error, see [`JsonLines::truncated`]. Memory is bounded
/// by the longest allowed line. Only the beginning is kept of a line that is not an object.
pub struct JsonLines<R, T> {
    stream: Inflating<R>,
    line: Vec<u8>,
    max_line: usize,
    /// Number of the line in `line`, from 1.
    lines: u64,
    /// Its start and end, in uncompressed bytes.
    begin: u64,
    end: u64,
    what: &'static str,
    parse: fn(&[u8]) -> Result<T, serde_json::Error>,
    records: u64,
    ended: bool,
    cut: bool,
}

/// How reading a line ended.
enum LineEnd {
    /// With its line feed.
    Whole,
    /// At the end of the input, without a line.
    None,
    /// The input ended inside the line, or without a line feed.
    Cut,
    /// The line is longer than allowed and was not kept.
    TooLong,
}

impl<R: Read, T> JsonLines<R, T> {
    /// Reads pieces of 64 KB, so `input` needs no buffer. `what`: name of the record in errors. `parse`: reads one
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

    /// Whether the file ends inside a compressed stream or a record, as when its writer was killed. Known after the
    /// iterator has ended.
    pub fn truncated(&self) -> bool {
        self.cut || self.stream.truncated()
    }

    /// Start of the last record, in uncompressed bytes.
    pub fn offset(&self) -> u64 {
        self.begin
    }

    /// Start of the last compressed stream; none in uncompressed input.
    pub fn stream(&self) -> Option<u64> {
        self.stream.stream()
    }

    /// Reads the next line that is not empty into `self.line`. Frees the extra memory of a long line.
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
            // A line that does not begin like an object is not a record; its beginning is enough for the error.
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
                // The last record may be complete without a line feed. An incomplete one is what a killed writer
                // leaves.
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
