//! What `scripts/readable` learns from: the blocks of a page with all that the trees are given. `examples/readable_blocks.rs` writes it.

use super::features::Features;
use super::vocabulary::Vocabulary;
use super::{read_in, write_text};

/// A block as the trees see it.
#[derive(Debug, Clone)]
pub struct Described {
    pub text: String,
    /// In the order of the features' names.
    pub numbers: Vec<f32>,
    /// Bits: marks around it, marks near it, words.
    pub marks: Vec<u64>,
}

/// The blocks of a page. Of each vocabulary so many words are looked for as the trees can have.
pub fn describe(page: &str, marks: &[&str], words: &[&str]) -> Vec<Described> {
    let vocabulary = Vocabulary::new(marks.iter().copied(), words.iter().copied());
    read_in(page, &vocabulary, |tree, found| {
        let features = Features::new(tree, found);
        let describe = |at| {
            let block = &found.blocks[at];
            let mut numbers = Vec::new();
            features.of(at, &mut numbers);
            let mut text = String::new();
            write_text(tree, block, &mut text);
            Described { text, numbers, marks: [&block.around[..], &block.near, &block.told].concat() }
        };
        (0..found.blocks.len()).map(describe).collect()
    })
}
