//! Searches a file from front to back for `version:` followed by a well-formed head.

use std::io;

use memchr::memmem::Finder;

use super::MAX_HEAD;
use super::framing::{Framing, MARK, MAX_FIRST_LINE, Step, Stretch};
use super::window::{Line, SeekableInput, Window};

const PIECE: usize = 256 << 10;

pub(super) struct Search {
    window: Window,
    mark: Finder<'static>,
    position: u64,
}

impl Search {
    pub(super) fn new() -> Search {
        Search { window: Window::new(PIECE, PIECE), mark: Finder::new(MARK), position: 0 }
    }

    pub(super) fn go_to(&mut self, position: u64) {
        self.position = position;
    }

    /// The next well-formed head. The bytes behind the head are not checked.
    pub(super) fn next(&mut self, source: &mut SeekableInput<'_>) -> io::Result<Option<Framing>> {
        while let Some(at) = self.find_mark(source)? {
            if let Some(framing) = self.read_lines(source, at)? {
                return Ok(Some(framing));
            }
        }
        Ok(None)
    }

    fn find_mark(&mut self, source: &mut SeekableInput<'_>) -> io::Result<Option<u64>> {
        loop {
            let bytes = self.window.at(source, self.position, MARK.len())?;
            if bytes.len() < MARK.len() {
                return Ok(None);
            }
            if let Some(found) = self.mark.find(bytes) {
                return Ok(Some(self.position + found as u64));
            }
            self.position += (bytes.len() - MARK.len() + 1) as u64;
        }
    }

    /// Reads lines after a mark as long as they may be a head. No line is read twice, except one that is not a
    /// property, which is searched for a mark.
    fn read_lines(&mut self, source: &mut SeekableInput<'_>, mark: u64) -> io::Result<Option<Framing>> {
        let mut stretch = Stretch::default();
        let (mut at, mut limit) = (mark, MAX_FIRST_LINE);
        loop {
            let (step, length) = match self.window.line(source, at, limit)? {
                Line::Whole(line) => (stretch.line(at, line), line.len() as u64),
                Line::Cut(_) | Line::TooLong => (Step::Bad, 0),
            };
            match step {
                Step::GoesOn => at += length + 1,
                Step::Bad => {
                    self.position = at.max(mark + 1);
                    return Ok(None);
                }
                Step::End(framing) => {
                    self.position = at + 1;
                    return Ok(framing);
                }
            }
            limit = MAX_HEAD;
        }
    }
}
