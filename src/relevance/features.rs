//! What a trained classifier knows a page by: its words, each named by where it stands.
//!
//! `word` and `two words` are of the text, `title:word` of the title, `url:word` of an http URL. Of the text that is longer lines, and of
//! shorter ones, of menus and buttons mostly, only where there is hardly more; lines of links are none: they tell of which site a page is, and a
//! model that goes by them knows nothing of others. Words are
//! those of [`words`](crate::parse::words); where they are written without blanks each character is one, so that a pair of them is
//! a word more often than not. **Models hold these names: another division needs another version of the model's file.**

use std::ops::ControlFlow;

use percent_encoding::percent_decode_str;

use crate::parse::main_text::plain;
use crate::parse::simhash::each_word;
use crate::parse::words::{MAX_WORD_CHARS, lower_case, runs};

/// Of a page's markup, no more is looked at …
const MAX_BYTES: usize = 2 << 20;
/// … and of its words.
const MAX_WORDS: usize = 20_000;
/// In bytes, of a line that is more than a menu's: eight words of English.
const LONG_LINE: usize = 48;
/// A page with fewer words in long lines is known by its short ones as well.
const FEW_WORDS: usize = 50;

/// A page, as far as classifiers look at it.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageView<'a> {
    /// The URL that was asked for; empty when there is none, as of a file.
    pub url: &'a str,
    pub title: Option<&'a str>,
    /// The `Content-Type` header, parameters included.
    pub content_type: Option<&'a str>,
    /// The body as text: of HTML its markup.
    pub content: &'a str,
}

impl PageView<'_> {
    /// Gives `each` every feature, as often as it is there.
    pub(super) fn each_feature(&self, each: &mut dyn FnMut(&str)) {
        let mut reader = Reader { each, name: String::new(), previous: String::new(), words_left: MAX_WORDS };
        let mut lower = String::new();
        reader.take(self.title.unwrap_or_default(), "title:", &mut lower);
        if let Some((_, address)) = self.url.split_once("://").filter(|(scheme, _)| scheme.starts_with("http")) {
            let address = percent_decode_str(address).decode_utf8_lossy().replace(['-', '_'], " ");
            reader.take(&address, "url:", &mut lower);
        }
        let enough = reader.words_left.saturating_sub(FEW_WORDS);
        let mut short = String::new();
        plain::each_line(&self.content[..self.content.floor_char_boundary(MAX_BYTES)], |line, linked| {
            let line = line.trim();
            match (linked * 2 > line.len(), line.len() >= LONG_LINE) {
                (true, _) => {}
                (false, true) => reader.take(line, "", &mut lower),
                (false, false) if reader.words_left > enough => {
                    short.push_str(line);
                    short.push('\n');
                }
                (false, false) => {}
            }
            if reader.words_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if reader.words_left > enough {
            short.lines().for_each(|line| reader.take(line, "", &mut lower));
        }
    }
}

struct Reader<'e> {
    each: &'e mut dyn FnMut(&str),
    name: String,
    /// Of the same line; empty before its first word.
    previous: String,
    words_left: usize,
}

impl Reader<'_> {
    fn take(&mut self, text: &str, prefix: &str, lower: &mut String) {
        self.previous.clear();
        for run in runs(text).filter(|run| run.len() <= MAX_WORD_CHARS || run.chars().nth(MAX_WORD_CHARS).is_none()) {
            lower_case(run, lower);
            each_word(lower, |word| self.word(word, prefix));
            if self.words_left == 0 {
                return;
            }
        }
    }

    fn word(&mut self, word: &str, prefix: &str) {
        if self.words_left == 0 {
            return;
        }
        self.words_left -= 1;
        self.name.clear();
        self.name.push_str(prefix);
        self.name.push_str(word);
        (self.each)(&self.name);
        if !prefix.is_empty() {
            return;
        }
        if !self.previous.is_empty() {
            self.previous.push(' ');
            self.previous.push_str(word);
            (self.each)(&self.previous);
        }
        self.previous.clear();
        self.previous.push_str(word);
    }
}
