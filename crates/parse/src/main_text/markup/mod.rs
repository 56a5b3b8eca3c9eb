//! Splits a page into tags and text like NekoHTML's scanner. A tag ends at the first `>` after a stray `/`. The content
//! of `<iframe>` and `<noframes>` is text. An unclosed comment ends at the next `>`. Copies nothing, and reads each
//! byte only a few times, whatever the page.

mod declarations;

use memchr::{memchr, memchr_iter, memchr2};

use super::elements::{SPECIAL, Tag};
use super::entities;
use super::letters::{is_letter_or_digit, is_space};
use crate::short::starts_with;

/// Characters that NekoHTML reads at once.
const READ_AT_ONCE: usize = 2048;

/// A piece of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// `empty`: written as `<name/>`.
    Start {
        name: &'a str,
        empty: bool,
    },
    End {
        name: &'a str,
    },
    Text(&'a str),
    /// A character written as a reference.
    Character(char),
    /// A comment, a CDATA section or a processing instruction.
    Aside,
}

/// Iterates over the pieces of a page.
#[derive(Debug)]
pub(super) struct Markup<'a> {
    page: &'a str,
    at: usize,
    /// Everything before this position is an element's text; the flag tells whether references are decoded.
    raw: Option<(usize, bool)>,
    /// A search for the end of a comment failed, so there is none further on.
    no_comment_end: bool,
    /// No title ends before this position.
    no_title_end: usize,
}

impl<'a> Iterator for Markup<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while self.at < self.page.len() {
            let piece = match self.raw {
                Some((end, has_references)) => self.raw_text(end, has_references),
                None => self.content(),
            };
            if piece.is_some() {
                return piece;
            }
        }
        None
    }
}

impl<'a> Markup<'a> {
    pub(super) fn new(page: &'a str) -> Markup<'a> {
        Markup { page, at: 0, raw: None, no_comment_end: false, no_title_end: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        &self.page.as_bytes()[self.at..]
    }

    fn byte(&self) -> Option<u8> {
        self.page.as_bytes().get(self.at).copied()
    }

    fn content(&mut self) -> Option<Piece<'a>> {
        match self.rest() {
            [b'<', ..] => self.tag(),
            [b'&', ..] => Some(self.reference()),
            rest => Some(self.text_to(self.at + memchr2(b'<', b'&', rest).unwrap_or(rest.len()))),
        }
    }

    fn text_to(&mut self, end: usize) -> Piece<'a> {
        let text = &self.page[self.at..end];
        self.at = end;
        Piece::Text(text)
    }

