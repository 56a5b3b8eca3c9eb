//! Splits a page into tags and text like the HTML standard's tokenizer (§13.2.5). Copies nothing, and reads each byte
//! only a few times, whatever the page. Skips comments, document types and the like.

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};

use super::names::Name;
use crate::short::starts_with;

/// Further attributes of a tag are skipped.
const MAX_ATTRIBUTES: usize = 1_000;

/// A piece of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// Its attributes are in [`Tokens::attributes`] until the next token.
    Start(Tag<'a>),
    End(Tag<'a>),
    /// With undecoded references.
    Text(&'a str),
    /// The content of an element that is text only.
    Raw(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag<'a> {
    pub name: Name,
    /// As written.
    pub written: &'a str,
    pub self_closing: bool,
}

/// As written, with undecoded references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub name: &'a str,
    pub value: &'a str,
}

/// Iterates over the tokens of a page.
#[derive(Debug)]
pub struct Tokens<'a> {
    page: &'a str,
    at: usize,
    raw: Option<Name>,
    /// The attributes of the last tag.
    pub attributes: Vec<Attribute<'a>>,
}

const SPACE: u8 = 1;
const ENDS_NAME: u8 = 2;
const ENDS_ATTRIBUTE: u8 = 4;
const ENDS_VALUE: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let spaces = b"\t\n\x0c\r ";
    let mut at = 0;
    while at < spaces.len() {
        classes[spaces[at] as usize] = SPACE | ENDS_NAME | ENDS_ATTRIBUTE | ENDS_VALUE;
        at += 1;
    }
    classes[b'/' as usize] = ENDS_NAME | ENDS_ATTRIBUTE;
    classes[b'>' as usize] = ENDS_NAME | ENDS_ATTRIBUTE | ENDS_VALUE;
    classes[b'=' as usize] = ENDS_ATTRIBUTE;
    classes
};

fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

impl<'a> Tokens<'a> {
    pub fn new(page: &'a str) -> Tokens<'a> {
        let at = if page.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Tokens { page, at, raw: None, attributes: Vec::new() }
    }

    /// Makes the next token a [`Token::Raw`] with all text up to the element's end tag, which is skipped.
    pub fn expect_raw(&mut self, name: Name) {
        self.raw = Some(name);
    }

    /// `in_foreign`: within SVG or MathML, where CDATA sections are text. None at the end of the page.
    pub fn next(&mut self, in_foreign: bool) -> Option<Token<'a>> {
        if let Some(name) = self.raw.take() {
            return Some(Token::Raw(self.raw_text(name)));
        }
        while let Some(&byte) = self.bytes().get(self.at) {
            let token = if byte == b'<' { self.markup(in_foreign) } else { Some(self.text(self.at)) };
            if token.is_some() {
                return token;
            }
        }
        None
    }

