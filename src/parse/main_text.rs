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
mod reader;

use reader::{Block, Reader};

/// The main text of a page of HTML, one block a line, each line ended. Empty when every block looks like boilerplate, as short
/// pages do.
pub fn main_text(page: &str) -> String {
    let mut reader = Reader::default();
    balance::read(page, &mut reader);
    let blocks = fuse(reader.finish());
    let mut text = String::new();
    for (index, block) in blocks.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|before| blocks.get(before));
        if is_content(previous, block, blocks.get(index + 1)) {
            block.text.lines().for_each(|line| add_line(&mut text, line));
        }
    }
    text
}

/// Without its no-break spaces; nothing if it has nothing else.
fn add_line(text: &mut String, line: &str) {
    let begun = text.len();
    for word in line.split_whitespace() {
        if text.len() > begun {
            text.push(' ');
        }
        text.push_str(word);
    }
    if text.len() > begun {
        text.push('\n');
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