    fn tag(&mut self) -> Option<Piece<'a>> {
        let opening = self.at;
        self.at += 1;
        match self.byte() {
            Some(b'!') => {
                self.at += 1;
                self.declaration()
            }
            Some(b'?') => {
                self.at += 1;
                self.instruction()
            }
            Some(b'/') => {
                self.at += 1;
                let name = self.strict_name();
                self.skip_tag();
                (!name.is_empty()).then_some(Piece::End { name })
            }
            None => Some(Piece::Text("<")),
            Some(_) => {
                let name = self.strict_name();
                if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
                    return Some(Piece::Text(&self.page[opening..self.at]));
                }
                self.start(name)
            }
        }
    }

    fn start(&mut self, name: &'a str) -> Option<Piece<'a>> {
        let empty = self.attributes()?;
        self.raw = match Tag::of(name.as_bytes()) {
            Tag::Script => Some((self.script_end(), false)),
            Tag::Iframe => Some((self.loose_end("iframe"), false)),
            Tag::Noframes => Some((self.loose_end("noframes"), false)),
            Tag::Title if empty || !self.is_title_ended() => None,
            tag if tag.has(SPECIAL) && !empty => {
                Some((self.strict_end(name), matches!(tag, Tag::Textarea | Tag::Title)))
            }
            _ => None,
        };
        Some(Piece::Start { name, empty })
    }

    /// NekoHTML looks only to the end of its buffer, which may be anywhere within this range.
    fn is_title_ended(&mut self) -> bool {
        let bytes = self.page.as_bytes();
        let to = bytes.len().min(self.at + READ_AT_ONCE);
        let from = self.at.max(self.no_title_end).min(to);
        let found = end_tags(&bytes[from..to]).any(|end| starts_with(end, b"title>"));
        if !found {
            self.no_title_end = to.saturating_sub("</title>".len()).max(self.no_title_end);
        }
        found
    }

    /// Skips attributes up to the end of the tag, or to a `<`. Returns whether it ends with `/>`; none if the page ends
    /// inside, so that there is no tag.
    fn attributes(&mut self) -> Option<bool> {
        loop {
            self.skip_spaces();
            match self.byte() {
                None | Some(b'<') => return Some(false),
                Some(b'>') => {
                    self.at += 1;
                    return Some(false);
                }
                Some(b'=' | b'/') => return Some(self.skip_tag()),
                Some(_) => self.skip_attribute_name(),
            }
            self.skip_spaces();
            match self.byte()? {
                b'/' | b'>' => return Some(self.skip_tag()),
                b'=' => {
                    self.at += 1;
                    self.skip_spaces();
                    match self.byte()? {
                        b'>' => {
                            self.at += 1;
                            return Some(false);
                        }
                        quote @ (b'"' | b'\'') => {
                            self.at += 1;
                            self.at += memchr(quote, self.rest()).map_or(self.rest().len(), |end| end + 1);
                        }
                        _ => {
                            self.skip_while(|c| c != '>' && !is_space(c));
                            self.byte()?;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Skips past the next `>`. Returns whether a `/` preceded it.
    fn skip_tag(&mut self) -> bool {
        let rest = self.rest();
        let end = memchr(b'>', rest);
        self.at += end.map_or(rest.len(), |end| end + 1);
        end.is_some_and(|end| end > 0 && rest[end - 1] == b'/')
    }

    fn skip_attribute_name(&mut self) {
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
        self.skip_while(|c| !matches!(c, '=' | '/' | '>') && !is_space(c));
    }

    fn skip_spaces(&mut self) -> bool {
        let before = self.at;
        if self.byte().is_some_and(|byte| !matches!(byte, b'!'..=b'~')) {
            self.skip_while(is_space);
        }
        self.at > before
    }

    fn skip_while(&mut self, holds: impl Fn(char) -> bool) {
        let rest = &self.page[self.at..];
        self.at += rest.find(|c| !holds(c)).unwrap_or(rest.len());
    }

    fn strict_name(&mut self) -> &'a str {
        let begin = self.at;
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if self.byte().is_some_and(|byte| !byte.is_ascii() || matches!(byte, b'-' | b'.' | b':' | b'_')) {
            self.skip_while(|c| is_letter_or_digit(c) || matches!(c, '-' | '.' | ':' | '_'));
        }
        &self.page[begin..self.at]
    }

    fn skip_prefix(&mut self, prefix: &[u8]) -> bool {
        let is_there = starts_with(self.rest(), prefix);
        if is_there {
            self.at += prefix.len();
        }
        is_there
    }

    /// Handles an `&`.
    fn reference(&mut self) -> Piece<'a> {
        let begin = self.at;
        self.at += 1;
        let rest = self.rest();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'#');
        let length = rest.iter().position(|byte| !is_name(byte)).unwrap_or(rest.len());
        let name = &self.page[self.at..self.at + length];
        self.at += length + usize::from(rest.get(length) == Some(&b';'));
        let character = match name.strip_prefix('#') {
            Some(number) => entities::numbered(number),
            None => entities::character(name),
        };
        character.map_or(Piece::Text(&self.page[begin..self.at]), Piece::Character)
    }

    fn raw_text(&mut self, end: usize, has_references: bool) -> Option<Piece<'a>> {
        let content = &self.page.as_bytes()[self.at..end];
        match has_references.then(|| memchr(b'&', content)).flatten() {
            Some(0) => Some(self.reference()),
            Some(length) => Some(self.text_to(self.at + length)),
            None => {
                self.raw = None;
                Some(self.text_to(end)).filter(|text| *text != Piece::Text(""))
            }
        }
    }

    /// Start of the end tag; a blank may follow its name.
    fn loose_end(&self, name: &str) -> usize {
        let is_end = |end: &[u8]| {
            starts_with(end, name.as_bytes())
                && end.get(name.len()).is_none_or(|&next| next == b'>' || is_space(char::from(next)))
        };
        self.before_end(|end| is_end(end))
    }

    /// Start of the end tag `</name>`.
    fn strict_end(&self, name: &str) -> usize {
        self.before_end(|end| starts_with(end, name.as_bytes()) && end.get(name.len()) == Some(&b'>'))
    }

    fn before_end(&self, is_end: impl Fn(&[u8]) -> bool) -> usize {
        let found = end_tags(self.rest()).find(|end| is_end(end));
        found.map_or(self.page.len(), |end| self.page.len() - end.len() - 2)
    }

    /// Start of the script's end tag. End tags within complete comments do not count.
    fn script_end(&mut self) -> usize {
        let bytes = self.page.as_bytes();
        let mut at = self.at;
        while let Some(found) = memchr(b'<', &bytes[at..]) {
            at += found;
            if bytes[at..].starts_with(b"<!--") && self.comment_end(at + 4).is_some() {
                at = self.comment_end(at + 2).unwrap_or(bytes.len());
                continue;
            }
            if starts_with(&bytes[at..], b"</script")
                && bytes.get(at + 8).is_none_or(|&next| next == b'>' || is_space(char::from(next)))
            {
                return at;
            }
            at += 1;
        }
        bytes.len()
    }
}

/// The text after every `</`.
fn end_tags(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr_iter(b'<', text).filter_map(|at| text[at + 1..].strip_prefix(b"/"))
}
