//! A page's main text without its navigation and boilerplate: what Boilerpipe's `DefaultExtractor` gives.
//!
//! Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features" (WSDM 2010): the page is cut
//! into blocks, and a block is content or not by the density of words and of linked words in it and in its neighbours.
//! The rules are those of Boilerpipe 1.2's `DefaultExtractor`, which made the `text` that ACHE indexes. White space
//! within a block is collapsed, which Boilerpipe leaves as it is.

use super::html_tree::{Element, Step, Tree};

/// Columns of the imagined lines that a block is wrapped into.
const LINE: usize = 80;

/// The page's main text, one block a line, each line ended. Empty when every block looks like boilerplate, as short pages
/// do.
pub fn main_text(tree: &Tree) -> String {
    let mut reader = Reader::default();
    for step in tree.walk() {
        match step {
            Step::Open(_, element) => reader.open(element),
            Step::Close(_, element) => reader.close(element),
            Step::Text(text) => reader.text(text),
        }
    }
    reader.end_block();
    let blocks = fuse(reader.blocks);
    let mut text = String::new();
    for (index, block) in blocks.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|before| blocks.get(before));
        if is_content(previous, block, blocks.get(index + 1)) {
            text.push_str(&block.text);
            text.push('\n');
        }
    }
    text
}

/// A piece of the page between two tags that break lines.
#[derive(Debug, Clone, Default)]
struct Block {
    text: String,
    words: usize,
    linked_words: usize,
    /// Words in all lines but the last …
    words_in_full_lines: usize,
    /// … and how many lines that are; a block of one line counts as full.
    full_lines: usize,
}

impl Block {
    /// Words a line.
    fn text_density(&self) -> f32 {
        self.words_in_full_lines as f32 / self.full_lines as f32
    }

    /// The share of words that are in links.
    fn link_density(&self) -> f32 {
        if self.words == 0 { 0.0 } else { self.linked_words as f32 / self.words as f32 }
    }

    /// Without whole lines the only one counts.
    fn with_a_line(mut self) -> Block {
        if self.words_in_full_lines == 0 {
            self.words_in_full_lines = self.words;
            self.full_lines = 1;
        }
        self
    }

    fn merge(&mut self, next: Block) {
        self.text.push('\n');
        self.text.push_str(&next.text);
        self.words += next.words;
        self.linked_words += next.linked_words;
        self.words_in_full_lines += next.words_in_full_lines;
        self.full_lines += next.full_lines;
        *self = std::mem::take(self).with_a_line();
    }
}

/// Boilerpipe's `SimpleBlockFusionProcessor`: neighbours of the same density are one block. (`BlockProximityFusion`, the
/// extractor's second step, only joins blocks known as content, and none is yet.)
fn fuse(blocks: Vec<Block>) -> Vec<Block> {
    let mut fused: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        match fused.last_mut() {
            Some(last) if last.text_density() == block.text_density() => last.merge(block),
            _ => fused.push(block),
        }
    }
    fused
}

/// Boilerpipe's `DensityRulesClassifier`: a decision tree learnt from news pages. Beyond the first and the last block
/// there is nothing, of no density.
fn is_content(previous: Option<&Block>, block: &Block, next: Option<&Block>) -> bool {
    let density_of = |block: Option<&Block>| block.map_or(0.0, Block::text_density);
    if block.link_density() > 0.333333 {
        return false;
    }
    if previous.map_or(0.0, Block::link_density) > 0.555556 {
        return density_of(next) > 11.0;
    }
    if block.text_density() > 9.0 {
        return density_of(next) != 0.0;
    }
    density_of(next) > 10.0 || density_of(previous) > 4.0
}

/// What a tag does to the text around it.
enum Action {
    /// Neither the tag nor its content is there.
    Ignore,
    /// Text runs on.
    Inline,
    /// Text runs on, behind a blank.
    Blank,
    /// A blank, and the words inside are linked.
    Link,
    Body,
    /// A new block.
    Break,
}

fn action_of(element: &Element) -> Action {
    match element.name() {
        // The last three hold text that is markup for other readers.
        "style" | "script" | "option" | "object" | "embed" | "applet" | "link" | "noscript" | "iframe" | "noembed"
        | "noframes" => Action::Ignore,
        "strike" | "u" | "b" | "i" | "em" | "strong" | "span" | "sup" | "code" | "tt" | "sub" | "var" | "font" => {
            Action::Inline
        }
        "abbr" | "acronym" => Action::Blank,
        "a" => Action::Link,
        "body" => Action::Body,
        _ => Action::Break,
    }
}

