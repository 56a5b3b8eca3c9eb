//! The second look: what came out for a block by itself, and for those around it.

use super::blocks::Blocks;
use super::tree::Tree;

/// How much of an element's words are likely to belong to the page's text.
pub struct Second<'a> {
    tree: &'a Tree<'a>,
    found: &'a Blocks,
    first: &'a [f32],
    /// Of every node: likely words, and words.
    sums: Vec<(f32, f32)>,
}

impl<'a> Second<'a> {
    /// `first`: what came out for each block.
    pub fn new(tree: &'a Tree<'a>, found: &'a Blocks, first: &'a [f32]) -> Second<'a> {
        let mut sums = vec![(0.0, 0.0); tree.nodes.len()];
        for (block, likely) in found.blocks.iter().zip(first) {
            let sum: &mut (f32, f32) = &mut sums[block.home as usize];
            sum.0 += likely * block.words as f32;
            sum.1 += block.words as f32;
        }
        for number in (1..sums.len()).rev() {
            let (likely, words) = sums[number];
            let outer = &mut sums[tree.nodes[number].parent as usize];
            outer.0 += likely;
            outer.1 += words;
        }
        Second { tree, found, first, sums }
    }

    /// Appends its numbers: what came out for it and the three blocks on each side, the eight before and behind, the six elements around
    /// it, and the page.
    pub fn of(&self, at: usize, out: &mut Vec<f32>) {
        let near = |step: isize| {
            let near = at.checked_add_signed(step).and_then(|at| self.first.get(at));
            near.copied().unwrap_or(-1.0)
        };
        out.extend([0, -1, 1, -2, 2, -3, 3].map(near));
        out.push(self.run(at, -1));
        out.push(self.run(at, 1));
        let mut outer = self.found.blocks[at].home;
        for _ in 0..6 {
            let words = self.sums[outer as usize].1;
            while outer > 0 && self.sums[outer as usize].1 == words {
                outer = self.tree.nodes[outer as usize].parent;
            }
            let (likely, words) = self.sums[outer as usize];
            out.push(likely / words.max(1.0));
        }
        let (likely, words) = self.sums[0];
        out.extend([likely, likely / words.max(1.0)]);
    }

    /// The mean of the eight blocks before or behind, by their words.
    fn run(&self, at: usize, step: isize) -> f32 {
        let (mut likely, mut words) = (0.0, 0.1);
        for distance in 1..=8 {
            let Some(near) = at.checked_add_signed(step * distance).filter(|at| *at < self.first.len()) else { break };
            likely += self.first[near] * self.found.blocks[near].words as f32;
            words += self.found.blocks[near].words as f32;
        }
        likely / words
    }
}
