//! The features by which a trained classifier judges a page: words, named by where they are.
//!
//! `word` and `two words` come from the title and the text, `link:word` from lines of links, mostly menus, `title:word`
//! from the title, `url:word` from an http URL. Words are those of
//! [`words`](seine_parse::words). In scripts without spaces each character is a word, so a pair of characters is usually a
//! real word. **Models contain these names. Splitting words differently needs a new version of the model file.**

use std::ops::ControlFlow;

use percent_encoding::percent_decode_str;

use seine_parse::main_text::plain;
use seine_parse::simhash::each_word;
use seine_parse::words::{MAX_WORD_CHARS, lower_case, runs};

/// Limit for the markup of a page …
const MAX_BYTES: usize = 2 << 20;
/// … and for its words.
const MAX_WORDS: usize = 20_000;
/// Bytes of a line that is longer than a menu entry: eight English words.
const LONG_LINE: usize = 48;
/// If a page has fewer words than this in long lines, its short lines count as well.
const FEW_WORDS: usize = 50;

/// Which lines of the text count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// All. Menus and links tell the kind of a page, and examples of many sites keep a model from relying on one site.
    AllLines,
    /// Long ones; short ones only if there is hardly any other text; lines of links never. For models of version 1.
    LongLines,
}

/// The parts of a page that classifiers use.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageView<'a> {
    /// The URL requested; empty if there is none, as for a file.
    pub url: &'a str,
    pub title: Option<&'a str>,
    /// The `Content-Type` header, parameters included.
    pub content_type: Option<&'a str>,
    /// The body as text; for HTML the markup.
    pub content: &'a str,
}

impl PageView<'_> {
    /// Calls `each` for every feature, as often as it occurs.
    pub(super) fn each_feature(&self, reading: Reading, each: &mut dyn FnMut(&str)) {
        let mut reader = Reader { each, name: String::new(), previous: String::new(), words_left: MAX_WORDS };
        let mut lower = String::new();
        reader.take(self.title.unwrap_or_default(), "title:", &mut lower);
        if let Some((_, address)) = self.url.split_once("://").filter(|(scheme, _)| scheme.starts_with("http")) {
            let address = percent_decode_str(address).decode_utf8_lossy().replace(['-', '_'], " ");
            reader.take(&address, "url:", &mut lower);
        }
        let content = &self.content[..self.content.floor_char_boundary(MAX_BYTES)];
        match reading {
            Reading::AllLines => {
                reader.take(self.title.unwrap_or_default(), "", &mut lower);
                plain::each_line(content, |line, linked| {
                    let prefix = if linked * 2 > line.trim().len() { "link:" } else { "" };
                    reader.take(line, prefix, &mut lower);
                    if reader.words_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            }
            Reading::LongLines => reader.long_lines(content, &mut lower),
        }
    }
}

struct Reader<'e> {
    each: &'e mut dyn FnMut(&str),
    name: String,
    /// The previous word in the same line; empty before the first word.
    previous: String,
    words_left: usize,
}

impl Reader<'_> {
    fn long_lines(&mut self, content: &str, lower: &mut String) {
        let enough = self.words_left.saturating_sub(FEW_WORDS);
        let mut short = String::new();
        plain::each_line(content, |line, linked| {
            let line = line.trim();
            match (linked * 2 > line.len(), line.len() >= LONG_LINE) {
                (true, _) => {}
                (false, true) => self.take(line, "", lower),
                (false, false) if self.words_left > enough => {
                    short.push_str(line);
                    short.push('\n');
                }
                (false, false) => {}
            }
            if self.words_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if self.words_left > enough {
            short.lines().for_each(|line| self.take(line, "", lower));
        }
    }

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
