//! The main text of a page without navigation and boilerplate: the result of Boilerpipe's `DefaultExtractor`.
//!
//! Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features" (WSDM 2010): the page is
//! split into blocks. The density of words and of linked words in a block and its neighbours decides whether the block
//! is content.
//!
//! The rules are those of Boilerpipe 1.2.2's `DefaultExtractor`, which ACHE uses for `text`. Boilerpipe reads pages
//! through NekoHTML, so its rules apply as well: it turns any markup into a stream of tags and text ([`balance`]),
//! without a tree. Unlike Boilerpipe, this module collapses white space within a block.

mod balance;
mod elements;
mod entities;
mod letters;
mod markup;
pub mod plain;
mod reader;

use memchr::memchr2_iter;
use reader::{Block, Reader};

/// The main text of an HTML page: one block per line, every line with a line feed. Empty if every block looks like
/// boilerplate, as in short pages.
pub fn main_text(page: &str) -> String {
    let mut reader = Reader::default();
    balance::read(page, &mut reader);
    reader.finish()
}

/// Receives the blocks of a page and keeps the text of content blocks. A block is judged when the next is complete, so
/// at most three are in memory.
#[derive(Debug, Default)]
struct Classifier {
    text: String,
    /// Densities of the block before the one to be judged.
    previous: Densities,
    block: Option<Block>,
    /// The next block, which may still grow.
    next: Option<Block>,
    /// A used block's memory, for the next one.
    spare: String,
}

/// Densities of a block; zero before the first and after the last block.
#[derive(Debug, Clone, Copy, Default)]
struct Densities {
    text: f32,
    link: f32,
}

impl Classifier {
    /// Boilerpipe's `SimpleBlockFusionProcessor`: neighbours of the same density become one block.
    /// (`BlockProximityFusion`, the extractor's second step, joins only known content, and there is none yet.)
    fn add(&mut self, block: Block) {
        match &mut self.next {
            Some(next) if next.densities().text == block.densities().text => {
                next.merge(&block);
                self.recycle(block);
            }
            _ => self.pass_on(Some(block)),
        }
    }

    fn pass_on(&mut self, block: Option<Block>) {
        let next = std::mem::replace(&mut self.next, block);
        let judged = std::mem::replace(&mut self.block, next);
        let Some(judged) = judged else { return };
        let densities = judged.densities();
        let next = self.block.as_ref().map(Block::densities).unwrap_or_default();
        if is_content(self.previous, densities, next) {
            judged.text.split('\n').for_each(|line| add_line(&mut self.text, line));
        }
        self.previous = densities;
        self.recycle(judged);
    }

    fn recycle(&mut self, block: Block) {
        self.spare = block.text;
        self.spare.clear();
    }

    fn finish(mut self) -> String {
        self.pass_on(None);
        self.pass_on(None);
        self.text
    }
}

/// Boilerpipe's `DensityRulesClassifier`: a decision tree trained on news pages.
fn is_content(previous: Densities, block: Densities, next: Densities) -> bool {
    if block.link > 0.333333 {
        return false;
    }
    if previous.link > 0.555556 {
        return next.text > 11.0;
    }
    if block.text > 9.0 {
        return next.text != 0.0;
    }
    next.text > 10.0 || previous.text > 4.0
}

/// Appends a line without its no-break spaces; nothing if it has no other text.
fn add_line(text: &mut String, line: &str) {
    let begun = text.len();
    // Only blanks that Java also counts as blanks are kept, as single blanks.
    let is_wide = |at: usize| {
        let rest = &line.as_bytes()[at..];
        matches!(rest, [0xc2, 0x85 | 0xa0, ..] | [0xe2, 0x80, 0x87 | 0xaf, ..])
    };
    if !memchr2_iter(0xc2, 0xe2, line.as_bytes()).any(is_wide) {
        text.push_str(line.trim_ascii());
    } else {
        for word in line.split_whitespace() {
            if text.len() > begun {
                text.push(' ');
            }
            text.push_str(word);
        }
    }
    if text.len() > begun {
        text.push('\n');
    }
}
