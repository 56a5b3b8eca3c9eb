//! Saves records of formats with one record per line or row, plain or in compressed streams.
//!
//! Plain text is read line by line to its end, as by `seine cat`. Lines that are not records are searched for records
//! and streams inside. A compressed stream is read as far as possible. Then the next start of a stream or line is
//! searched for, after the last complete record. A start counts only if a complete record follows it.
//!
//! A damaged stream is readable again after a full flush, as Seine writes. Other streams are lost from the damage to
//! their end: data decompressed after damage is not trusted, even if it looks like records.

use std::collections::HashSet;
use std::io::{self, Write};

use csv_core::ReadFieldResult;
use seine_formats::csv_cells::MAX_CELL;
use seine_formats::inflate::line_ends;
use seine_formats::lines::{LOOKED_AT, MAX_LINE, append};
use seine_formats::recovery::{RecordSplit, RecoveryError};
use xxhash_rust::xxh3::xxh3_64;

use super::report::RecoveryReport;
use super::scan::{DamagedInput, Got, Pieces, Start, is_sound};
use crate::sinks::whole_file::WholeFile;

const NO_RECORD: &str = "no complete record";
const NO_START: &str = "nothing that begins a stream or a record";
/// Cost of one step of trial reading, in addition to its bytes.
const TRIAL_STEP: u64 = 16 << 10;

/// Limits of trial reading: this many times the file's length plus a constant. A file full of false starts must not
/// take for ever.
const TRIAL_TIMES: u64 = 64;
const TRIAL_BYTES: u64 = 256 << 20;

/// Longest record kept in memory. In the worst case every quote of a cell is doubled.
fn longest(shape: RecordSplit) -> usize {
    if shape.is_row { 2 * MAX_CELL + PIECE_KEPT } else { MAX_LINE }
}

struct LineSalvage<'a> {
    input: DamagedInput<'a>,
    shape: RecordSplit,
    output: &'a mut WholeFile,
    recovery: &'a mut RecoveryReport,
    tick: &'a mut dyn FnMut(u64, u64),
    /// Everything before this is saved or counted as lost.
    settled: u64,
    /// A line after it was not a record.
    gap: bool,
    /// Records of the last piece. They occur again if reading restarts inside it.
    recent: HashSet<u64>,
    /// Records of the previous reading, and up to where they may occur again.
    before: (HashSet<u64>, u64),
    trials: u64,
    /// The rest of a stream after its last line feed, and its position. The next stream may continue this line.
    rest: (Vec<u8>, u64),
}

/// How reading from a position ended.
enum ReadEnd {
    /// At a proper end.
    Ended,
    Broken(&'static str),
    /// A stream starts inside a line of text that is not a record.
    Found(u64, Start),
}

/// Saves every line that is a record.
pub(super) fn save(
    input: DamagedInput<'_>,
    shape: RecordSplit,
    output: &mut WholeFile,
    recovery: &mut RecoveryReport,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), RecoveryError> {
    let (settled, gap, trials) = (0, false, 0);
    let (recent, before, rest) = Default::default();
    let mut saving = LineSalvage { input, shape, output, recovery, tick, settled, gap, recent, before, trials, rest };
    let first = input.start_at(0)?;
    let is_text = match first {
        Some(start) => start == Start::Text,
        None => input.is_text()?,
    };
    let mut start = if is_text { Some((0, Start::Text)) } else { first.map(|start| (0, start)) };
    let mut why = NO_START;
    let mut from = 0;
    while saving.settled < input.length {
        let found = match start.take() {
            Some(start) => Some(start),
            None => saving.find(from, input.length)?,
        };
        let Some((at, kind)) = found else { break };
        saving.recovery.lose(saving.settled, at, why);
        saving.settled = saving.settled.max(at);
        why = match saving.read(at, kind)? {
            ReadEnd::Found(at, kind) => {
                start = Some((at, kind));
                NO_START
            }
            ReadEnd::Ended if kind == Start::Text => {
                why = NO_RECORD;
                break;
            }
            ReadEnd::Ended => {
                start = input.start_at(saving.settled)?.map(|it| (saving.settled, it));
                NO_START
            }
            ReadEnd::Broken(problem) => problem,
        };
        saving.gap = false;
        // Never starts twice at the same position.
        from = saving.settled.max(at + 1);
        if is_text && start.is_none() {
            start = Some((from, Start::Text));
        }
    }
    saving.recovery.lose(saving.settled, input.length, why);
    Ok(())
}

impl LineSalvage<'_> {
    /// The next position between `from` and `until` where a complete record can be read.
    fn find(&mut self, mut from: u64, until: u64) -> Result<Option<(u64, Start)>, RecoveryError> {
        while let Some((at, start)) = self.input.next_start(from, until)? {
            if self.first_record(at, start)?.is_some() {
                return Ok(Some((at, start)));
            }
            if self.trials > TRIAL_BYTES + TRIAL_TIMES * self.input.length {
                return Ok(None);
            }
            // A flush is recognised by the three bytes before its position.
            from = if start == Start::Flush { at - 3 } else { at + 1 };
            (self.tick)(self.recovery.records, from);
        }
        Ok(None)
    }

