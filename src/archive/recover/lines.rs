//! Saving the records of formats with one a line, plain or in compressed streams.
//!
//! Reading goes on as far as it can. Then the next place is looked for where a stream or a line begins, from behind the
//! last whole record; a place counts only if what is read there begins with a whole record. Streams with flushes in them, as
//! Seine writes, can be read again behind a flush that forgot what was before; others are lost from the damage to their
//! end: what is decompressed behind damage is not trusted, however much it looks like records.

use std::collections::HashSet;
use std::io;

use xxhash_rust::xxh3::xxh3_64;

use super::output::Output;
use super::scan::{Got, Input, Pieces, Start};
use super::{Problem, Recovery};
use crate::formats::lines::MAX_LINE;

const NO_RECORD: &str = "no whole record";
const NO_START: &str = "nothing that begins a stream or a record";
/// What one step of reading on trial costs besides its bytes.
const TRIAL_STEP: u64 = 16 << 10;

/// Reading on trial costs at most so many times the file's length, and this besides: a file made of false starts must not
/// take for ever.
const TRIAL_TIMES: u64 = 64;
const TRIAL_BYTES: u64 = 256 << 20;

struct Saving<'a> {
    input: Input<'a>,
    is_record: fn(&[u8]) -> bool,
    output: &'a mut Output,
    recovery: &'a mut Recovery,
    tick: &'a mut dyn FnMut(u64, u64),
    /// Everything before it is saved or counted as lost.
    settled: u64,
    /// A line behind it was no record.
    gap: bool,
    /// Records of the piece that was read last: they come again when reading begins anew inside it.
    recent: HashSet<u64>,
    trials: u64,
}

/// Saves every line that is a record.
pub(super) fn save(
    input: Input<'_>,
    is_record: fn(&[u8]) -> bool,
    output: &mut Output,
    recovery: &mut Recovery,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<(), Problem> {
    let (settled, gap, recent, trials) = (0, false, HashSet::new(), 0);
    let mut saving = Saving { input, is_record, output, recovery, tick, settled, gap, recent, trials };
    let mut start = input.start_at(0).map_err(Problem::Read)?.map(|start| (0, start));
    let mut why = NO_START;
    let mut from = 0;
    while saving.settled < input.length {
        let found = match start.take() {
            Some(start) => Some(start),
            None => saving.find(from)?,
        };
        let Some((at, kind)) = found else { break };
        saving.recovery.lose(saving.settled, at, why);
        saving.settled = saving.settled.max(at);
        match saving.read(at, kind)? {
            None => {
                start = input.start_at(saving.settled).map_err(Problem::Read)?.map(|it| (saving.settled, it));
                why = NO_START;
            }
            Some(problem) => why = problem,
        }
        saving.gap = false;
        // Never from the same place twice.
        from = saving.settled.max(at + 1);
    }
    saving.recovery.lose(saving.settled, input.length, why);
    Ok(())
}

impl Saving<'_> {
    /// The next place from `from` on where a whole record can be read.
    fn find(&mut self, mut from: u64) -> Result<Option<(u64, Start)>, Problem> {
        while let Some((at, start)) = self.input.next_start(from).map_err(Problem::Read)? {
            if self.begins_with_record(at, start).map_err(Problem::Read)? {
                return Ok(Some((at, start)));
            }
            if self.trials > TRIAL_BYTES + TRIAL_TIMES * self.input.length {
                return Ok(None);
            }
            // A flush is found by the bytes before it.
            from = if start == Start::Flush { at - 3 } else { at + 1 };
            (self.tick)(self.recovery.records, from);
        }
        Ok(None)
    }

    fn begins_with_record(&mut self, at: u64, start: Start) -> io::Result<bool> {
        let mut pieces = Pieces::new(self.input, at, start);
        let mut line = Vec::new();
        loop {
            let got = pieces.advance()?;
            self.trials += TRIAL_STEP + pieces.piece().len() as u64;
            let feed = memchr::memchr(b'\n', pieces.piece());
            line.extend_from_slice(&pieces.piece()[..feed.unwrap_or(pieces.piece().len())]);
            if feed.is_some() || got == Got::End {
                return Ok((self.is_record)(&line));
            }
            let is_object = matches!(line.first(), None | Some(b'{' | b'"'));
            if got != Got::More || !is_object || line.len() > MAX_LINE {
                return Ok(false);
            }
        }
    }

    /// Saves the records from a place on. Returns why it stopped; none when a stream has ended as it should.
    fn read(&mut self, at: u64, start: Start) -> Result<Option<&'static str>, Problem> {
        let mut pieces = Pieces::new(self.input, at, start);
        let mut line = Vec::new();
        // Where the line begins; in a stream, where the piece that it begins in was read.
        let mut line_at = at;
        // Whether the stream's checksum says that its lines are those that were written, records or not.
        let mut intact = None;
        loop {
            let piece_at = pieces.at();
            let got = pieces.advance().map_err(Problem::Read)?;
            let mut rest = pieces.piece();
            while let Some(feed) = memchr::memchr(b'\n', rest) {
                line.extend_from_slice(&rest[..=feed]);
                rest = &rest[feed + 1..];
                let line_end = if pieces.is_text() { line_at + line.len() as u64 } else { piece_at };
                let is_fine = self.take(&line, line_at, line_end)?;
                if !is_fine {
                    if intact.is_none() {
                        intact = Some(!pieces.is_text() && self.is_intact(at, start)?);
                    }
                    if intact == Some(false) {
                        return Ok(Some(NO_RECORD));
                    }
                }
                line_at = line_end;
                line.clear();
            }
            if line.len() + rest.len() > MAX_LINE {
                return Ok(Some("a line longer than any record"));
            }
            line.extend_from_slice(rest);
            match got {
                Got::More => {}
                Got::End => return self.end(&line, line_at, &pieces),
                Got::Broken(why) => return Ok(Some(why)),
            }
        }
    }

    /// Behind damage, what is decompressed may look like records and be none that anybody wrote.
    fn is_intact(&self, at: u64, start: Start) -> Result<bool, Problem> {
        let mut pieces = Pieces::new(self.input, at, start);
        loop {
            match pieces.advance().map_err(Problem::Read)? {
                Got::More => {}
                got => return Ok(got == Got::End && start != Start::Flush),
            }
        }
    }

    /// A stream has ended as it should, with this behind its last line feed. A record may be whole without one.
    fn end(&mut self, line: &[u8], line_at: u64, pieces: &Pieces<'_>) -> Result<Option<&'static str>, Problem> {
        let is_whole = self.take(line, line_at, pieces.at())?;
        if pieces.is_text() && !is_whole {
            return Ok(Some(NO_RECORD));
        }
        if self.gap {
            self.recovery.lose(self.settled, pieces.at().max(self.settled + 1), NO_RECORD);
        }
        self.settled = pieces.at();
        Ok(None)
    }

    /// Saves a line if it is a record. What could not be saved before it is told then.
    fn take(&mut self, line: &[u8], from: u64, to: u64) -> Result<bool, Problem> {
        if line.trim_ascii().is_empty() {
            return Ok(true);
        }
        if !(self.is_record)(line) {
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
        if self.recent.insert(xxh3_64(line)) {
            self.output.write(line).map_err(Problem::Write)?;
            if !line.ends_with(b"\n") {
                self.output.write(b"\n").map_err(Problem::Write)?;
            }
            self.recovery.records += 1;
        }
        (self.tick)(self.recovery.records, to);
        Ok(true)
    }
}
