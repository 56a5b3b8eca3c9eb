//! Recovers records from damaged files: the algorithm in §4 of the format's document, in time proportional to the
//! file's length.
//!
//! The search looks for `version:`. A position counts as the start of records if its head is well formed, and if this
//! record and the next two end where their lengths say. Fewer than three are enough if the file ends. From there
//! records are read one after the other as long as they are well formed. Then the search continues after the end of the
//! last one. At the first byte of the file no search is needed: a record there counts.
//!
//! So a complete record is found if it belongs to one of these:
//!
//! - three or more consecutive complete records,
//! - fewer complete records at the beginning of the file,
//! - fewer complete records that reach to the end of the file, or to a record that is cut there.
//!
//! Another head or the end of the file behind a record shows that it ends where its length says. If damage
//! follows, a cut inside its own DATA could by chance have put an LF there. In this case, compressed DATA must inflate
//! to its length and checksum, and other DATA must not contain part of another head. With binary data, one such damage
//! in 256 remains unnoticed. A record whose DATA does not inflate is given up. No reader can detect that uncompressed
//! DATA or a value in a head was overwritten, or that a cut joined two heads.
//!
//! # Time and memory
//!
//! The search reads each byte once. It checks what a possible record is followed by with seeks: three short reads, and
//! each long head only once. Records whose end is not confirmed are read in vain only within a limit proportional to
//! the file's length. Memory: one record, 256 KB for the search, and at worst the 45 MB of `ahead.rs`.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::TianwangRecord;
use super::ahead::{Ahead, LookAhead};
use super::framing::{Framing, is_whole_in_itself};
use super::search::Search;
use super::window::SeekableInput;
use crate::records::ReadSeek;

/// Bytes of false records that may be read for each byte of the file …
pub(super) const PATIENCE: u64 = 4;
/// … and in addition at its beginning.
pub(super) const FIRST_PATIENCE: u64 = 4 << 20;

/// A range of the file. Ranges are in order and cover the whole file.
#[derive(Debug, Clone, PartialEq)]
pub enum ScannedRange {
    Record(FoundRecord),
    Lost(Gap),
}

/// A complete record.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRecord {
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its stored bytes with blank lines, so that they can be appended to a new file.
    pub bytes: Bytes,
    pub record: TianwangRecord,
}

/// Bytes that are not a complete record.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    pub range: Range<u64>,
    /// The fault of a record whose bounds are known.
    pub record: Option<String>,
}

/// Finds the records in `input` from its beginning to its end. Its current position does not matter. An error of
/// `on_piece` stops the search.
pub fn recover(input: &mut dyn ReadSeek, mut on_piece: impl FnMut(ScannedRange) -> io::Result<()>) -> io::Result<()> {
    let source = SeekableInput::new(input)?;
    let mut recovery = RecordScan { source, search: Search::new(), ahead: LookAhead::new(), wasted: 0 };
    let mut start = 0;
    loop {
        let end = recovery.read_records(start, &mut on_piece)?;
        let next = recovery.find_records(end)?;
        let lost = end..next.unwrap_or(recovery.source.length);
        if !lost.is_empty() {
            on_piece(ScannedRange::Lost(Gap { range: lost, record: None }))?;
        }
        match next {
            Some(next) => start = next,
            None => return Ok(()),
        }
    }
}

struct RecordScan<'a> {
    source: SeekableInput<'a>,
    search: Search,
    ahead: LookAhead,
    /// Bytes of records that were read and rejected.
    wasted: u64,
}

impl RecordScan<'_> {
    /// Reads consecutive records. Returns where they end.
    fn read_records(
        &mut self,
        start: u64,
        on_piece: &mut impl FnMut(ScannedRange) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut at = start;
        while let Ahead::Record(framing) = self.ahead.at(&mut self.source, at)? {
            self.ahead.forget_before(at);
            let Some(piece) = self.read_record(framing)? else { break };
            on_piece(piece)?;
            at = framing.end();
        }
        Ok(at)
    }

    /// None if the record is rejected.
    fn read_record(&mut self, framing: Framing) -> io::Result<Option<ScannedRange>> {
        let is_end_shown = self.ahead.at(&mut self.source, framing.end())? != Ahead::SomethingElse;
        let range = framing.start..framing.end();
        if !is_end_shown && self.wasted > FIRST_PATIENCE + PATIENCE * framing.start {
            return Ok(None);
        }
        let bytes = Bytes::from(self.source.read(range.clone())?);
        Ok(match record_in(&bytes, framing) {
            Ok(record) if is_end_shown || is_whole_in_itself(record.unzip_length, &record.data) => {
                Some(ScannedRange::Record(FoundRecord { offset: framing.start, bytes, record }))
            }
            Err(what) if is_end_shown => Some(ScannedRange::Lost(Gap { range, record: Some(what) })),
            Ok(_) | Err(_) => {
                self.wasted += bytes.len() as u64;
                None
            }
        })
    }

    /// Start of the next records.
    fn find_records(&mut self, from: u64) -> io::Result<Option<u64>> {
        self.search.go_to(from);
        while let Some(framing) = self.search.next(&mut self.source)? {
            self.ahead.forget_before(framing.start);
            if self.is_true(framing)? {
                return Ok(Some(framing.start));
            }
        }
        Ok(None)
    }

    /// Whether three records follow each other, or fewer up to the end of the file.
    fn is_true(&mut self, first: Framing) -> io::Result<bool> {
        let mut ahead = self.ahead.as_far_as_it_is_there(&mut self.source, first)?;
        let is_there = matches!(ahead, Ahead::Record(_));
        for _ in 0..2 {
            if let Ahead::Record(framing) = ahead {
                ahead = self.ahead.at(&mut self.source, framing.end())?;
            }
        }
        Ok(is_there && ahead != Ahead::SomethingElse)
    }
}

/// The record, or what is wrong with it.
fn record_in(bytes: &Bytes, framing: Framing) -> Result<TianwangRecord, String> {
    let data = (framing.data - framing.start) as usize;
    let mut record = TianwangRecord::from_head(&bytes[..data - 1]).map_err(|error| error.to_string())?;
    record.fill(bytes.slice(data..bytes.len() - 1)).map_err(|error| error.to_string())?;
    Ok(record)
}
