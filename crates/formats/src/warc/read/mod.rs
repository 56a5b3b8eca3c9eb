//! Reads records: plain, one gzip member per record, or compressed as a whole; also cut or damaged files, and files
//! with LF as line end. Only an I/O error stops the reader. After damage it continues with the next record that it can
//! find.

mod head;

use std::io::Read;

use bytes::Bytes;

use super::digest::DigestVerdict;
use super::error::{ReadFailure, WarcError};
use super::member_reader::{MemberReader, More};
use super::record::{WarcLocation, WarcRecord};
use super::version::{VERSION, VERSION_LINE, find_inner_version, find_version, tail_of_version};
use crate::inflate::StreamError;

/// Longest block that is read, in bytes. One record at a time is in memory.
pub(super) const MAX_BLOCK: u64 = 256 << 20;
/// Most bytes of line ends after a block: two line ends, and some that other writers may have added.
const MAX_ENDS: usize = 64;

/// Reads a file record by record.
pub struct WarcReader<R> {
    source: MemberReader<R>,
    max_block: u64,
    /// An I/O error, returned next and last.
    failed: Option<StreamError>,
    /// Searching for the next version line.
    lost: bool,
    truncated: bool,
    ended: bool,
    whole: u64,
}

impl<R: Read> WarcReader<R> {
    /// Reads pieces of 64 KB, so `input` needs no buffer.
    pub fn new(input: R) -> WarcReader<R> {
        WarcReader::with_max_block(input, MAX_BLOCK)
    }

    /// With another limit than [`MAX_BLOCK`], in bytes.
    pub fn with_max_block(input: R, max_block: u64) -> WarcReader<R> {
        WarcReader {
            source: MemberReader::new(input),
            max_block,
            failed: None,
            lost: false,
            truncated: false,
            ended: false,
            whole: 0,
        }
    }

    /// Whether the file ends inside a record, as when its writer was killed. Known after the iterator has ended.
    pub fn truncated(&self) -> bool {
        self.truncated || self.source.truncated()
    }

    /// Length of the file up to the end of the last complete record. A file cut there is valid if it was valid so far.
    /// 0 before the first record, or if records have no gzip members of their own.
    pub fn whole_bytes(&self) -> u64 {
        self.whole
    }

    /// The next record; none at the end.
    fn read(&mut self) -> Result<Option<WarcRecord>, WarcError> {
        loop {
            if !self.find_start()? {
                return Ok(None);
            }
            let (offset, inner) = self.source.location();
            match self.record(WarcLocation { offset, inner, length: None }) {
                Ok(record) => return Ok(Some(record)),
                Err(ReadFailure::Error(error)) => return Err(error),
                Err(ReadFailure::Cut) => self.truncated = true,
            }
        }
    }

