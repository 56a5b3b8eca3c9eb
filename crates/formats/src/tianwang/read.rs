//! Reads the records of a file one by one.

use std::io::{self, Cursor, Read};

use bytes::Bytes;

use super::error::TianwangError;
use super::framing::{MARK, is_whole_in_itself};
use super::recover::{FIRST_PATIENCE, PATIENCE};
use super::{HeadError, MAX_DATA, MAX_HEAD, TianwangRecord};
use crate::inflate::{self, Buffer, Inflating, line_ends};

/// Number of bytes checked after DATA.
const PEEKED: usize = 64;

/// Reads a file record by record. Accepts heads as other programs write them: any number of blanks after the colon,
/// names in any case, unknown properties, no `ip`, CR LF. Accepts extra blank lines between records, and none after the
/// last.
///
/// An error concerns one record. Reading continues after it, or inside it if it swallowed others.
/// [`recover`](super::recover()) finds more in damaged files.
pub struct TianwangReader<R> {
    input: Input<R>,
    /// Bytes that were read twice.
    wasted: u64,
    buffer: Buffer,
    /// Offset of the next byte.
    offset: u64,
    max_data: u64,
    /// The length of the input, if known.
    end: Option<u64>,
    /// Head and DATA of the last record as stored, and its start.
    last: (Vec<u8>, Bytes),
    begun: u64,
    /// Length of the line end after the last DATA.
    blank_lines: u64,
    /// The next bytes may not be a record: search for the next `version:`.
    lost: bool,
    truncated: bool,
    /// An I/O error after a record, returned next and last.
    failed: Option<TianwangError>,
    ended: bool,
    checks_dates: bool,
}

struct Input<R> {
    rest: R,
    /// Bytes to read again first, in reverse order; none is empty.
    again: Vec<Bytes>,
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(again) = self.again.last_mut() else { return self.rest.read(buffer) };
        let count = again.len().min(buffer.len());
        buffer[..count].copy_from_slice(&again.split_to(count));
        self.again.pop_if(|again| again.is_empty());
        Ok(count)
    }
}

/// What follows DATA.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DataEnd {
    /// The end of the record, followed by another record or by nothing.
    Shown,
    /// A blank line followed by something else: damage, or a wrong length.
    NotShown,
    /// Not even a blank line.
    None,
}

enum Head {
    /// The lines up to a blank line or the start of another head.
    Lines(Vec<u8>),
    /// The input ends inside it.
    Cut,
    TooLong,
    /// Something else.
    None,
}

enum Line {
    Whole,
    /// The input ends before the LF.
    Cut,
    TooLong,
}

impl<R: Read> TianwangReader<R> {
    /// Reads pieces of 64 KB, so `input` needs no buffer.
    pub fn new(input: R) -> TianwangReader<R> {
        TianwangReader::with_max_data(input, MAX_DATA)
    }

    /// With another limit than [`MAX_DATA`] for stored DATA.
    pub fn with_max_data(input: R, max_data: u64) -> TianwangReader<R> {
        TianwangReader {
            input: Input { rest: input, again: Vec::new() },
            wasted: 0,
            buffer: Buffer::new(),
            offset: 0,
            max_data,
            end: None,
            last: Default::default(),
            begun: 0,
            blank_lines: 0,
            lost: false,
            truncated: false,
            failed: None,
            ended: false,
            checks_dates: false,
        }
    }

    /// Treats a record with an unreadable date as damaged. Without this, its page has no time.
    pub(crate) fn checking_dates(self, checks_dates: bool) -> TianwangReader<R> {
        TianwangReader { checks_dates, ..self }
    }

