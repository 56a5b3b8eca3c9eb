//! A page's main text without its navigation and boilerplate: what Boilerpipe's `DefaultExtractor` gives.
//!
//! Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features" (WSDM 2010): the page is cut
//! into blocks, and a block is content or not by the density of words and of linked words in it and in its neighbours.
//! The rules are those of Boilerpipe 1.2.2's `DefaultExtractor`, which made the `text` that ACHE indexes, and those of NekoHTML,
//! through which it hears of a page: it makes a stream of tags and text out of any markup ([`balance`]), and no tree. White space
//! within a block is collapsed, which Boilerpipe leaves as it is.

mod balance;
mod elements;
mod entities;
mod letters;
mod markup;
pub mod plain;
mod reader;

use memchr::memchr2_iter;
use reader::{Block, Reader};

/// The main text of a page of HTML, one block a line, each line ended. Empty when every block looks like boilerplate, as short
/// pages do.
pub fn main_text(page: &str) -> String {
    let mut reader = Reader::default();
    balance::read(page, &mut reader);
    reader.finish()
}

/// Takes a page's blocks, and keeps the text of those that are content. A block is judged when the next is whole: no more than three
/// are there at a time.
#[derive(Debug, Default)]
struct Classifier {
    text: String,
    /// Of the block before the one to be judged.
    previous: Densities,
    block: Option<Block>,
    /// May still grow.
    next: Option<Block>,
    /// Of a block that is gone: memory for the next.
    spare: String,
}

/// Beyond the first and the last block there is nothing, of no density.
#[derive(Debug, Clone, Copy, Default)]
struct Densities {
    text: f32,
    link: f32,
}

impl Classifier {
    /// Boilerpipe's `SimpleBlockFusionProcessor`: neighbours of the same density are one block. (`BlockProximityFusion`, the
    /// extractor's second step, only joins blocks known as content, and none is yet.)
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

/// Boilerpipe's `DensityRulesClassifier`: a decision tree learnt from news pages.
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

/// Without its no-break spaces; nothing if it has nothing else.
fn add_line(text: &mut String, line: &str) {
    let begun = text.len();
    // Of the blanks in it those are single ones that are Java's, too.
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
