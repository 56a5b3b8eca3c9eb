//! Splits a page into blocks: text between the edges of block elements. Each block has counts of its content and a
//! position in the tree.

use super::tree::Tree;
use super::vocabulary::{Hash, Marks, Vocabulary, Words, words_of};
use crate::html::decode_text;
use crate::html::names::{Name, UNSEEN};
use crate::html::tokens::Attribute;

/// Most blocks of a page; further text belongs to the last.
const MAX_BLOCKS: usize = 100_000;
/// Bytes of an attribute that are read.
const MAX_NAME: usize = 400;
/// Only blocks of at most this many words are compared with the title and searched for key words.
const SHORT: u32 = 40;

#[derive(Debug, Clone, Default)]
pub struct Block {
    /// The range of nodes in the block, from its first text.
    pub first: u32,
    pub end: u32,
    /// The block element that contains it.
    pub home: u32,
    /// Features of the element around its first text.
    pub inner: u8,
    pub depth: u16,
    pub chars: u32,
    pub words: u32,
    pub link_chars: u32,
    pub links: u32,
    pub commas: u32,
    /// Number of sentence ends.
    pub stops: u32,
    pub digits: u32,
    /// Words that begin with a capital letter.
    pub capitals: u32,
    pub upper_letters: u32,
    pub letters: u32,
    /// Currency signs, ©, and separators between items of a line.
    pub money: u32,
    pub rights: u32,
    pub bars: u32,
    pub last: char,
    pub title_words: u32,
    /// Whether the page marks the block as hidden.
    pub is_hidden: bool,
    /// Hash of its text.
    pub text: u64,
    /// Hash of the names and classes of the three elements around it.
    pub shape: u64,
    /// Marks of all elements around it, and of the innermost ones.
    pub around: Marks,
    pub near: Marks,
    pub told: Words,
}

/// Totals for an element.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    pub chars: u32,
    pub link_chars: u32,
    pub blocks: u32,
    /// Letters in blocks that look like sentences.
    pub good: u32,
    pub headings: u32,
}

#[derive(Debug, Default)]
pub struct Blocks {
    pub blocks: Vec<Block>,
    /// For every node.
    pub sums: Vec<Sum>,
    /// Counts of images, articles, forms, list items and cells.
    pub counts: [u32; 5],
}

/// Values that apply inside an open element.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    end: u32,
    home: u32,
    name: u8,
    depth: u16,
    is_link: bool,
    is_unseen: bool,
    is_hidden: bool,
    is_apart: bool,
    /// Hashes of the element, of it and its parent, and of three levels.
    shape: [u64; 3],
    own: Marks,
    near: Marks,
    around: Marks,
}

struct Reader<'a> {
    vocabulary: &'a Vocabulary,
    title: Vec<u64>,
    found: Blocks,
    block: Option<Block>,
    word: Word,
}

#[derive(Default)]
struct Word {
    hash: Hash,
    length: u32,
}

impl Block {
    pub(crate) fn link_density(&self) -> f32 {
        self.link_chars as f32 / self.chars.max(1) as f32
    }

    pub fn is_good(&self) -> bool {
        self.words >= 10 && self.link_chars * 3 < self.chars
    }
}

impl Blocks {
    pub fn words(&self) -> u32 {
        self.blocks.iter().map(|block| block.words).sum()
    }

    pub fn read(tree: &Tree, vocabulary: &Vocabulary) -> Blocks {
        let mut title = Vec::new();
        for_words(&decode_text(tree.title), |hash| title.push(hash.0));
        let mut reader = Reader { vocabulary, title, found: Blocks::default(), block: None, word: Word::default() };
        reader.read(tree);
        let mut found = reader.found;
        found.sums = sums(tree, &found.blocks);
        found
    }
}

