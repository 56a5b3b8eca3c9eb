//! The structure of a record, strictly as in the format's document (§2): where it starts, where its DATA is, where it
//! ends.
//!
//! A head is well formed if all of these hold:
//!
//! - Its first line is `version:` with a number.
//! - Every other line is a property: a lower-case name, a colon, anything but a CR.
//! - It has a `url` that is not empty, and a `date`.
//! - No property named by the format occurs twice.
//! - Its last line is `length` with a number, followed by a blank line.
//!
//! A cut can leave the beginning of one head in front of another, so that the head could start at two positions. The
//! later one counts if the head is well formed from there.

use super::{MAX_DATA, MAX_HEAD};

/// The beginning of a record.
pub(super) const MARK: &[u8] = b"version:";

/// The beginning of a head's last line.
const LAST: &[u8] = b"length:";

/// Longest first line, in bytes.
pub(super) const MAX_FIRST_LINE: usize = 32;

const MAX_NAME: usize = 64;

/// The bit of a property that every record must have, besides `version`, `url` and `length`.
const DATE: u8 = 4;

/// The position of a record with a well-formed head. Offsets are from the beginning of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framing {
    pub start: u64,
    /// Start of DATA.
    pub data: u64,
    /// Length of DATA.
    pub length: u64,
}

impl Framing {
    /// The position after the blank line that ends the record.
    pub(super) fn end(&self) -> u64 {
        self.data + self.length + 1
    }
}

/// Lines that may be a head, passed one by one. Reads each byte once, however many heads could start there.
#[derive(Default)]
pub(super) struct Stretch {
    /// The head being read, with its `url`.
    head: Option<Open>,
    /// A later position where the head could start, if a `url` follows.
    later: Option<Open>,
}

/// A head that has not ended yet.
#[derive(Clone, Copy)]
struct Open {
    start: u64,
    /// The properties read so far, one bit each.
    seen: u8,
    /// The value of `length`, if that was the last line.
    length: Option<u64>,
}

/// The meaning of a line for the lines before it.
pub(super) enum Step {
    GoesOn,
    /// Not a property, so the lines before it are not a head.
    Bad,
    /// A blank line; with the head before it, if it is one.
    End(Option<Framing>),
}

impl Stretch {
    /// `line`: without its LF, at offset `at`.
    pub(super) fn line(&mut self, at: u64, line: &[u8]) -> Step {
        if line.is_empty() {
            return Step::End(self.head.and_then(|head| head.framing(at)));
        }
        if let Some(value) = line.strip_prefix(MARK) {
            if !is_version(value) {
                return Step::Bad;
            }
            (self.head, self.later) = (None, Some(Open::at(at)));
            return Step::GoesOn;
        }
        let Some((name, value)) = property(line) else { return Step::Bad };
        self.head = self.head.and_then(|head| head.with(name, value));
        self.later = self.later.and_then(|later| later.with(name, value));
        if name == b"url" {
            self.head = self.later.take();
        }
        if let Some(inside) = mark_at_end(line) {
            self.later = Some(Open::at(at + inside as u64));
        }
        Step::GoesOn
    }

    /// Whether a head that started at `start` is still possible.
    pub(super) fn may_begin_at(&self, start: u64) -> bool {
        [self.head, self.later].into_iter().flatten().any(|open| open.start == start)
    }
}

impl Open {
    fn at(start: u64) -> Open {
        Open { start, seen: 0, length: None }
    }

    fn with(self, name: &[u8], value: &[u8]) -> Option<Open> {
        let bit = match name {
            b"url" => 1,
            b"origin" => 2,
            b"date" => DATE,
            b"ip" => 8,
            b"unzip-length" => 16,
            b"length" => 32,
            _ => 0,
        };
        let is_behind_the_last = self.length.is_some();
        let is_empty_url = bit == 1 && value.trim_ascii().is_empty();
        if is_behind_the_last || is_empty_url || self.seen & bit != 0 {
            return None;
        }
        let number = if bit >= 16 { Some(number(value)?) } else { None };
        Some(Open { seen: self.seen | bit, length: number.filter(|_| bit == 32), ..self })
    }

    /// The head that ends with the blank line at `blank`.
    fn framing(self, blank: u64) -> Option<Framing> {
        let length = self.length.filter(|length| *length <= MAX_DATA && self.seen & DATE != 0)?;
        (blank - self.start <= MAX_HEAD as u64).then_some(Framing { start: self.start, data: blank + 1, length })
    }
}

/// Whether the format allows this property name: lower-case, without blanks.
fn is_name(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && *byte != b':';
    !name.is_empty() && name.len() <= MAX_NAME && name.iter().all(fits)
}

/// A number such as `1.0`, with blanks around it.
fn is_version(value: &[u8]) -> bool {
    let digits = value.trim_ascii();
    let fits = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let is_number = digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(fits);
    is_number && value.len() <= MAX_FIRST_LINE && !value.contains(&b'\r')
}

/// Whether DATA itself shows that it is complete, for records whose end nothing else confirms: it is compressed, or
/// contains no part of another record's head.
pub(super) fn is_whole_in_itself(unzip_length: Option<u64>, data: &[u8]) -> bool {
    unzip_length.is_some() || !holds_part_of_a_head(data)
}

/// Whether it contains the beginning of a head, or the last line of a head with its blank line.
fn holds_part_of_a_head(data: &[u8]) -> bool {
    let value =
        |at: usize, name: &[u8]| data[at + name.len()..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_last = |at: usize| {
        let value = value(at, LAST);
        number(value).is_some() && data[at + LAST.len() + value.len()..].starts_with(b"\n\n")
    };
    memchr::memmem::find_iter(data, MARK).any(|at| is_version(value(at, MARK)))
        || memchr::memmem::find_iter(data, LAST).any(is_last)
}

fn property(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    (is_name(name) && memchr::memchr2(b'\r', b'\0', value).is_none()).then_some((name, value))
}

fn number(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

/// Where a first line of a head could start within the line, after the rest of a cut line.
fn mark_at_end(line: &[u8]) -> Option<usize> {
    let colon = memchr::memrchr(b':', line)?;
    let (before, value) = line.split_at(colon + 1);
    (before.ends_with(MARK) && is_version(value)).then(|| before.len() - MARK.len())
}
