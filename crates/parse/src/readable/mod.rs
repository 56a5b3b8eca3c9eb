//! What a page is for, as clean text or Markdown: articles, products, discussions, lists, without what stands around them.
//!
//! The page is cut into [`blocks`] of text, [`features`] tell what is known of each, and decision trees ([`model`]) how likely it
//! belongs to the text. Chosen are the blocks that together promise the best
//! F1 over words, and what they promise is the confidence. A page that shows its text by a program alone is read from its [`data`].

pub mod blocks;
mod data;
pub mod features;
mod inline;
mod markdown;
mod model;
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

/// A page with fewer words may have its text as data.
const FEW_WORDS: u32 = 100;
/// A page with fewer words is given whole, as far as it is shown: there is nothing to choose.
const SHORT_PAGE: u32 = 30;

/// What a page is for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readable {
    /// One block a line, each line ended.
    pub text: String,
    /// The same as CommonMark with tables, ended by a line feed; none unless it was asked for.
    pub markdown: Option<String>,
    /// The F1 over words that is to be expected of it, 0 to 1.
    pub confidence: f32,
}

/// Reads a page of HTML. `url`: what its links are relative to, if the page does not say; None leaves them as they are.
/// `with_markdown`: whether that is wanted too.
pub fn read(page: &str, url: Option<&str>, with_markdown: bool) -> Readable {
    let model = model::model();
    read_in(page, &model.vocabulary, |tree, found| {
        let base = base(tree, url);
        render(tree, found, base.as_ref(), with_markdown, model)
    })
}

/// Takes the page apart: its markup, or its data, if there is more text in that.
pub fn read_in<T>(page: &str, vocabulary: &Vocabulary, take: impl FnOnce(&Tree, &Blocks) -> T) -> T {
    let tree = Tree::read(page);
    let found = Blocks::read(&tree, vocabulary);
    if found.words() < FEW_WORDS
        && let Some(data) = data::page_of_data(&tree)
    {
        let mut of_data = Tree::read(&data);
        let in_data = Blocks::read(&of_data, vocabulary);
        if in_data.words() > found.words() {
            // What the page says of its own place holds for it too.
            (of_data.base, of_data.canonical) = (tree.base, tree.canonical);
            return take(&of_data, &in_data);
        }
    }
    take(&tree, &found)
}

/// What links are relative to: `<base>`, as seen from the page's URL, or what the page says its own URL is.
fn base(tree: &Tree, url: Option<&str>) -> Option<Url> {
    let said = || Url::parse(&decode_attribute(tree.canonical?)).ok();
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
    let (chosen, expected) = choose(&found.blocks, &likely);
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

/// How likely each block belongs to the page's text.
fn judge(tree: &Tree, found: &Blocks, model: &Model) -> Vec<f32> {
    let features = Features::new(tree, found);
    let mut numbers = Vec::new();
    let judge = |at: usize| {
        features.of(at, &mut numbers);
        model.judge(&numbers, &found.blocks[at])
    };
    (0..found.blocks.len()).map(judge).collect()
}

/// The blocks of which the best F1 over words is to be expected, and what that is. Taken by their likelihood, the best end is where
/// `2 · likely words taken / (words taken + likely words of the page)` is largest.
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

/// Adds a block's lines.
pub fn write_text(tree: &Tree, block: &Block, text: &mut String) {
    let begun = text.len();
    let is_code = name_of(tree, block) == Name::Pre;
    let mut is_apart = false;
    for number in block.first..block.end {
        match tree.nodes[number as usize].name {
            None if is_code => text.push_str(&tree.text(number)),
            None => add_words(text, begun, &tree.text(number), &mut is_apart),
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

/// White space becomes single blanks; none begins a line.
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