impl Reader<'_> {
    fn read(&mut self, tree: &Tree) {
        let mut open = vec![Context { end: u32::MAX, name: Name::Html as u8, ..Context::default() }];
        for (number, node) in (0..).zip(&tree.nodes) {
            while open.len() > 1 && open[open.len() - 1].end <= number {
                if open.pop().is_some_and(|closed| closed.is_apart) {
                    self.finish();
                }
            }
            let around = open[open.len() - 1];
            match node.name {
                _ if around.is_unseen => {}
                Some(name) => self.element(tree, number, name, around, &mut open),
                None => self.text(number, &tree.text(number), &around),
            }
        }
        self.finish();
    }

    fn element(&mut self, tree: &Tree, number: u32, name: Name, around: Context, open: &mut Vec<Context>) {
        let node = tree.nodes[number as usize];
        match name {
            Name::Img => self.found.counts[0] += 1,
            Name::Article => self.found.counts[1] += 1,
            Name::Form => self.found.counts[2] += 1,
            Name::Li => self.found.counts[3] += 1,
            Name::Td => self.found.counts[4] += 1,
            _ => {}
        }
        if node.is_apart {
            self.finish();
        } else if name == Name::Br {
            self.end_word();
        }
        let mut own = Marks::default();
        let (class, is_hidden) = self.marks(tree, number, name, &mut own);
        let mut inner = Context {
            end: node.end,
            name: name as u8,
            depth: around.depth + 1,
            is_link: around.is_link || name == Name::A,
            is_unseen: name.has(UNSEEN) || matches!(name, Name::Audio | Name::Canvas | Name::Video),
            is_apart: node.is_apart,
            is_hidden: around.is_hidden || is_hidden,
            own,
            near: or(or(own, around.own), if node.is_apart { Marks::default() } else { around.near }),
            around: or(own, around.around),
            ..around
        };
        if node.is_apart {
            inner.home = number;
            let hash = (class ^ (name as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            inner.shape = [hash, around.shape[0].rotate_left(21) ^ hash, around.shape[1].rotate_left(21) ^ hash];
        } else if name == Name::A
            && let Some(block) = &mut self.block
        {
            block.links += 1;
        }
        if node.end > number + 1 {
            open.push(inner);
        }
    }

    /// Collects the words of an element's classes. Returns a hash of all of them, and whether the element is hidden.
    fn marks(&self, tree: &Tree, number: u32, name: Name, own: &mut Marks) -> (u64, bool) {
        let mut class = 0_u64;
        let mut is_hidden = false;
        self.vocabulary.mark(Hash::of(name.text().as_bytes()).with(b'<'), own);
        for &Attribute { name, value } in tree.attributes(number) {
            let value = value.get(..MAX_NAME).unwrap_or(value);
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let mut note = |word| self.vocabulary.mark(word, own);
            match name.len() {
                5 if is("class") => words_of(value, |word| {
                    note(word);
                    class = class.wrapping_add(word.0);
                }),
                2 if is("id") => words_of(value, note),
                4 if is("role") => words_of(value, |word| note(word.with(b'='))),
                8 if is("itemprop") => words_of(value, |word| note(word.with(b'@'))),
                10 if is("aria-label") => words_of(value, |word| note(word.with(b'~'))),
                11 if is("aria-hidden") && value == "true" => note(Hash::of(b"!aria-hidden")),
                6 if is("hidden") => {
                    is_hidden = true;
                    note(Hash::of(b"!hidden"));
                }
                5 if is("style") && value.contains("display") && value.contains("none") => {
                    is_hidden = true;
                    note(Hash::of(b"!none"));
                }
                _ => {}
            }
        }
        (class, is_hidden)
    }

    fn text(&mut self, number: u32, text: &str, around: &Context) {
        if self.block.is_none() {
            if text.trim().is_empty() {
                return;
            }
            self.begin(number, around);
        }
        let Some(block) = &mut self.block else { return };
        block.end = number + 1;
        let before = block.chars;
        for c in text.chars() {
            if c.is_alphanumeric() || c == '_' {
                let is_ideograph = matches!(c, '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..);
                if self.word.length == 0 || is_ideograph {
                    block.words += 1;
                    block.capitals += u32::from(c.is_uppercase());
                }
                block.digits += u32::from(c.is_ascii_digit());
                block.upper_letters += u32::from(c.is_uppercase());
                block.letters += 1;
                self.word.length += 1;
                if c.is_ascii() {
                    self.word.hash = self.word.hash.with(c.to_ascii_lowercase() as u8);
                } else {
                    let lower = c.to_lowercase().next().unwrap_or(c);
                    lower.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.word.hash = self.word.hash.with(byte));
                }
            } else {
                if self.word.length > 0 {
                    end_word(&mut self.word, block, self.vocabulary, &self.title);
                }
                match c {
                    ',' | ';' | '、' | '，' => block.commas += 1,
                    '.' | '!' | '?' | '。' | '！' | '？' => block.stops += 1,
                    '$' | '€' | '£' | '¥' | '₹' => block.money += 1,
                    '©' => block.rights += 1,
                    '|' | '•' | '·' | '»' | '›' | '/' | '→' => block.bars += 1,
                    _ => {}
                }
            }
            if !c.is_whitespace() {
                block.chars += 1;
                block.last = c;
            }
        }
        if around.is_link {
            block.link_chars += block.chars - before;
        }
    }

    fn begin(&mut self, number: u32, around: &Context) {
        let block = match self.found.blocks.len() {
            MAX_BLOCKS => self.found.blocks.pop().unwrap_or_default(),
            _ => Block {
                first: number,
                home: around.home,
                is_hidden: around.is_hidden,
                inner: around.name,
                depth: around.depth,
                links: u32::from(around.is_link),
                shape: around.shape[2],
                around: around.around,
                near: around.near,
                last: ' ',
                ..Block::default()
            },
        };
        self.block = Some(block);
    }

    fn end_word(&mut self) {
        match &mut self.block {
            Some(block) if self.word.length > 0 => end_word(&mut self.word, block, self.vocabulary, &self.title),
            _ => self.word = Word::default(),
        }
    }

    fn finish(&mut self) {
        self.end_word();
        self.found.blocks.extend(self.block.take());
    }
}

fn end_word(word: &mut Word, block: &mut Block, vocabulary: &Vocabulary, title: &[u64]) {
    let hash = std::mem::take(word).hash;
    block.text = block.text.rotate_left(5) ^ hash.0;
    if block.words <= SHORT {
        vocabulary.word(hash, &mut block.told);
        block.title_words += u32::from(title.contains(&hash.0));
    }
}

fn for_words(text: &str, mut take: impl FnMut(Hash)) {
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).take(50) {
        take(Hash::of(word.to_lowercase().as_bytes()));
    }
}

fn or(left: Marks, right: Marks) -> Marks {
    std::array::from_fn(|at| left[at] | right[at])
}

/// Name of the block element that contains the block.
pub fn name_of(tree: &Tree, block: &Block) -> Name {
    tree.nodes[block.home as usize].name.unwrap_or(Name::Other)
}

fn sums(tree: &Tree, blocks: &[Block]) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); tree.nodes.len()];
    for block in blocks {
        let sum = &mut sums[block.home as usize];
        sum.chars += block.chars;
        sum.link_chars += block.link_chars;
        sum.blocks += 1;
        sum.good += if block.is_good() { block.chars } else { 0 };
        sum.headings += u32::from(name_of(tree, block).heading().is_some());
    }
    // An element precedes everything in it.
    for number in (1..tree.nodes.len()).rev() {
        let sum = sums[number];
        let outer = &mut sums[tree.nodes[number].parent as usize];
        outer.chars += sum.chars;
        outer.link_chars += sum.link_chars;
        outer.blocks += sum.blocks;
        outer.good += sum.good;
        outer.headings += sum.headings;
    }
    sums
}