    /// Range of the last record in the file, in bytes.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.begun..self.offset
    }

    /// The last record as stored, with a blank line on both sides of its DATA.
    pub fn raw(&self) -> Vec<u8> {
        let (head, data) = &self.last;
        [head.as_slice(), b"\n", data, b"\n"].concat()
    }

    /// Whether the file ends inside a head or before the last blank line, as when its writer was killed. Known after
    /// the iterator has ended.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// The next record; none at the end.
    fn next_record(&mut self) -> Result<Option<TianwangRecord>, TianwangError> {
        self.skip_line_ends()?;
        if self.lost && !self.find_mark()? {
            return Ok(None);
        }
        self.lost = false;
        let offset = self.offset;
        self.begun = offset;
        let record = match self.read_head()? {
            Head::Lines(head) => {
                self.last = (head, Bytes::new());
                TianwangRecord::from_head(&self.last.0)
            }
            Head::Cut => {
                self.truncated = true;
                return Ok(None);
            }
            Head::None if self.some()?.is_empty() => return Ok(None),
            Head::None => Err(HeadError::NoVersion),
            Head::TooLong => Err(HeadError::TooLong),
        };
        let record = record.map_err(|source| {
            self.lost = true;
            TianwangError::Head { offset, source }
        })?;
        self.read_data(offset, record).map(Some)
    }

    /// Reads DATA and the blank line after it.
    fn read_data(&mut self, offset: u64, mut record: TianwangRecord) -> Result<TianwangRecord, TianwangError> {
        let length = record.length;
        let is_too_long = length > self.max_data;
        self.blank_lines = 0;
        let is_known_end = is_too_long || self.wasted > 0;
        if is_known_end && self.end.is_some_and(|end| self.offset.saturating_add(length) > end) {
            self.lost = true;
            return Err(TianwangError::BeyondEnd { offset, length });
        }
        let mut data = Vec::with_capacity(if is_too_long { 0 } else { length.min(1 << 20) as usize });
        let mut left = length;
        while left > 0 {
            let piece = self.some()?;
            let count = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if count == 0 {
                self.end = Some(self.offset);
                self.read_again(&data.into());
                return Err(TianwangError::BeyondEnd { offset, length });
            }
            if !is_too_long {
                data.extend_from_slice(&piece[..count]);
            }
            self.use_up(count);
            left -= count as u64;
        }
        let data = Bytes::from(data);
        self.last.1 = data.clone();
        let end = self.read_end();
        let filled = if is_too_long { Ok(()) } else { record.fill(data.clone()) };
        let is_whole = || !is_too_long && filled.is_ok() && is_whole_in_itself(record.unzip_length, &data);
        if end == DataEnd::None || end == DataEnd::NotShown && !is_whole() {
            self.lost = true;
            self.read_again(&data);
            return Err(TianwangError::WrongLength { offset, length });
        }
        if is_too_long {
            return Err(TianwangError::TooLong { offset, length, limit: self.max_data });
        }
        filled.map_err(|source| TianwangError::Content { offset, source })?;
        let Some(date) = &record.date else { return Err(TianwangError::NoDate { offset }) };
        if self.checks_dates && record.fetched_ms().is_none() {
            let date = date.chars().take(100).collect();
            return Err(TianwangError::BadDate { offset, date });
        }
        Ok(record)
    }

    /// Continues at the first line of supposed DATA that may start a record. Limits how often bytes are read again,
    /// since a file may consist of such lines.
    fn read_again(&mut self, data: &Bytes) {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', data).map(|at| at + 1));
        let mark = starts.into_iter().find(|at| begins_with_mark(&data[*at..]));
        let Some(mark) = mark.filter(|_| self.wasted <= FIRST_PATIENCE + PATIENCE * self.offset) else { return };
        let behind = self.offset - self.blank_lines;
        let ahead = self.buffer.filled();
        let pieces = [ahead, &b"\r\n"[2 - self.blank_lines as usize..]].into_iter().filter(|piece| !piece.is_empty());
        self.input.again.extend(pieces.map(Bytes::copy_from_slice));
        self.input.again.push(data.slice(mark..));
        self.buffer.consume(ahead.len());
        self.offset = behind - (data.len() - mark) as u64;
        self.wasted += data.len() as u64;
        self.lost = false;
    }

    /// Whether DATA ends here: at a blank line, at the end of the input, or at a next record without a blank line.
    fn read_end(&mut self) -> DataEnd {
        // A read error after a record does not concern the record.
        self.failed = self.at_least(PEEKED).err();
        let next = self.buffer.filled();
        let blank = match next {
            [] => {
                self.truncated = self.failed.is_none();
                return DataEnd::Shown;
            }
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => 0,
        };
        let is_input_s_end = next.len() < PEEKED;
        let behind = &next[blank..];
        let blank_lines = line_ends(behind);
        let behind = &behind[blank_lines..];
        let is_next = begins_with_mark(behind) || is_input_s_end && (behind.is_empty() || begins_mark(behind));
        let end = match (blank, is_next) {
            (0, true) if blank_lines == 0 && begins_with_mark(behind) => DataEnd::Shown,
            (0, _) => DataEnd::None,
            (_, true) => DataEnd::Shown,
            (_, false) => DataEnd::NotShown,
        };
        self.use_up(blank);
        self.blank_lines = blank as u64;
        end
    }

    fn skip_line_ends(&mut self) -> Result<(), TianwangError> {
        loop {
            let count = line_ends(self.some()?);
            if count == 0 {
                return Ok(());
            }
            self.use_up(count);
        }
    }

    /// Skips to the next line that begins with `version:`. Returns false if there is none.
    fn find_mark(&mut self) -> Result<bool, TianwangError> {
        loop {
            let some = self.at_least(MARK.len())?;
            if some.is_empty() || begins_with_mark(some) {
                return Ok(!some.is_empty());
            }
            self.skip_line()?;
        }
    }

    fn skip_line(&mut self) -> Result<(), TianwangError> {
        loop {
            let some = self.some()?;
            let (length, feed) = (some.len(), memchr::memchr(b'\n', some));
            self.use_up(feed.map_or(length, |at| at + 1));
            if feed.is_some() || length == 0 {
                return Ok(());
            }
        }
    }

    /// Stops after the blank line, or when it is clear that there is none.
    fn read_head(&mut self) -> Result<Head, TianwangError> {
        let first = self.at_least(MARK.len())?;
        if !begins_with_mark(first) {
            let is_cut = !first.is_empty() && begins_mark(first);
            return Ok(if is_cut { Head::Cut } else { Head::None });
        }
        let mut head = Vec::new();
        loop {
            let line = head.len();
            match self.read_line(&mut head)? {
                Line::Cut => return Ok(Head::Cut),
                Line::TooLong => return Ok(Head::TooLong),
                Line::Whole if matches!(&head[line..], b"\n" | b"\r\n") => {
                    head.truncate(line);
                    return Ok(Head::Lines(head));
                }
                Line::Whole if begins_with_mark(self.at_least(MARK.len())?) => return Ok(Head::Lines(head)),
                Line::Whole => {}
            }
        }
    }

    /// Appends a line to the head.
    fn read_line(&mut self, head: &mut Vec<u8>) -> Result<Line, TianwangError> {
        loop {
            let some = self.some()?;
            let (length, feed) = (some.len(), memchr::memchr(b'\n', some));
            let count = feed.map_or(length, |at| at + 1);
            if head.len() + count > MAX_HEAD + 1 {
                return Ok(Line::TooLong);
            }
            head.extend_from_slice(&some[..count]);
            self.use_up(count);
            match feed {
                Some(_) => return Ok(Line::Whole),
                None if length == 0 => return Ok(Line::Cut),
                None => {}
            }
        }
    }

    /// The next bytes; empty only at the end.
    fn some(&mut self) -> Result<&[u8], TianwangError> {
        self.at_least(1)
    }

    /// At least `wanted` bytes; fewer only at the end.
    fn at_least(&mut self, wanted: usize) -> Result<&[u8], TianwangError> {
        if let Err(source) = self.buffer.fill(&mut self.input, wanted) {
            self.ended = true;
            return Err(TianwangError::Io { offset: self.offset + self.buffer.filled().len() as u64, source });
        }
        Ok(self.buffer.filled())
    }

    fn use_up(&mut self, count: usize) {
        let count = count.min(self.buffer.filled().len());
        self.buffer.consume(count);
        self.offset += count as u64;
    }
}

