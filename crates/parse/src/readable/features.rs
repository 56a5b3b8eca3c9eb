//! The features of a block as numbers: about its text, position, neighbours, containers, blocks of the same shape, and
//! the page.

use std::collections::HashMap;

use super::blocks::{Block, Blocks, name_of};
use super::tree::Tree;
use super::vocabulary::MARKS;
use crate::html::decode_attribute;
use crate::html::names::Name;

/// Number of elements around a block that are used.
const STEPS: usize = 5;
/// Number of blocks before and after a block that are used.
const REACH: usize = 2;

/// Number of features that are not marks.
const NUMBERS: usize = 108;

/// Facts that a page states about its kind.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    /// `og:type`: 0 unknown, 1 article, 2 product, 3 website, 4 another.
    said: u8,
    /// Types in JSON-LD, one bit each.
    data: u8,
    /// Length of the breadcrumb path that the page states; 255 if unknown.
    steps: u8,
    is_dated: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    blocks: u32,
    chars: u32,
    link_chars: u32,
    words: u32,
    good: u32,
    first: u32,
    last: u32,
}

/// Data shared by the features of all blocks of a page.
pub struct Features<'a> {
    tree: &'a Tree<'a>,
    found: &'a Blocks,
    kind: Kind,
    shapes: HashMap<u64, Shape>,
    /// How often each text occurs, and where first.
    copies: HashMap<u64, (u32, u32)>,
    /// Number of letters before each block.
    before: Vec<u32>,
    /// The innermost elements that contain 40, 60 and 80 % of the good letters.
    cores: [u32; 3],
    h1: Option<usize>,
    /// The last heading at or before each block, and the next after it.
    heading: Vec<(u32, u32)>,
    top_shape: u32,
    long: u32,
    copied: u32,
}

