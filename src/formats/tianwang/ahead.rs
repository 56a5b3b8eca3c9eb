//! Looks at what stands at one place of the file: a record, its end, something else.

use std::collections::HashMap;
use std::io;

use super::MAX_HEAD;
use super::framing::{Framing, MARK, MAX_FIRST_LINE, Step, Stretch};
use super::window::{Line, SeekableInput, Window};
use crate::formats::records::ReadSeek;

/// Heads longer than this are remembered: they cost more to read than a false record that points at them does to write.
/// What is pointed at lies less than 2 · (`MAX_DATA` + `MAX_HEAD`) ahead, and heads at which lines begin do not overlap,
/// so at the worst 600,000 are remembered, 45 MB.
const LONG: u64 = 1 << 10;
/// Once so many more are remembered, those behind are forgotten.
const MANY: usize = 64 << 10;

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A well-formed record, with the blank line that ends it.
    Record(Framing),
    /// What may be a record, and the file ends in it.
    Cut,
    /// Nothing: the file ends.
    End,
    SomethingElse,
}

pub(super) struct LookAhead {
    window: Window,
    remembered: HashMap<u64, Ahead>,
    /// How many were left when those behind were forgotten last.
    left: usize,
}

impl LookAhead {
    pub fn new() -> LookAhead {
        LookAhead { window: Window::new(256, 64 << 10), remembered: HashMap::new(), left: 0 }
    }

    /// What stands at `place`.
    pub fn at(&mut self, source: &mut SeekableInput<'_>, place: u64) -> io::Result<Ahead> {
        if place >= source.length {
            return Ok(Ahead::End);
        }
        if let Some(known) = self.remembered.get(&place) {
            return Ok(*known);
        }
        let (mut ahead, looked_at) = self.head_at(source, place)?;
        if let Ahead::Record(framing) = ahead {
            ahead = self.as_far_as_it_is_there(source, framing)?;
        }
        if looked_at > LONG {
            self.remembered.insert(place, ahead);
        }
        Ok(ahead)
    }

    /// The record if its blank line is where its length says.
    pub fn as_far_as_it_is_there(&mut self, source: &mut SeekableInput<'_>, framing: Framing) -> io::Result<Ahead> {
        if framing.end() > source.length {
            return Ok(Ahead::Cut);
        }
        let last = self.window.at(source, framing.end() - 1, 1)?.first();
        Ok(if last == Some(&b'\n') { Ahead::Record(framing) } else { Ahead::SomethingElse })
    }

    /// Nobody asks for places before `position` any more.
    pub fn forget_before(&mut self, position: u64) {
        if self.remembered.len() >= self.left + MANY {
            self.remembered.retain(|place, _| *place >= position);
            self.left = self.remembered.len();
        }
    }

    /// The record whose head begins at `place`, and how many bytes were looked at to know.
    fn head_at(&mut self, source: &mut SeekableInput<'_>, place: u64) -> io::Result<(Ahead, u64)> {
        let mut stretch = Stretch::default();
        let (mut at, mut limit) = (place, MAX_FIRST_LINE);
        loop {
            let (step, length) = match self.window.line(source, at, limit)? {
                Line::Whole(line) if at == place && !line.starts_with(MARK) => (Step::Bad, line.len()),
                Line::Whole(line) => (stretch.line(at, line), line.len()),
                Line::Cut(rest) if at > place || may_be_a_mark(rest) => return Ok((Ahead::Cut, at - place)),
                Line::Cut(rest) => (Step::Bad, rest.len()),
                Line::TooLong => (Step::Bad, limit),
            };
            at += length as u64 + 1;
            let ahead = match step {
                Step::GoesOn if stretch.may_begin_at(place) && at - place <= MAX_HEAD as u64 => None,
                Step::End(Some(framing)) if framing.start == place => Some(Ahead::Record(framing)),
                Step::GoesOn | Step::Bad | Step::End(_) => Some(Ahead::SomethingElse),
            };
            if let Some(ahead) = ahead {
                return Ok((ahead, at - place));
            }
            limit = MAX_HEAD;
        }
    }
}

/// How many bytes at the file's beginning are whole records, as far as their heads and lengths tell: where a writer that
/// was killed left off. Reads the heads alone.
pub fn whole_length(input: &mut dyn ReadSeek) -> io::Result<u64> {
    let mut source = SeekableInput::new(input)?;
    let mut look = LookAhead::new();
    let mut at = 0;
    while let Ahead::Record(framing) = look.at(&mut source, at)? {
        look.forget_before(at);
        at = framing.end();
    }
    Ok(at)
}

/// Whether the file's last bytes may be the beginning of a first line.
fn may_be_a_mark(rest: &[u8]) -> bool {
    MARK.starts_with(rest) || rest.starts_with(MARK)
}