/// Cuts the page into blocks.
#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    block: Block,
    /// Where in the block's text the last run without a blank begins, and whether it is linked: it may go on behind a
    /// tag, so its words are counted at the next blank.
    run: usize,
    run_is_linked: bool,
    /// A blank is due before the next word.
    blank: bool,
    /// A tag has broken the line since the last text.
    broken: bool,
    in_body: usize,
    in_ignored: usize,
    in_links: usize,
    wrap: Wrap,
}

/// The present line of a block.
#[derive(Default)]
struct Wrap {
    /// Characters in it, blanks included.
    length: usize,
    words: usize,
    /// Lines finished.
    lines: usize,
}

impl Reader {
    fn open(&mut self, element: &Element) {
        match action_of(element) {
            Action::Ignore => {
                self.in_ignored += 1;
                self.broken = true;
            }
            Action::Inline => {}
            Action::Blank => self.blank = true,
            Action::Link => {
                self.blank = true;
                self.in_links += 1;
            }
            Action::Body => {
                self.end_block();
                self.in_body += 1;
            }
            Action::Break => self.broken = true,
        }
    }

    fn close(&mut self, element: &Element) {
        match action_of(element) {
            Action::Ignore => {
                self.in_ignored = self.in_ignored.saturating_sub(1);
                self.broken = true;
            }
            Action::Inline => {}
            Action::Blank => self.blank = true,
            Action::Link => {
                self.blank = true;
                self.in_links = self.in_links.saturating_sub(1);
            }
            Action::Body => {
                self.end_block();
                self.in_body = self.in_body.saturating_sub(1);
            }
            Action::Break => self.broken = true,
        }
    }

    fn text(&mut self, text: &str) {
        if std::mem::take(&mut self.broken) {
            self.end_block();
        }
        if self.in_ignored > 0 || self.in_body == 0 {
            return;
        }
        for part in text.split_inclusive(char::is_whitespace) {
            let piece = part.trim_end();
            if !piece.is_empty() {
                self.piece(piece);
            }
            self.blank |= piece.len() != part.len();
        }
    }

    /// Text without a blank in it.
    fn piece(&mut self, piece: &str) {
        if std::mem::take(&mut self.blank) && !self.block.text.is_empty() {
            self.end_run();
            self.block.text.push(' ');
            self.run += 1;
        }
        // The tags of links are blanks: a run is linked as a whole or not at all.
        self.run_is_linked = self.in_links > 0;
        self.block.text.push_str(piece);
    }

    fn end_run(&mut self) {
        let run = self.block.text.get(self.run..).unwrap_or_default();
        for length in words(run) {
            self.block.words += 1;
            self.block.linked_words += usize::from(self.run_is_linked);
            self.wrap.word(length, self.block.words == 1);
        }
        self.run = self.block.text.len();
    }

    fn end_block(&mut self) {
        self.end_run();
        let wrap = std::mem::take(&mut self.wrap);
        let mut block = std::mem::take(&mut self.block);
        self.run = 0;
        self.blank = false;
        if block.text.is_empty() {
            return;
        }
        block.full_lines = wrap.lines;
        block.words_in_full_lines = if wrap.lines == 0 { 0 } else { block.words - wrap.words };
        self.blocks.push(block.with_a_line());
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

/// The lengths in characters of the words in a run without blanks. It is cut where letters or digits meet another sign, unless that is
/// one that stands in and beside words; what has neither letter nor digit is no word.
fn words(run: &str) -> impl Iterator<Item = usize> {
    let mut signs = run.chars().map(Sign::of).peekable();
    std::iter::from_fn(move || {
        loop {
            let first = signs.next()?;
            let (mut length, mut is_word, mut last) = (1, first == Sign::Word, first);
            while let Some(next) = signs.next_if(|next| !last.is_parted_from(*next)) {
                length += 1;
                is_word |= next == Sign::Word;
                last = next;
            }
            if is_word {
                return Some(length);
            }
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Word,
    /// Written beside or within words: `don't`, `and/or`, `end.`
    Joining,
    Other,
}

impl Sign {
    fn of(c: char) -> Sign {
        match c {
            _ if c.is_alphanumeric() || c == '_' => Sign::Word,
            '"' | '\'' | '.' | ',' | '!' | '@' | '-' | ':' | ';' | '$' | '?' | '(' | ')' | '/' => Sign::Joining,
            _ => Sign::Other,
        }
    }

    fn is_parted_from(self, next: Sign) -> bool {
        matches!((self, next), (Sign::Word, Sign::Other) | (Sign::Other, Sign::Word))
    }
}