impl<'a> Features<'a> {
    pub fn new(tree: &'a Tree<'a>, found: &'a Blocks) -> Features<'a> {
        let blocks = &found.blocks;
        let mut shapes: HashMap<u64, Shape> = HashMap::new();
        let mut copies: HashMap<u64, (u32, u32)> = HashMap::new();
        let mut before = Vec::with_capacity(blocks.len());
        let mut chars = 0;
        for (at, block) in (0..).zip(blocks) {
            let shape = shapes.entry(block.shape).or_insert(Shape { first: at, ..Shape::default() });
            shape.blocks += 1;
            shape.chars += block.chars;
            shape.link_chars += block.link_chars;
            shape.words += block.words;
            shape.good += u32::from(block.is_good());
            shape.last = at;
            copies.entry(block.text).or_insert((0, at)).0 += 1;
            before.push(chars);
            chars += block.chars;
        }
        let copied = blocks.iter().filter(|block| copies[&block.text].0 > 1).count() as u32;
        Features {
            kind: kind(tree),
            cores: [0.4, 0.6, 0.8].map(|share| core(tree, found, share)),
            heading: headings(tree, blocks),
            top_shape: shapes.values().map(|shape| shape.blocks).max().unwrap_or(0),
            long: blocks.iter().map(|block| block.words).max().unwrap_or(0),
            h1: blocks.iter().position(|block| name_of(tree, block) == Name::H1),
            tree,
            found,
            shapes,
            copies,
            before,
            copied,
        }
    }

    /// The features of a block, in the order documented in `scripts/readable/README.md`.
    pub fn of(&self, at: usize, out: &mut Vec<f32>) {
        out.clear();
        let block = &self.found.blocks[at];
        self.text(block, out);
        self.place(at, block, out);
        for step in 1..=REACH {
            self.neighbour(at.checked_sub(step), out);
        }
        for step in 1..=REACH {
            self.neighbour(Some(at + step), out);
        }
        self.around(block, out);
        self.core(at, block, out);
        self.shape(at, block, out);
        self.page(out);
        debug_assert_eq!(out.len(), NUMBERS);
    }

    fn text(&self, block: &Block, out: &mut Vec<f32>) {
        let words = block.words.max(1) as f32;
        let chars = block.chars.max(1) as f32;
        out.extend([
            block.chars as f32,
            block.words as f32,
            block.letters as f32 / words,
            block.link_density(),
            block.links as f32,
            block.commas as f32,
            block.stops as f32,
            block.digits as f32 / chars,
            block.capitals as f32 / words,
            block.upper_letters as f32 / block.letters.max(1) as f32,
            block.money as f32,
            block.rights as f32,
            block.bars as f32,
            code_of_last(block.last),
            block.title_words as f32 / words,
            f32::from(name_of(self.tree, block) as u8),
            f32::from(block.inner),
            f32::from(block.depth),
            (block.end - block.first) as f32,
        ]);
    }

    fn place(&self, at: usize, block: &Block, out: &mut Vec<f32>) {
        let sum = self.found.sums[0];
        let total = sum.chars.max(1) as f32;
        let (last, next) = self.heading[at];
        let level = self.found.blocks.get(last as usize).and_then(|block| name_of(self.tree, block).heading());
        let (copies, first) = self.copies[&block.text];
        out.extend([
            at as f32 / self.found.blocks.len() as f32,
            self.before[at] as f32 / total,
            (sum.chars - self.before[at] - block.chars) as f32 / total,
            self.h1.map_or(-1000.0, |h1| at as f32 - h1 as f32),
            at as f32 - last as f32,
            level.map_or(9.0, f32::from),
            next as f32 - at as f32,
            copies as f32,
            f32::from(u8::from(first < at as u32)),
        ]);
    }

    fn neighbour(&self, at: Option<usize>, out: &mut Vec<f32>) {
        let numbers = at.and_then(|at| self.found.blocks.get(at)).map_or([-1.0; 4], |block| {
            [block.chars as f32, block.link_density(), f32::from(name_of(self.tree, block) as u8), block.words as f32]
        });
        out.extend(numbers);
    }

    /// Features of the block elements around that of the block.
    fn around(&self, block: &Block, out: &mut Vec<f32>) {
        let all = self.found.sums[0].good.max(1) as f32;
        let mut at = block.home;
        for _ in 0..STEPS {
            let before = self.found.sums[at as usize].blocks;
            // Skips elements that contain nothing else.
            while at > 0 && self.found.sums[at as usize].blocks == before {
                at = self.tree.nodes[at as usize].parent;
            }
            let sum = self.found.sums[at as usize];
            let chars = sum.chars.max(1) as f32;
            out.extend([
                sum.chars as f32,
                sum.link_chars as f32 / chars,
                sum.blocks as f32,
                sum.good as f32 / chars,
                sum.good as f32 / all,
                sum.headings as f32,
            ]);
        }
    }

    fn core(&self, at: usize, block: &Block, out: &mut Vec<f32>) {
        let all = self.found.sums[0].chars.max(1) as f32;
        let share = |core: u32| self.found.sums[core as usize].chars as f32 / all;
        for core in self.cores {
            let is_within = core <= block.home && block.home < self.tree.nodes[core as usize].end;
            out.push(f32::from(u8::from(is_within)));
        }
        let first = self.found.blocks.partition_point(|block| block.first < self.cores[1]);
        let blocks = self.found.sums[self.cores[1] as usize].blocks.max(1) as f32;
        out.extend([share(self.cores[0]), share(self.cores[1]), (at as f32 - first as f32) / blocks]);
    }

    fn shape(&self, at: usize, block: &Block, out: &mut Vec<f32>) {
        let shape = self.shapes[&block.shape];
        let blocks = shape.blocks as f32;
        out.extend([
            blocks,
            shape.chars as f32 / blocks,
            shape.link_chars as f32 / shape.chars.max(1) as f32,
            shape.good as f32 / blocks,
            (at as u32 - shape.first) as f32,
            (shape.last - at as u32) as f32,
            shape.words as f32 / blocks,
        ]);
    }

    fn page(&self, out: &mut Vec<f32>) {
        let sum = self.found.sums[0];
        let chars = sum.chars.max(1) as f32;
        let core = self.found.sums[self.cores[1] as usize];
        out.extend([
            sum.chars as f32,
            sum.blocks as f32,
            sum.link_chars as f32 / chars,
            sum.good as f32 / chars,
            sum.headings as f32,
        ]);
        out.extend(self.found.counts.map(|count| count as f32));
        out.extend([
            f32::from(self.kind.said),
            f32::from(self.kind.data),
            f32::from(self.kind.steps),
            self.shapes.len() as f32 / sum.blocks.max(1) as f32,
            self.top_shape as f32,
            self.long as f32,
            self.h1.map_or(-1.0, |h1| h1 as f32 / sum.blocks.max(1) as f32),
            self.copied as f32 / sum.blocks.max(1) as f32,
            core.chars as f32 / chars,
            core.link_chars as f32 / core.chars.max(1) as f32,
            f32::from(u8::from(self.kind.is_dated)),
        ]);
    }
}

fn code_of_last(last: char) -> f32 {
    match last {
        '.' | '。' => 3.0,
        '!' | '?' | '！' | '？' => 4.0,
        ':' | '…' => 5.0,
        ',' | ';' => 2.0,
        _ if last.is_alphanumeric() => 0.0,
        _ => 1.0,
    }
}

/// The innermost element that contains this share of the letters in blocks that look like sentences.
fn core(tree: &Tree, found: &Blocks, share: f32) -> u32 {
    let least = (found.sums[0].good as f32 * share) as u32;
    let is_core = |number: &usize| tree.nodes[*number].is_apart && found.sums[*number].good > least;
    (0..tree.nodes.len()).rev().find(is_core).unwrap_or(0) as u32
}

fn headings(tree: &Tree, blocks: &[Block]) -> Vec<(u32, u32)> {
    let is_heading = |block: &Block| name_of(tree, block).heading().is_some();
    let mut last = 0;
    let mut found: Vec<(u32, u32)> = (0..)
        .zip(blocks)
        .map(|(at, block)| {
            last = if is_heading(block) { at } else { last };
            (last, 0)
        })
        .collect();
    let mut next = blocks.len() as u32;
    for (at, block) in blocks.iter().enumerate().rev() {
        found[at].1 = next;
        next = if is_heading(block) { at as u32 } else { next };
    }
    found
}

fn kind(tree: &Tree) -> Kind {
    let mut kind = Kind { steps: 255, ..Kind::default() };
    let mut url = tree.canonical.map(decode_attribute);
    for (number, _) in (0..).zip(&tree.nodes).filter(|(_, node)| node.name == Some(Name::Meta)) {
        let attribute = |name: &str| tree.attribute(number, name);
        let Some(name) = attribute("property").or_else(|| attribute("name")) else { continue };
        let content = || attribute("content").unwrap_or_default();
        match &*name {
            "og:type" => {
                kind.said = match &*content() {
                    "article" | "blog" | "news" => 1,
                    "product" | "og:product" | "product.item" | "product.group" => 2,
                    "website" => 3,
                    _ => 4,
                }
            }
            "og:url" if url.is_none() => url = Some(content()),
            "article:published_time" => kind.is_dated = true,
            _ => {}
        }
    }
    if let Some(url) = url {
        let path = url.split_once("://").map_or(&*url, |(_, path)| path);
        kind.steps =
            path.split(['?', '#']).next().unwrap_or("").split('/').skip(1).filter(|s| !s.is_empty()).count() as u8;
    }
    const TYPES: [&[&str]; 6] = [
        &["Article\"", "NewsArticle\"", "BlogPosting\""],
        &["\"Product\"", "\"ProductGroup\""],
        &["ItemList\"", "CollectionPage\""],
        &["DiscussionForumPosting\"", "QAPage\""],
        &["FAQPage\""],
        &["Recipe\"", "Event\"", "JobPosting\""],
    ];
    for data in &tree.data {
        for (bit, names) in TYPES.iter().enumerate() {
            kind.data |= u8::from(names.iter().any(|name| data.contains(name))) << bit;
        }
    }
    kind
}

/// Whether a block has the mark with this number. Numbers cover marks around it, marks near it, and its words.
pub fn mark(block: &Block, number: usize) -> bool {
    let is_in = |marks: &[u64], bit: usize| marks[bit / 64] >> (bit % 64) & 1 == 1;
    match number {
        _ if number < MARKS => is_in(&block.around, number),
        _ if number < 2 * MARKS => is_in(&block.near, number - MARKS),
        _ => is_in(&block.told, number - 2 * MARKS),
    }
}