    /// The line at this position, if it is a record.
    fn first_record(&mut self, at: u64, start: Start) -> io::Result<Option<Vec<u8>>> {
        let mut pieces = Pieces::new(self.input, at, start);
        let mut ends = RecordEnds::new(self.shape);
        let mut line = Vec::new();
        loop {
            let got = pieces.advance()?;
            self.trials += TRIAL_STEP + pieces.piece().len() as u64;
            let end = ends.next(pieces.piece());
            append(&mut line, &pieces.piece()[..end.unwrap_or(pieces.piece().len())], longest(self.shape));
            if end.is_some() || got.is_last() {
                return Ok((self.shape.is_record)(&line).then_some(line));
            }
            let is_object = matches!(line.first(), None | Some(b'{' | b'"'));
            if got != Got::More || !is_object || line.len() > longest(self.shape) {
                return Ok(None);
            }
        }
    }

    /// Saves the records from a position on.
    fn read(&mut self, at: u64, start: Start) -> Result<ReadEnd, RecoveryError> {
        let mut pieces = Pieces::new(self.input, at, start);
        let mut ends = RecordEnds::new(self.shape);
        self.before = (std::mem::take(&mut self.recent), self.settled);
        let (mut line, rest_at) = std::mem::take(&mut self.rest);
        if rest_at != at || start == Start::Text {
            line.clear();
        }
        // The start of the line; in a stream, the start of its piece.
        let mut line_at = at;
        let mut is_too_long = false;
        // Whether the stream is intact, so that its lines are those that were written.
        let mut sound = None;
        loop {
            let piece_at = pieces.at();
            let got = pieces.advance()?;
            let mut rest = pieces.piece();
            loop {
                if line.is_empty() && !is_too_long {
                    let blank = line_ends(rest);
                    rest = &rest[blank..];
                    line_at += if pieces.is_text() { blank as u64 } else { 0 };
                }
                let Some(end) = ends.next(rest) else { break };
                let line_end = if pieces.is_text() { pieces.at() - (rest.len() - end) as u64 } else { piece_at };
                append(&mut line, &rest[..end], longest(self.shape));
                rest = &rest[end..];
                let is_fine = !std::mem::take(&mut is_too_long) && self.take(&line, line_at, line_end)?;
                line.clear();
                line.shrink_to(PIECE_KEPT);
                if !is_fine && pieces.is_text() {
                    self.gap = true;
                    if let Some((at, start)) = self.read_inside(line_at, line_end)? {
                        return Ok(ReadEnd::Found(at, start));
                    }
                } else if !is_fine {
                    self.gap = true;
                    if sound.is_none() {
                        sound = Some(start != Start::Flush && is_sound(self.input.file, at)?);
                    }
                    if sound == Some(false) {
                        return Ok(ReadEnd::Broken(NO_RECORD));
                    }
                }
                line_at = line_end;
            }
            if is_too_long || line.len() + rest.len() > longest(self.shape) || is_junk(&line) {
                (line, is_too_long) = (Vec::new(), true);
            } else {
                append(&mut line, rest, longest(self.shape));
            }
            (self.tick)(self.recovery.records, pieces.at());
            match got {
                Got::More => {}
                Got::End => return self.end(line, line_at, &pieces, is_too_long),
                Got::Broken(why) => {
                    // The file may have been cut just before the line feed of this record.
                    if got.is_last() && !is_too_long {
                        self.take(&line, line_at, pieces.at())?;
                    }
                    return Ok(ReadEnd::Broken(why));
                }
            }
        }
    }