    /// Skips blanks, or after damage skips to the next version line. Returns false at the end.
    fn find_start(&mut self) -> Result<bool, StreamError> {
        loop {
            let available = self.source.available();
            let skipped = match self.lost {
                false => available.iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
                true => find_version(available).unwrap_or(available.len()),
            };
            if skipped < available.len() {
                self.source.consume(skipped);
                self.lost = false;
                return Ok(true);
            }
            // A version line may be split between two pieces.
            let keep = if self.lost { tail_of_version(available) } else { 0 };
            self.source.consume(skipped - keep);
            match self.source.more()? {
                More::Bytes => {}
                More::End => return Ok(false),
                More::MemberEnd => {
                    self.source.consume(keep);
                    if !self.source.next_member()? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn record(&mut self, location: WarcLocation) -> Result<WarcRecord, ReadFailure> {
        let version = self.version(location.offset)?;
        let fields = self.fields(location.offset)?;
        let length = fields.get("Content-Length").and_then(|it| it.trim().parse::<u64>().ok());
        let Some(length) = length else {
            return Err(self.lose("Content-Length is absent or not a number", location.offset));
        };
        if length > self.max_block {
            self.pass_over(length)?;
            return Err(ReadFailure::Error(WarcError::TooLong {
                offset: location.offset,
                length,
                limit: self.max_block,
            }));
        }
        let block = self.block(length, location.offset)?;
        let mut record = WarcRecord { version, fields, block, location };
        self.check_end(&mut record)?;
        if let Some(length) = record.location.length {
            self.whole = location.offset + length;
        }
        Ok(record)
    }

    /// Reading continues with the next version line.
    fn lose(&mut self, problem: &'static str, offset: u64) -> ReadFailure {
        self.lost = true;
        ReadFailure::Error(WarcError::Record { offset, problem })
    }

    fn block(&mut self, length: u64, offset: u64) -> Result<Bytes, ReadFailure> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut block = Vec::with_capacity(length.min(1 << 20));
        loop {
            let available = self.source.available();
            let taken = available.len().min(length - block.len());
            block.extend_from_slice(&available[..taken]);
            self.source.consume(taken);
            if block.len() == length {
                return Ok(block.into());
            }
            match self.source.more()? {
                More::Bytes => {}
                More::End => return Err(self.cut_block(&block, offset)),
                More::MemberEnd => self.go_on_in_next_member(&block, offset)?,
            }
        }
    }

    /// A block may span several members. But if the next member starts with a record, this block is shorter than
    /// stated.
    fn go_on_in_next_member(&mut self, block: &[u8], offset: u64) -> Result<(), ReadFailure> {
        while self.source.available().len() < VERSION.len() {
            match self.source.more()? {
                More::Bytes => {}
                More::End => return Err(self.cut_block(block, offset)),
                More::MemberEnd if !self.source.available().is_empty() => return Ok(()),
                More::MemberEnd => {
                    if !self.source.next_member()? {
                        return Err(self.cut_block(block, offset));
                    }
                }
            }
        }
        if !self.source.available().starts_with(VERSION) {
            return Ok(());
        }
        Err(ReadFailure::Error(WarcError::Record { offset, problem: "its gzip member ends before its block does" }))
    }

    /// The input ended inside a block. It was cut, unless a wrong length swallowed other records.
    fn cut_block(&mut self, block: &[u8], offset: u64) -> ReadFailure {
        match find_inner_version(block) {
            Some(at) => {
                self.source.unread(&block[at..]);
                ReadFailure::Error(WarcError::Record { offset, problem: "its Content-Length is wrong" })
            }
            None => {
                self.truncated = true;
                ReadFailure::Cut
            }
        }
    }

    /// Checks what follows the block: line ends, then another record or nothing.
    fn check_end(&mut self, record: &mut WarcRecord) -> Result<(), ReadFailure> {
        let mut ends = Vec::new();
        let (clean, length) = self.end_of_record(record.location, &mut ends)?;
        record.location.length = length;
        let inner = find_inner_version(&record.block);
        // If the member continues after its record, its checksum was not verified yet.
        let is_unchecked = length.is_none() && self.source.is_compressed() && record.location.inner == 0;
        if clean && inner.is_none() && !is_unchecked {
            return Ok(());
        }
        let is_right = match record.check_block() {
            // Only the checksum covers the fields.
            DigestVerdict::Right => clean || !is_unchecked,
            DigestVerdict::Wrong { .. } => false,
            _ => clean,
        };
        if is_right {
            // A record inside the block belongs to the block.
            return Ok(());
        }
        // Line ends inside the swallowed record, and no others.
        self.source.unread(&ends);
        // A swallowed record starts inside the block. Without one, the beginning of the next version line may have been
        // swallowed.
        let from = inner.unwrap_or(record.block.len().saturating_sub(VERSION_LINE));
        self.source.unread(&record.block[from..]);
        self.lost |= inner.is_none();
        let (offset, problem) = (record.location.offset, "its Content-Length is wrong");
        Err(ReadFailure::Error(WarcError::Record { offset, problem }))
    }

    /// Reads the line ends after a block into `ends`. Returns whether nothing else follows, and the record's stored
    /// length if known.
    fn end_of_record(
        &mut self,
        location: WarcLocation,
        ends: &mut Vec<u8>,
    ) -> Result<(bool, Option<u64>), ReadFailure> {
        let mut feeds = 0;
        let (is_clean, is_measured) = loop {
            match self.source.available().first() {
                Some(end @ (b'\r' | b'\n')) if feeds < 2 && ends.len() < MAX_ENDS => {
                    feeds += usize::from(*end == b'\n');
                    ends.push(*end);
                    self.source.consume(1);
                }
                Some(next) => {
                    let follows = self.source.available();
                    let is_next = follows.starts_with(&VERSION[..follows.len().min(VERSION.len())]);
                    let is_clean = is_next || feeds == 2 && matches!(next, b'\r' | b'\n');
                    break (is_clean, feeds == 2 && !self.source.is_compressed());
                }
                None => match self.source.more()? {
                    More::Bytes => {}
                    More::MemberEnd => break (true, location.inner == 0),
                    More::End => {
                        let is_whole = feeds == 2 && !self.source.is_compressed();
                        self.truncated |= !is_whole;
                        break (true, is_whole);
                    }
                },
            }
        };
        Ok((is_clean, is_measured.then(|| self.source.offset() - location.offset)))
    }

    /// Skips a block that is not read. In a compressed file, skips its stated length within the member. Otherwise
    /// nothing confirms the length, so the next version line is searched for.
    fn pass_over(&mut self, length: u64) -> Result<(), ReadFailure> {
        if !self.source.is_compressed() {
            self.lost = true;
            return Ok(());
        }
        let mut left = length;
        loop {
            let count = self.source.available().len() as u64;
            self.source.consume(count.min(left) as usize);
            left -= count.min(left);
            if left == 0 || self.source.more()? != More::Bytes {
                return Ok(());
            }
        }
    }

    fn go_on_behind(&mut self, error: &WarcError) {
        match error {
            WarcError::Stream(StreamError::Damaged { .. }) => {
                self.lost = true;
                match self.source.recover() {
                    Ok(found) => self.ended = !found,
                    Err(error) => self.failed = Some(error),
                }
            }
            WarcError::Stream(_) => self.ended = true,
            _ => {}
        }
    }
}

impl<R: Read> Iterator for WarcReader<R> {
    type Item = Result<WarcRecord, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            self.ended = true;
            return Some(Err(error.into()));
        }
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        match &next {
            None => self.ended = true,
            Some(Err(error)) => self.go_on_behind(error),
            Some(Ok(_)) => {}
        }
        next
    }
}