    fn bytes(&self) -> &'a [u8] {
        self.page.as_bytes()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes().get(at).copied()
    }

    /// The text from here to the first markup at or after `from`.
    fn text(&mut self, from: usize) -> Token<'a> {
        let bytes = self.bytes();
        let mut end = from;
        while let Some(found) = memchr(b'<', &bytes[end..]) {
            end += found;
            if self.byte(end + 1).is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')) {
                let text = &self.page[self.at..end];
                self.at = end;
                return Token::Text(text);
            }
            end += 1;
        }
        Token::Text(self.rest())
    }

    /// The rest of the page.
    fn rest(&mut self) -> &'a str {
        let rest = &self.page[self.at..];
        self.at = self.page.len();
        rest
    }

    /// Handles a `<`. None if the markup is skipped.
    fn markup(&mut self, in_foreign: bool) -> Option<Token<'a>> {
        let at = self.at;
        match (self.byte(at + 1), self.byte(at + 2)) {
            (Some(next), _) if next.is_ascii_alphabetic() => self.tag(at + 1).map(Token::Start),
            (Some(b'/'), Some(next)) if next.is_ascii_alphabetic() => self.tag(at + 2).map(Token::End),
            (Some(b'/'), None) => Some(Token::Text(self.rest())),
            (Some(b'!'), _) => self.declaration(in_foreign),
            (Some(b'/' | b'?'), _) => self.skip_to(b">", at + 1),
            _ => Some(self.text(at + 1)),
        }
    }

    fn declaration(&mut self, in_foreign: bool) -> Option<Token<'a>> {
        let rest = &self.bytes()[self.at..];
        if rest.starts_with(b"<!--") {
            self.at = self.comment_end(self.at + 4);
            return None;
        }
        if in_foreign && rest.starts_with(b"<![CDATA[") {
            let begin = self.at + 9;
            let end = Finder::new("]]>").find(&self.bytes()[begin..]).map_or(self.page.len(), |end| begin + end);
            self.at = self.page.len().min(end + 3);
            // CDATA has no references, so it is returned as raw text.
            return Some(Token::Raw(&self.page[begin..end]));
        }
        self.skip_to(b">", self.at + 1)
    }

    fn skip_to(&mut self, end: &[u8], from: usize) -> Option<Token<'a>> {
        let found = Finder::new(end).find(&self.bytes()[from..]);
        self.at = found.map_or(self.page.len(), |found| from + found + end.len());
        None
    }

    /// The end of a comment: after `-->`, `--!>`, or an early `>`.
    fn comment_end(&self, from: usize) -> usize {
        let bytes = self.bytes();
        if bytes[from..].starts_with(b">") {
            return from + 1;
        }
        if bytes[from..].starts_with(b"->") {
            return from + 2;
        }
        let dashes = Finder::new("--");
        let mut at = from;
        while let Some(found) = dashes.find(&bytes[at..]) {
            at += found;
            match (self.byte(at + 2), self.byte(at + 3)) {
                (Some(b'>'), _) => return at + 3,
                (Some(b'!'), Some(b'>')) => return at + 4,
                _ => at += 1,
            }
        }
        bytes.len()
    }

    /// Reads a tag from its name to its end. None if the page ends inside it.
    fn tag(&mut self, begin: usize) -> Option<Tag<'a>> {
        let bytes = self.bytes();
        self.attributes.clear();
        let mut at = self.find(begin, ENDS_NAME);
        let written = &self.page[begin..at];
        self.at = bytes.len();
        let mut self_closing = false;
        loop {
            match self.byte(at)? {
                b'>' => break,
                b'/' => {
                    at += 1;
                    self_closing = self.byte(at) == Some(b'>');
                }
                byte if is(byte, SPACE) => at += 1,
                _ => at = self.attribute(at)?,
            }
        }
        self.at = at + 1;
        Some(Tag { name: Name::of(written.as_bytes()), written, self_closing })
    }

    /// Reads an attribute and returns its end. Its name has at least one character of any kind.
    fn attribute(&mut self, begin: usize) -> Option<usize> {
        let name_end = self.find(begin + 1, ENDS_ATTRIBUTE);
        let name = &self.page[begin..name_end];
        let mut at = self.skip_space(name_end);
        let mut value = "";
        if self.byte(at)? == b'=' {
            at = self.skip_space(at + 1);
            match self.byte(at)? {
                b'>' => {}
                quote @ (b'"' | b'\'') => {
                    let end = at + 1 + memchr(quote, &self.bytes()[at + 1..])?;
                    value = &self.page[at + 1..end];
                    at = end + 1;
                }
                _ => {
                    let end = self.find(at, ENDS_VALUE);
                    value = &self.page[at..end];
                    at = end;
                }
            }
        }
        if self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.push(Attribute { name, value });
        }
        Some(at)
    }

    /// The next byte of a class, or the end of the page. The result is always a character boundary.
    fn find(&self, from: usize, class: u8) -> usize {
        let bytes = self.bytes();
        let mut at = from;
        while at < bytes.len() && !is(bytes[at], class) {
            at += 1;
        }
        at.min(bytes.len())
    }

    fn skip_space(&self, from: usize) -> usize {
        let mut at = from;
        while self.byte(at).is_some_and(|byte| is(byte, SPACE)) {
            at += 1;
        }
        at
    }

    /// Text up to an end tag, which is skipped.
    fn raw_text(&mut self, name: Name) -> &'a str {
        let begin = self.at;
        let end = match name {
            Name::Plaintext => None,
            Name::Script => self.script_end(begin),
            _ => self.raw_end(name, begin),
        };
        let Some(end) = end else { return self.rest() };
        self.tag(end + 2);
        &self.page[begin..end]
    }

    fn raw_end(&self, name: Name, from: usize) -> Option<usize> {
        let bytes = self.bytes();
        let mut at = from;
        loop {
            at += memchr(b'<', &bytes[at..])?;
            if self.is_tag(at + 1, true, name.text()) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// After `<!--`, a `<script>` inside the script has an end tag of its own, up to `-->`.
    fn script_end(&self, from: usize) -> Option<usize> {
        let bytes = self.bytes();
        let (mut escaped, mut doubly, mut at) = (false, false, from);
        loop {
            let rest = &bytes[at..];
            at += if escaped { memchr2(b'<', b'-', rest)? } else { memchr(b'<', rest)? };
            let rest = &bytes[at..];
            if escaped && rest.starts_with(b"-->") {
                (escaped, doubly) = (false, false);
            } else if !escaped && rest.starts_with(b"<!--") {
                escaped = true;
                // Its dashes may also be those of its end.
                at += 1;
            } else if self.is_tag(at + 1, true, "script") {
                if !doubly {
                    return Some(at);
                }
                doubly = false;
            } else if escaped && self.is_tag(at + 1, false, "script") {
                doubly = true;
            }
            at += 1;
        }
    }

    /// Whether a tag with this name, in any case, starts here.
    fn is_tag(&self, at: usize, is_end: bool, name: &str) -> bool {
        let rest = &self.bytes()[at..];
        let rest = if is_end { rest.strip_prefix(b"/") } else { Some(rest) };
        let is_name = |rest: &[u8]| starts_with(rest, name.as_bytes());
        rest.is_some_and(|rest| is_name(rest) && rest.get(name.len()).is_some_and(|&end| is(end, ENDS_NAME)))
    }
}
