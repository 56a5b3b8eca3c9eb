//! The form of a record, strictly as the format's document has it (§2): where it begins, where its DATA lies, where
//! it ends.
//!
//! A head is well formed when its first line is `version:` with a number, every other line is a property (a lower-case
//! name, a colon, anything but a CR), `url` is one of them and not empty, `date` is another, none that the format names
//! comes twice, `length` with a number is the last, and a blank line follows. A cut can leave the beginning of one head in front of another, so that there are
//! two places where the head could begin; then the later is the true one, if from there it is well formed.

use super::{MAX_DATA, MAX_HEAD};

/// What a record begins with.
pub(super) const MARK: &[u8] = b"version:";

/// What a head's last line begins with.
const LAST: &[u8] = b"length:";

/// The longest first line, in bytes.
pub(super) const MAX_FIRST_LINE: usize = 32;

const MAX_NAME: usize = 64;

/// The bit of the property that no record is whole without, besides `version`, `url` and `length`.
const DATE: u8 = 4;

/// Where a record with a well-formed head stands. Offsets are from the beginning of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framing {
    pub start: u64,
    /// Where DATA begins.
    pub data: u64,
    /// Of DATA.
    pub length: u64,
}

impl Framing {
    /// Behind the blank line that ends the record.
    pub fn end(&self) -> u64 {
        self.data + self.length + 1
    }
}

/// Lines that may be a head, given one by one. Looks at each byte once, however many heads could begin in them.
#[derive(Default)]
pub(super) struct Stretch {
    /// The head being read, `url` included.
    head: Option<Open>,
    /// A later place where the head could begin, if a `url` still comes.
    later: Option<Open>,
}

/// A head whose end has not come yet.
#[derive(Clone, Copy)]
struct Open {
    start: u64,
    /// Which properties it has, a bit each.
    seen: u8,
    /// Of the last line.
    length: Option<u64>,
}

/// What a line is to those before it.
pub(super) enum Step {
    GoesOn,
    /// No property: nothing before it was a head.
    Bad,
    /// A blank line. With a head before it, if it was one.
    End(Option<Framing>),
}

impl Stretch {
    /// `line`: without its LF, at offset `at`.
    pub fn line(&mut self, at: u64, line: &[u8]) -> Step {
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

    /// Whether a head that began at `start` may still come of it.
    pub fn may_begin_at(&self, start: u64) -> bool {
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

/// Whether the format allows a property this name: lower-case, without blanks.
fn is_name(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && *byte != b':';
    !name.is_empty() && name.len() <= MAX_NAME && name.iter().all(fits)
}

/// A number such as `1.0`, blanks around it.
fn is_version(value: &[u8]) -> bool {
    let digits = value.trim_ascii();
    let fits = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let is_number = digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(fits);
    is_number && value.len() <= MAX_FIRST_LINE && !value.contains(&b'\r')
}

/// Whether DATA itself says that all of it is there and nothing else, for records whose end nothing else shows: it is
/// compressed, or holds nothing of another record's head.
pub(super) fn is_whole_in_itself(unzip_length: Option<u64>, data: &[u8]) -> bool {
    unzip_length.is_some() || !holds_part_of_a_head(data)
}

/// Whether what a head begins with is in it, or the last line of one and the blank line behind it.
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

/// Where in the line a first line of a head could begin: behind what a cut has left of another line.
fn mark_at_end(line: &[u8]) -> Option<usize> {
    let colon = memchr::memrchr(b':', line)?;
    let (before, value) = line.split_at(colon + 1);
    (before.ends_with(MARK) && is_version(value)).then(|| before.len() - MARK.len())
}
