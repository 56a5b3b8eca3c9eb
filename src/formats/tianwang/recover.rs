//! Records out of damaged files: the algorithm of the format's document, §4, in time proportional to the file's length.
//!
//! `version:` is searched. Where the head behind it is well formed, and the record and the two behind it end where their
//! lengths say, or the file ends before there are three, records begin; they are read from there one behind the other as
//! long as they are well formed. Then `version:` is searched again, from just behind the last one's end. At the file's
//! first byte nothing is searched: a record that stands there begins one.
//!
//! So a whole record is found if it belongs to three or more whole ones that stand one behind the other, or to fewer
//! that stand at the beginning of the file, or that reach to its end or to a record that is cut off there.
//!
//! That a record ends where its length says is shown by what follows it: another head, or the file's end. Where damage
//! follows, a cut in its own DATA could by chance have brought an LF to that place. There, compressed DATA must inflate
//! to its length and checksum, and other DATA must hold no part of another record's head; among binary bytes one such
//! damage in 256 still goes unseen. Wherever DATA does not inflate, its record is given up. What no reader can know is
//! that uncompressed DATA or a value in a head was overwritten, or that a cut led from one head into the next.
//!
//! # Time and memory
//!
//! The search looks at each byte once. What follows a false record is looked at where its length points, by seeking: three
//! short reads, and of long heads each only once. A record whose end nothing shows is read in vain only as often as the
//! length of the file allows. Memory: one record, the search's 256 KB, and at worst the 45 MB of `ahead.rs`.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::TianwangRecord;
use super::ahead::{Ahead, LookAhead};
use super::framing::{Framing, is_whole_in_itself};
use super::search::Search;
use super::window::SeekableInput;
use crate::formats::records::ReadSeek;

/// So many bytes of false records are read for each byte of the file …
pub(super) const PATIENCE: u64 = 4;
/// … and at its beginning.
pub(super) const FIRST_PATIENCE: u64 = 4 << 20;

/// What a stretch of the file is. Pieces come in the file's order, and together they are the whole of it.
#[derive(Debug, Clone, PartialEq)]
pub enum ScannedRange {
    Record(FoundRecord),
    Lost(Gap),
}

/// A whole record.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRecord {
    /// Where its first byte is in the file.
    pub offset: u64,
    /// As it stands in the file, blank lines included: whoever wants the records alone in a new file appends these.
    pub bytes: Bytes,
    pub record: TianwangRecord,
}

/// Bytes that are no whole record.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    pub range: Range<u64>,
    /// Set when a record's bounds are known, and what is wrong with it.
    pub record: Option<String>,
}

/// Finds the records in `input`, from its beginning to its end, wherever it stands now. An error of `on_piece` ends it.
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
    /// Bytes of records that were read and then not taken for true.
    wasted: u64,
}

impl RecordScan<'_> {
    /// Reads records one behind the other. Returns where they end.
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

    /// None when it is not a true one.
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

    /// Where the next records begin.
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

    /// Three in a row, or fewer and the file's end.
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