    /// Saves the records inside a piece of text that is not a record. If a stream starts inside, returns its position,
    /// since it must be read first.
    fn read_inside(&mut self, from: u64, until: u64) -> Result<Option<(u64, Start)>, RecoveryError> {
        let mut from = from + 1;
        while let Some((at, start)) = self.find(from, until)? {
            if start != Start::Text {
                return Ok(Some((at, start)));
            }
            let Some(record) = self.first_record(at, start)? else { break };
            from = at + record.len() as u64;
            self.take(&record, at, from)?;
        }
        // The rest after the last record is useless.
        self.gap = true;
        Ok(None)
    }

    /// Handles the end of the input, with the rest after the last line feed. A record may be complete without a line
    /// feed.
    fn end(
        &mut self,
        line: Vec<u8>,
        line_at: u64,
        pieces: &Pieces<'_>,
        is_too_long: bool,
    ) -> Result<ReadEnd, RecoveryError> {
        let had_gap = self.gap;
        let is_whole = !is_too_long && self.take(&line, line_at, pieces.at())?;
        if pieces.is_text() && !is_whole {
            if let Some((at, start)) = self.read_inside(line_at, pieces.at())? {
                return Ok(ReadEnd::Found(at, start));
            }
            return Ok(ReadEnd::Ended);
        }
        if !is_whole && self.input.start_at(pieces.at())?.is_some() {
            self.rest = (line, pieces.at());
            self.gap = had_gap;
        }
        if self.gap {
            self.recovery.lose(self.settled, pieces.at().max(self.settled + 1), NO_RECORD);
        }
        self.settled = pieces.at();
        Ok(ReadEnd::Ended)
    }

    /// Saves a line if it is a record. Then reports what was lost before it.
    fn take(&mut self, line: &[u8], from: u64, to: u64) -> Result<bool, RecoveryError> {
        if line.trim_ascii().is_empty() {
            return Ok(true);
        }
        if !(self.shape.is_record)(line) {
            self.gap = true;
            return Ok(false);
        }
        if std::mem::take(&mut self.gap) {
            self.recovery.lose(self.settled, from.max(self.settled + 1), NO_RECORD);
        }
        if to > self.settled {
            self.recent.clear();
        }
        self.settled = self.settled.max(to);
        let hash = xxh3_64(line);
        self.recent.insert(hash);
        if to > self.before.1 || !self.before.0.contains(&hash) {
            self.output.write_all(line.trim_ascii_start()).map_err(RecoveryError::Write)?;
            if !line.ends_with(b"\n") {
                self.output.write_all(b"\n").map_err(RecoveryError::Write)?;
            }
            self.recovery.records += 1;
        }
        (self.tick)(self.recovery.records, to);
        Ok(true)
    }
}

/// Whether a line cannot be a record, whatever follows.
fn is_junk(line: &[u8]) -> bool {
    line.len() >= LOOKED_AT && !matches!(line.trim_ascii_start().first(), Some(b'{' | b'"'))
}

/// Most memory kept from one line to the next.
const PIECE_KEPT: usize = 1 << 20;

/// Finds the ends of lines or rows in bytes that arrive in pieces.
enum RecordEnds {
    Lines,
    Rows(Box<csv_core::Reader>),
}

impl RecordEnds {
    fn new(shape: RecordSplit) -> RecordEnds {
        if shape.is_row { RecordEnds::Rows(Box::new(csv_core::Reader::new())) } else { RecordEnds::Lines }
    }

    /// The position after the end of the current line or row; none if it does not end in these bytes.
    fn next(&mut self, bytes: &[u8]) -> Option<usize> {
        let csv = match self {
            RecordEnds::Lines => return memchr::memchr(b'\n', bytes).map(|at| at + 1),
            RecordEnds::Rows(csv) => csv,
        };
        let mut room = [0; 4 << 10];
        let mut at = 0;
        // An empty slice would signal the end of the input to the reader.
        while at < bytes.len() {
            let (result, taken, _) = csv.read_field(&bytes[at..], &mut room);
            at += taken;
            if let ReadFieldResult::Field { record_end: true } = result {
                return Some(at);
            }
        }
        None
    }
}
