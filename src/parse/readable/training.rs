//! What `scripts/readable` learns from: the blocks of a page with all that the trees are given. `examples/readable_blocks.rs` writes it.

use super::blocks::Blocks;
use super::features::Features;
use super::second::Second;
use super::tree::Tree;
use super::vocabulary::Vocabulary;
use super::{read_in, write_text};

/// A block as the trees see it.
#[derive(Debug, Clone)]
pub struct Described {
    pub text: String,
    /// In the order of the features' names; behind them those of the second look, if there was a first.
    pub numbers: Vec<f32>,
    /// Bits: marks around it, marks near it, words.
    pub marks: Vec<u64>,
}

/// The blocks of a page. `first`: takes how many there are, and gives what came out for each at the first look.
pub fn describe(
    page: &str,
    marks: &[&str],
    words: &[&str],
    first: impl FnOnce(usize) -> Option<Vec<f32>>,
) -> Vec<Described> {
    let vocabulary = Vocabulary::new(marks.iter().copied(), words.iter().copied());
    read_in(page, &vocabulary, |tree, found| {
        let first = first(found.blocks.len());
        let second = first.as_ref().map(|first| Second::new(tree, found, first));
        describe_blocks(tree, found, second.as_ref())
    })
}

fn describe_blocks(tree: &Tree, found: &Blocks, second: Option<&Second>) -> Vec<Described> {
    let features = Features::new(tree, found);
    let describe = |at| {
        let block = &found.blocks[at];
        let mut numbers = Vec::new();
        features.of(at, &mut numbers);
        second.into_iter().for_each(|second| second.of(at, &mut numbers));
        let mut text = String::new();
        write_text(tree, block, &mut text);
        Described { text, numbers, marks: [&block.around[..], &block.near, &block.told].concat() }
    };
    (0..found.blocks.len()).map(describe).collect()
}
