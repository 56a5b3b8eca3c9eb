//! Reads the lines of a `META` file.

use std::io::{self, BufRead, BufReader, Read};

use super::MetaEntry;
use seine_parse::page::latin1_to_string;

/// Longest line of a `META` file that is read, in bytes.
pub const MAX_LINE: usize = 64 << 10;

/// Why one line, or the rest of a `META` file, could not be read.
#[derive(Debug, thiserror::Error)]
pub enum MetaError {
    /// Reading continues with the next line.
    #[error("line {line} is neither `md5 url` nor `md5 url id kind language`: {text:?}")]
    Line { line: u64, text: String },
    /// Reading continues with the next line.
    #[error("line {line} is longer than {limit} bytes and was skipped")]
    TooLong { line: u64, limit: usize },
    /// Nothing after it can be read.
    #[error("reading after line {line} failed: {source}")]
    Io { line: u64, source: io::Error },
}

/// Reads a `META` file line by line; skips empty lines.
pub struct MetaReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    lines: u64,
    truncated: bool,
    ended: bool,
}

impl<R: Read> MetaReader<R> {
    /// `input` needs no buffer.
    pub fn new(input: R) -> MetaReader<R> {
        MetaReader { input: BufReader::new(input), line: Vec::new(), lines: 0, truncated: false, ended: false }
    }

    /// The last line, with its line end if it has one.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Whether the last line has no end, as when its writer was killed. Known after the iterator has ended.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Reads the next line into `self.line`, up to the limit. Returns false at the end.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut limited = (&mut self.input).take(MAX_LINE as u64 + 1);
        limited.read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(false);
        }
        if self.line.len() > MAX_LINE && !self.line.ends_with(b"\n") {
            self.input.skip_until(b'\n')?;
        } else {
            self.truncated = !self.line.ends_with(b"\n");
        }
        Ok(true)
    }

    fn entry(&self) -> Result<MetaEntry, MetaError> {
        if self.line.len() > MAX_LINE {
            return Err(MetaError::TooLong { line: self.lines, limit: MAX_LINE });
        }
        let text = std::str::from_utf8(&self.line).map_or_else(|_| latin1_to_string(&self.line), str::to_owned);
        MetaEntry::parse(&text)
            .ok_or_else(|| MetaError::Line { line: self.lines, text: text.trim_end().chars().take(200).collect() })
    }
}

impl<R: Read> Iterator for MetaReader<R> {
    type Item = Result<MetaEntry, MetaError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.read_line() {
                Ok(true) => self.lines += 1,
                Ok(false) => self.ended = true,
                Err(source) => {
                    self.ended = true;
                    return Some(Err(MetaError::Io { line: self.lines, source }));
                }
            }
            if !self.ended && !self.line.trim_ascii().is_empty() {
                return Some(self.entry());
            }
        }
        None
    }
}
