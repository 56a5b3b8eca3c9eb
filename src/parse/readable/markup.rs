//! A page as tags and text, cut as the HTML standard's tokenizer cuts it. Nothing is copied or decoded, and each byte is looked at
//! a few times at most, whatever the page is like.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};

use super::names::{RAW, Tag};

/// What a page consists of. Comments, declarations and instructions are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// `attributes`: as they are written, for [`attributes`]. `closed`: written `<name/>`.
    Start {
        tag: Tag,
        attributes: &'a str,
        closed: bool,
    },
    End(Tag),
    /// With its character references.
    Text(&'a str),
    /// The content of an element whose content is text.
    Raw(&'a str),
}

/// Iterates over the pieces of a page.
#[derive(Debug)]
pub struct Markup<'a> {
    page: &'a str,
    at: usize,
    /// The open element whose content is text.
    raw: Option<&'a str>,
}

impl<'a> Markup<'a> {
    pub fn new(page: &'a str) -> Markup<'a> {
        Markup { page, at: 0, raw: None }
    }

    fn rest(&self) -> &'a [u8] {
        &self.page.as_bytes()[self.at..]
    }

    /// Goes on behind the next `end`, or at the page's end.
    fn skip(&mut self, from: usize, end: &[u8]) {
        let rest = &self.rest()[from.min(self.rest().len())..];
        self.at =
            memmem::find(rest, end).map_or(self.page.len(), |found| self.page.len() - rest.len() + found + end.len());
    }

    fn tag(&mut self) -> Option<Piece<'a>> {
        match self.rest() {
            [b'<', b'!', b'-', b'-', b'>', ..] => self.at += 5,
            [b'<', b'!', b'-', b'-', ..] => self.skip(4, b"-->"),
            [b'<', b'!' | b'?', ..] => self.skip(2, b">"),
            [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                self.at += 2;
                let tag = Tag::of(self.name().as_bytes());
                self.skip(0, b">");
                return Some(Piece::End(tag));
            }
            [b'<', b'/', ..] => self.skip(2, b">"),
            [b'<', letter, ..] if letter.is_ascii_alphabetic() => return self.start(),
            _ => return Some(self.text()),
        }
        None
    }

    fn start(&mut self) -> Option<Piece<'a>> {
        self.at += 1;
        let name = self.name();
        let tag = Tag::of(name.as_bytes());
        let begun = self.at;
        let Some(length) = attributes_length(self.rest()) else {
            self.at = self.page.len();
            return None;
        };
        self.at += length + 1;
        let attributes = &self.page[begun..begun + length];
        if tag.has(RAW) {
            self.raw = Some(name);
        }
        Some(Piece::Start { tag, attributes, closed: attributes.ends_with('/') })
    }

    fn name(&mut self) -> &'a str {
        let rest = self.rest();
        let length = rest.iter().position(|byte| matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace());
        let begun = self.at;
        self.at += length.unwrap_or(rest.len());
        &self.page[begun..self.at]
    }

    /// To the next `<` behind the first character.
    fn text(&mut self) -> Piece<'a> {
        let begun = self.at;
        let rest = self.rest();
        self.at += rest.get(1..).and_then(|rest| memchr(b'<', rest)).map_or(rest.len(), |found| found + 1);
        Piece::Text(&self.page[begun..self.at])
    }

    fn raw_text(&mut self, name: &str) -> Option<Piece<'a>> {
        let rest = self.rest();
        let is_end = |at: &usize| {
            let Some(end) = rest[at + 1..].strip_prefix(b"/") else { return false };
            end.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
                && end.get(name.len()).is_none_or(|byte| matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace())
        };
        let begun = self.at;
        self.at += memchr_iter(b'<', rest).find(is_end).unwrap_or(rest.len());
        Some(Piece::Raw(&self.page[begun..self.at])).filter(|_| self.at > begun)
    }
}

impl<'a> Iterator for Markup<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while self.at < self.page.len() {
            let piece = match self.raw.take() {
                Some(name) => self.raw_text(name),
                None if self.rest()[0] == b'<' => self.tag(),
                None => Some(self.text()),
            };
            if piece.is_some() {
                return piece;
            }
        }
        None
    }
}

/// How many bytes stand before the `>` that ends a start tag. A tag that the page's end cuts off is none, and nothing is behind it.
fn attributes_length(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += rest.get(at..)?.iter().position(|byte| matches!(byte, b'>' | b'='))?;
        if rest[at] == b'>' {
            return Some(at);
        }
        at += 1;
        at += rest[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        if let quote @ (b'"' | b'\'') = rest[at] {
            at += memchr(quote, &rest[at + 1..])? + 2;
        }
    }
}

/// Names and values as they are written, values with their character references, in order.
pub fn attributes(written: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = written;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let length = rest.bytes().skip(1).position(|b| matches!(b, b'=' | b'/') || b.is_ascii_whitespace());
        let (name, behind) = rest.split_at(length.map_or(rest.len(), |length| length + 1));
        rest = behind;
        let Some(value) = behind.trim_ascii_start().strip_prefix('=').map(str::trim_ascii_start) else {
            return Some((name, "")).filter(|_| !name.is_empty());
        };
        let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let (value, behind) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value.split_at(value.bytes().position(|b| b.is_ascii_whitespace()).unwrap_or(value.len())),
        };
        rest = behind;
        Some((name, value))
    })
}

/// The value of the first attribute of a lower-case name.
pub fn attribute<'a>(written: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let found = attributes(written).find(|(given, _)| given.eq_ignore_ascii_case(name));
    found.map(|(_, value)| htmlize::unescape_attribute(value))
}
