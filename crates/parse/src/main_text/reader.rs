//! Splits a page into blocks: text between two tags that break lines.

use std::mem::take;

use super::elements::{APART, IGNORED, RUNS_ON, Tag};
use super::letters::{Sign, space_at};
use super::{Classifier, Densities};

/// Width of the imagined lines that a block is wrapped into.
const LINE: usize = 80;

/// The text between two tags that break lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub text: String,
    words: usize,
    linked_words: usize,
    /// Words in all lines but the last …
    words_in_full_lines: usize,
    /// … and the number of these lines. The line of a one-line block counts as full.
    full_lines: usize,
}

impl Block {
    /// Words per line, and the share of words in links.
    pub(super) fn densities(&self) -> Densities {
        Densities {
            text: self.words_in_full_lines as f32 / self.full_lines as f32,
            link: if self.words == 0 { 0.0 } else { self.linked_words as f32 / self.words as f32 },
        }
    }

    /// Counts the only line if there are no full lines.
    fn with_a_line(mut self) -> Block {
        if self.words_in_full_lines == 0 {
            self.words_in_full_lines = self.words;
            self.full_lines = 1;
        }
        self
    }

    pub(super) fn merge(&mut self, next: &Block) {
        self.text.push('\n');
        self.text.push_str(&next.text);
        self.words += next.words;
        self.linked_words += next.linked_words;
        self.words_in_full_lines += next.words_in_full_lines;
        self.full_lines += next.full_lines;
        *self = take(self).with_a_line();
    }
}

/// The effect of a tag on the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The tag and its content are skipped.
    Ignore,
    /// The text continues.
    Inline,
    /// The text continues after a blank.
    Blank,
    /// A blank; the words inside are linked.
    Link,
    Body,
    /// A new block.
    Break,
}

impl Action {
    pub(super) fn of(tag: Tag) -> Action {
        match tag {
            Tag::A => Action::Link,
            Tag::Body => Action::Body,
            tag if tag.has(IGNORED) => Action::Ignore,
            tag if tag.has(RUNS_ON) => Action::Inline,
            tag if tag.has(APART) => Action::Blank,
            _ => Action::Break,
        }
    }
}

/// Receives the elements and the text of a page.
#[derive(Default)]
pub(super) struct Reader {
    classifier: Classifier,
    block: Block,
    /// Start of the last run without blanks in the block's text. It may continue after a tag, so its words are counted
    /// at the next blank.
    run: usize,
    /// The kinds of its bytes.
    kinds: u8,
    /// A blank is needed before the next word.
    blank: bool,
    /// A tag has broken the line since the last text.
    broken: bool,
    in_body: i32,
    in_ignored: i32,
    /// Number of open links. A link within a link ends the outer one, and both end tags are counted.
    in_links: i32,
    /// Between the start and the end of a link. A link that was closed within ignored content continues.
    is_linked: bool,
    wrap: Wrap,
}

/// The current line of a block.
#[derive(Default)]
struct Wrap {
    /// UTF-16 units in it, with blanks.
    length: usize,
    words: usize,
    /// Finished lines.
    lines: usize,
}

impl Reader {
    pub(super) fn open(&mut self, action: Action) {
        self.tag(action, 1);
    }

    pub(super) fn close(&mut self, action: Action) {
        self.tag(action, -1);
        if self.broken {
            self.end_block();
        }
    }

    /// `by`: the change in the number of open elements.
    fn tag(&mut self, action: Action, by: i32) {
        match action {
            Action::Ignore => {
                self.in_ignored += by;
                self.broken = true;
            }
            Action::Inline => {}
            Action::Blank => self.blank = true,
            Action::Link if by < 0 => self.end_link(),
            Action::Link => {
                self.in_links += 1;
                if self.in_links > 1 {
                    self.end_link();
                }
                self.mark(true);
            }
            Action::Body => {
                self.end_block();
                self.in_body += by;
            }
            Action::Break => self.broken = true,
        }
    }

    fn end_link(&mut self) {
        self.in_links -= 1;
        if self.in_links == 0 {
            self.mark(false);
        }
    }

