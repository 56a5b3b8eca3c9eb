//! The purpose of a page as clean text or Markdown: an article, a product, a discussion, a list, without navigation and
//! the like.
//!
//! The page is split into [`blocks`] of text. Each has [`features`], and decision trees ([`model`]) estimate how likely
//! it belongs to the main text. The blocks with the best expected F1 over words are chosen, and this value is the
//! confidence. [`complete`] adds headings and the rest of lists and tables. If only a program displays the text, it is
//! read from the page's [`data`].

pub mod blocks;
mod complete;
mod data;
pub mod features;
mod inline;
mod markdown;
mod model;
mod table;
pub mod tree;
pub mod vocabulary;

use url::Url;

use blocks::{Block, Blocks, name_of};
use features::Features;
use model::Model;
use tree::Tree;
use vocabulary::Vocabulary;

use super::html::decode_attribute;
use super::html::names::Name;

/// Pages with fewer words are checked for text in their data.
const FEW_WORDS: u32 = 100;
/// Pages with fewer words are returned whole, as far as visible, since there is nothing to choose.
const SHORT_PAGE: u32 = 30;

/// The extracted text of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readable {
    /// One block per line; every line ends with a line feed.
    pub text: String,
    /// The same as CommonMark with tables, ending with a line feed; only if requested.
    pub markdown: Option<String>,
    /// The expected F1 over words, 0 to 1.
    pub confidence: f32,
}

/// Extracts an HTML page. `url`: base of its links if the page names none; None leaves links unchanged.
/// `with_markdown`: write Markdown, too.
pub fn read(page: &str, url: Option<&str>, with_markdown: bool) -> Readable {
    let model = model::model();
    read_in(page, &model.vocabulary, |tree, found| {
        let base = base(tree, url);
        render(tree, found, base.as_ref(), with_markdown, model)
    })
}

/// Splits the page into blocks: its markup, or its data if that has more text.
pub fn read_in<T>(page: &str, vocabulary: &Vocabulary, take: impl FnOnce(&Tree, &Blocks) -> T) -> T {
    let tree = Tree::read(page);
    let found = Blocks::read(&tree, vocabulary);
    if found.words() < FEW_WORDS
        && let Some(data) = data::page_of_data(&tree)
    {
        let mut of_data = Tree::read(&data);
        let in_data = Blocks::read(&of_data, vocabulary);
        if in_data.words() > found.words() {
            // Base and canonical URL of the page apply to its data, too.
            (of_data.base, of_data.canonical) = (tree.base, tree.canonical);
            return take(&of_data, &in_data);
        }
    }
    take(&tree, &found)
}

/// The base of links: `<base>` relative to the page's URL, or the URL that the page states as its own.
fn base(tree: &Tree, url: Option<&str>) -> Option<Url> {
    // Manuals that were made for a disk state a `file:` URL.
    let said = || Url::parse(&decode_attribute(tree.canonical?)).ok().filter(|url| url.scheme().starts_with("http"));
    let page = url.and_then(|url| Url::parse(url).ok()).or_else(said);
    let href = tree.base.map(decode_attribute);
    match (page, href) {
        (Some(page), Some(href)) => page.join(&href).ok().or(Some(page)),
        (None, Some(href)) => Url::parse(&href).ok(),
        (page, None) => page,
    }
}

fn render(tree: &Tree, found: &Blocks, base: Option<&Url>, with_markdown: bool, model: &Model) -> Readable {
    let likely = judge(tree, found, model);
    let (mut chosen, expected) = choose(&found.blocks, &likely);
    complete::headings(tree, &found.blocks, &mut chosen);
    complete::groups(tree, &found.blocks, &mut chosen);
    let mut text = String::new();
    for (block, _) in found.blocks.iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
        write_text(tree, block, &mut text);
    }
    let markdown = with_markdown.then(|| {
        let mut markdown = markdown::markdown(tree, found, &chosen, base);
        if !markdown.is_empty() {
            markdown.push('\n');
        }
        markdown
    });
    Readable { text, markdown, confidence: model.calibrate(expected) }
}

/// The probability that each block belongs to the main text.
fn judge(tree: &Tree, found: &Blocks, model: &Model) -> Vec<f32> {
    let features = Features::new(tree, found);
    let mut numbers = Vec::new();
    let judge = |at: usize| {
        features.of(at, &mut numbers);
        model.judge(&numbers, &found.blocks[at])
    };
    (0..found.blocks.len()).map(judge).collect()
}

/// Chooses the blocks with the best expected F1 over words, and returns it. Blocks are taken by falling probability.
/// The best end is where `2 · likely words taken / (words taken + likely words of the page)` is largest.
fn choose(blocks: &[Block], likely: &[f32]) -> (Vec<bool>, f32) {
    let words: Vec<f32> = blocks.iter().map(|block| block.words as f32).collect();
    let all: f32 = words.iter().zip(likely).map(|(words, likely)| words * likely).sum();
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by(|left, right| likely[*right].total_cmp(&likely[*left]));
    let (mut right, mut taken) = (0.0, 0.0);
    let mut best = (0.0, 0);
    for (number, at) in order.iter().enumerate() {
        right += words[*at] * likely[*at];
        taken += words[*at];
        let expected = 2.0 * right / (taken + all).max(1e-6);
        if expected > best.0 {
            best = (expected, number + 1);
        }
    }
    if words.iter().sum::<f32>() < SHORT_PAGE as f32 {
        return (blocks.iter().map(|block| !block.is_hidden).collect(), best.0);
    }
    let mut chosen = vec![false; blocks.len()];
    order[..best.1].iter().for_each(|at| chosen[*at] = true);
    (chosen, best.0)
}

/// Appends the lines of a block.
pub fn write_text(tree: &Tree, block: &Block, text: &mut String) {
    let begun = text.len();
    let is_code = name_of(tree, block) == Name::Pre;
    let mut is_apart = false;
    for number in block.first..block.end {
        match tree.nodes[number as usize].name {
            None if is_code => text.push_str(&tree.shown(number)),
            None => add_words(text, begun, &tree.shown(number), &mut is_apart),
            Some(Name::Br) if !is_code && text.len() > begun => {
                text.push('\n');
                is_apart = false;
            }
            Some(_) => {}
        }
    }
    text.truncate(text.trim_end().len().max(begun));
    if text.len() > begun {
        text.push('\n');
    }
}

/// White space becomes single blanks; lines never begin with one.
fn add_words(text: &mut String, begun: usize, more: &str, is_apart: &mut bool) {
    for part in more.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        if !word.is_empty() {
            if *is_apart && text.len() > begun && !text.ends_with('\n') {
                text.push(' ');
            }
            text.push_str(word);
            *is_apart = false;
        }
        *is_apart |= word.len() != part.len();
    }
}
