//! Adds what belongs to the chosen blocks by the page's structure: headings, and the rest of lists and tables.
//!
//! The model judges each block by itself and often leaves these short blocks out. Together the rules do not change the F1
//! over words; they keep most headings of manuals, and `h1`.

use std::collections::HashMap;

use super::blocks::{Block, name_of};
use super::tree::Tree;
use crate::html::names::Name;

/// A heading with more words is no heading.
const MAX_WORDS: u32 = 40;
/// Words that may be between an `h1` and the text: a byline, a date.
const MAX_BYLINE: u32 = 10;
/// Number of elements between a block and its item or cell, and between this and the list or table.
const MAX_STEPS: usize = 6;

/// Chooses the headings directly above chosen text.
pub(super) fn headings(tree: &Tree, blocks: &[Block], chosen: &mut [bool]) {
    // Number of words up to the next chosen text.
    let mut gap = u32::MAX;
    for (at, block) in blocks.iter().enumerate().rev() {
        let most = if name_of(tree, block) == Name::H1 { MAX_BYLINE } else { 0 };
        if name_of(tree, block).heading().is_some() {
            chosen[at] |= gap <= most && block.words <= MAX_WORDS && !block.is_hidden;
        } else {
            gap = if chosen[at] { 0 } else { gap.saturating_add(block.words) };
        }
    }
}

/// Chooses all blocks of a list or table if at least three quarters of its words are chosen.
pub(super) fn groups(tree: &Tree, blocks: &[Block], chosen: &mut [bool]) {
    let groups: Vec<Option<u32>> = blocks.iter().map(|block| group_of(tree, block)).collect();
    // All words of each group, and the chosen ones.
    let mut words: HashMap<u32, (u32, u32)> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        let Some(group) = group else { continue };
        let (all, taken) = words.entry(*group).or_default();
        *all += blocks[at].words;
        *taken += if chosen[at] { blocks[at].words } else { 0 };
    }
    for (at, group) in groups.iter().enumerate() {
        let counts = group.and_then(|group| words.get(&group));
        let is_most = counts.is_some_and(|(all, taken)| *taken > 0 && 4 * taken >= 3 * all);
        chosen[at] |= is_most && !blocks[at].is_hidden;
    }
}

/// The list of a block in an item, or the table of a block in a cell, whichever is closer.
fn group_of(tree: &Tree, block: &Block) -> Option<u32> {
    let mut at = block.home;
    let mut is_part = false;
    for _ in 0..=MAX_STEPS {
        let node = tree.nodes[at as usize];
        match node.name {
            Some(Name::Ul | Name::Ol | Name::Table) if is_part => return Some(at),
            Some(Name::Li | Name::Td | Name::Th) => is_part = true,
            _ => {}
        }
        at = node.parent;
    }
    None
}