    /// Starts or ends a link, unless the content is ignored.
    fn mark(&mut self, is_linked: bool) {
        if self.in_ignored == 0 {
            self.blank = true;
            if self.in_body > 0 {
                self.end_run(0);
                self.is_linked = is_linked;
            }
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if take(&mut self.broken) {
            self.end_block();
        }
        if self.in_ignored != 0 || self.in_body == 0 {
            return;
        }
        let bytes = text.as_bytes();
        // The text from here on is not yet in the block. Words with single blanks between them are appended at once.
        let (mut begin, mut at) = (0, 0);
        while at < bytes.len() {
            let (piece, mut kinds, mut blank) = (at, 0, 0);
            while let Some(&byte) = bytes.get(at) {
                let kind = BYTES[usize::from(byte)];
                if kind & BLANK != 0 {
                    blank = space_at(&bytes[at..]);
                    if blank > 0 {
                        break;
                    }
                }
                kinds |= kind;
                at += 1;
            }
            if at > piece {
                if take(&mut self.blank) && !self.block.text.is_empty() {
                    self.end_run(0);
                    self.block.text.push(' ');
                    self.run += 1;
                }
                self.kinds |= kinds;
                let is_single = bytes.get(at) == Some(&b' ')
                    && bytes.get(at + 1).is_some_and(|&next| BYTES[usize::from(next)] & BLANK == 0);
                if is_single && self.kinds & !WITH_PUNCTUATION == 0 {
                    self.end_run(at - begin);
                    self.run += 1;
                    at += 1;
                    continue;
                }
                self.block.text.push_str(&text[begin..at]);
            }
            self.blank |= blank > 0;
            at += blank;
            begin = at;
        }
    }

    /// Counts the words of the run. `ahead`: bytes of the run that are not in the block yet.
    fn end_run(&mut self, ahead: usize) {
        let end = self.block.text.len() + ahead;
        let (words, linked_words, wrap) = (&mut self.block.words, &mut self.block.linked_words, &mut self.wrap);
        let mut each = |length| {
            *words += 1;
            *linked_words += usize::from(self.is_linked);
            wrap.word(length, *words == 1);
        };
        match take(&mut self.kinds) {
            // Neither letters nor numbers.
            0 | PUNCTUATION => {}
            ALPHANUMERIC | WITH_PUNCTUATION => each(end - self.run),
            _ => words_of(self.block.text.get(self.run..).unwrap_or_default()).for_each(each),
        }
        self.run = end;
    }

    fn end_block(&mut self) {
        self.end_run(0);
        let wrap = take(&mut self.wrap);
        self.run = 0;
        self.blank = false;
        if self.block.text.is_empty() {
            return;
        }
        let next = Block { text: take(&mut self.classifier.spare), ..Block::default() };
        let mut block = std::mem::replace(&mut self.block, next);
        block.full_lines = wrap.lines;
        block.words_in_full_lines = if wrap.lines == 0 { 0 } else { block.words - wrap.words };
        self.classifier.add(block.with_a_line());
    }

    /// The text of the content blocks.
    pub(super) fn finish(mut self) -> String {
        self.end_block();
        self.classifier.finish()
    }
}

impl Wrap {
    fn word(&mut self, length: usize, is_first: bool) {
        self.length += length + usize::from(!is_first);
        self.words += 1;
        if self.length > LINE {
            *self = Wrap { length, words: 1, lines: self.lines + 1 };
        }
    }
}

/// The lengths, in UTF-16 units, of the words in a run without blanks. The run is split where letters, digits, accents
/// or `_` meet another sign, except signs that are allowed in and next to words. Parts without letters and numbers are
/// not words.
fn words_of(run: &str) -> impl Iterator<Item = usize> {
    let mut characters = run.chars().map(|c| (Sign::of(c), c.len_utf16())).peekable();
    // An accent belongs to the letter before it.
    let (mut has_base, mut last) = (false, Kind::Joining);
    std::iter::from_fn(move || {
        loop {
            let (mut length, mut is_word) = (0, false);
            while let Some(&(sign, units)) = characters.peek() {
                let kind = Kind::of(sign, has_base);
                if length > 0 && last.is_parted_from(kind) {
                    break;
                }
                characters.next();
                has_base = sign == Sign::Letter || sign == Sign::Mark && has_base;
                length += units;
                is_word |= matches!(sign, Sign::Letter | Sign::Number);
                last = kind;
            }
            if length == 0 || is_word {
                return Some(length).filter(|length| *length > 0);
            }
        }
    })
}

const ALPHANUMERIC: u8 = 1;
/// Signs allowed in and next to words.
const PUNCTUATION: u8 = 2;
const WITH_PUNCTUATION: u8 = ALPHANUMERIC | PUNCTUATION;
const OTHER: u8 = 4;
/// A blank, or the first byte of one.
const BLANK: u8 = 8;
/// For each byte, whether a run of such bytes is one word.
const BYTES: [u8; 256] = {
    let mut bytes = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        match byte as u8 {
            b'"' | b'\'' | b'.' | b',' | b'!' | b'@' | b'-' | b':' | b';' | b'$' | b'?' | b'(' | b')' | b'/' | b'_' => {
                bytes[byte] = PUNCTUATION;
            }
            9..=13 | 28..=32 => bytes[byte] = BLANK,
            other if other.is_ascii_alphanumeric() => bytes[byte] = ALPHANUMERIC,
            _ => {}
        }
        byte += 1;
    }
    (bytes[0xe1], bytes[0xe2], bytes[0xe3]) = (OTHER | BLANK, OTHER | BLANK, OTHER | BLANK);
    bytes
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Joining,
    Other,
}

impl Kind {
    fn of(sign: Sign, has_base: bool) -> Kind {
        match sign {
            Sign::Letter | Sign::Line => Kind::Word,
            Sign::Mark if has_base => Kind::Word,
            Sign::Joining => Kind::Joining,
            _ => Kind::Other,
        }
    }

    fn is_parted_from(self, next: Kind) -> bool {
        matches!((self, next), (Kind::Word, Kind::Other) | (Kind::Other, Kind::Word))
    }
}