impl<'r> TianwangReader<Box<dyn Read + 'r>> {
    /// A reader for a file of `length` bytes that may be compressed as a whole. The format itself does not define that.
    pub fn of_file(mut input: impl Read + 'r, length: u64) -> std::io::Result<Self> {
        let mut start = Vec::new();
        (&mut input).take(2).read_to_end(&mut start)?;
        let is_compressed = inflate::is_compressed(&start);
        let whole = Cursor::new(start).chain(input);
        if is_compressed {
            return Ok(TianwangReader::new(Box::new(Inflating::new(whole))));
        }
        // The known file length shows a wrong record length without reading to the end.
        Ok(TianwangReader { end: Some(length), ..TianwangReader::new(Box::new(whole)) })
    }
}

impl<R: Read> Iterator for TianwangReader<R> {
    type Item = Result<TianwangRecord, TianwangError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        if self.ended {
            return None;
        }
        let next = self.next_record().transpose();
        self.ended |= next.is_none();
        next
    }
}

fn begins_with_mark(bytes: &[u8]) -> bool {
    bytes.get(..MARK.len()).is_some_and(|it| it.eq_ignore_ascii_case(MARK))
}

/// Whether the input ends within `version:`.
fn begins_mark(bytes: &[u8]) -> bool {
    MARK.get(..bytes.len()).is_some_and(|it| it.eq_ignore_ascii_case(bytes))
}
