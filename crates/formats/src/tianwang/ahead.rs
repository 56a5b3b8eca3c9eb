//! Looks ahead at a position of the file: a record, the end of the file, or something else.

use std::collections::HashMap;
use std::io;

use super::MAX_HEAD;
use super::framing::{Framing, MARK, MAX_FIRST_LINE, Step, Stretch};
use super::window::{Line, SeekableInput, Window};
use crate::records::ReadSeek;

/// Longer heads are remembered, since reading them again costs more than a hostile file needs to point at them. A
/// record points less than 2 · (`MAX_DATA` + `MAX_HEAD`) ahead, and heads at line starts do not overlap. So at most
/// 600,000 are remembered, 45 MB.
const LONG: u64 = 1 << 10;
/// After this many new ones, old heads are forgotten.
const MANY: usize = 64 << 10;

/// The content at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A well-formed record, with the blank line that ends it.
    Record(Framing),
    /// Possibly a record, but the file ends inside it.
    Cut,
    /// The end of the file.
    End,
    SomethingElse,
}

pub(super) struct LookAhead {
    window: Window,
    remembered: HashMap<u64, Ahead>,
    /// How many were left after the last time old heads were forgotten.
    left: usize,
}

impl LookAhead {
    pub(super) fn new() -> LookAhead {
        LookAhead { window: Window::new(256, 64 << 10), remembered: HashMap::new(), left: 0 }
    }

    /// What is at `place`.
    pub(super) fn at(&mut self, source: &mut SeekableInput<'_>, offset: u64) -> io::Result<Ahead> {
        if offset >= source.length {
            return Ok(Ahead::End);
        }
        if let Some(known) = self.remembered.get(&offset) {
            return Ok(*known);
        }
        let (mut ahead, looked_at) = self.head_at(source, offset)?;
        if let Ahead::Record(framing) = ahead {
            ahead = self.as_far_as_it_is_there(source, framing)?;
        }
        if looked_at > LONG {
            self.remembered.insert(offset, ahead);
        }
        Ok(ahead)
    }

    /// Checks that the record's blank line is where its length says.
    pub(super) fn as_far_as_it_is_there(
        &mut self,
        source: &mut SeekableInput<'_>,
        framing: Framing,
    ) -> io::Result<Ahead> {
        if framing.end() > source.length {
            return Ok(Ahead::Cut);
        }
        let last = self.window.at(source, framing.end() - 1, 1)?.first();
        Ok(if last == Some(&b'\n') { Ahead::Record(framing) } else { Ahead::SomethingElse })
    }

    /// Positions before `position` are no longer needed.
    pub(super) fn forget_before(&mut self, position: u64) {
        if self.remembered.len() >= self.left + MANY {
            self.remembered.retain(|offset, _| *offset >= position);
            self.left = self.remembered.len();
        }
    }

    /// The record whose head starts at `place`, and how many bytes were read to know.
    fn head_at(&mut self, source: &mut SeekableInput<'_>, offset: u64) -> io::Result<(Ahead, u64)> {
        let mut stretch = Stretch::default();
        let (mut at, mut limit) = (offset, MAX_FIRST_LINE);
        loop {
            let (step, length) = match self.window.line(source, at, limit)? {
                Line::Whole(line) if at == offset && !line.starts_with(MARK) => (Step::Bad, line.len()),
                Line::Whole(line) => (stretch.line(at, line), line.len()),
                Line::Cut(rest) if at > offset || may_be_a_mark(rest) => return Ok((Ahead::Cut, at - offset)),
                Line::Cut(rest) => (Step::Bad, rest.len()),
                Line::TooLong => (Step::Bad, limit),
            };
            at += length as u64 + 1;
            let ahead = match step {
                Step::GoesOn if stretch.may_begin_at(offset) && at - offset <= MAX_HEAD as u64 => None,
                Step::End(Some(framing)) if framing.start == offset => Some(Ahead::Record(framing)),
                Step::GoesOn | Step::Bad | Step::End(_) => Some(Ahead::SomethingElse),
            };
            if let Some(ahead) = ahead {
                return Ok((ahead, at - offset));
            }
            limit = MAX_HEAD;
        }
    }
}

/// The length of complete records at the beginning of the file, judged by heads and lengths. This is where a killed
/// writer stopped. Reads only the heads.
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

/// Whether the last bytes of the file may be the beginning of a first line.
fn may_be_a_mark(rest: &[u8]) -> bool {
    MARK.starts_with(rest) || rest.starts_with(MARK)
}
