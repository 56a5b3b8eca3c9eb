//! Writes the chosen blocks of a page as Markdown (CommonMark, with GitHub's tables and strikethrough).

use std::collections::{HashMap, HashSet};

use url::Url;

use super::blocks::{Block, Blocks};
use super::inline::{Inline, longest_run};
use super::table::{self, Grid};
use super::tree::Tree;
use crate::html::names::Name;

/// Limit of nested lists and quotes; deeper ones are written at this depth.
const MAX_DEPTH: usize = 12;
/// Number of attributes that are searched for the language of code, and bytes of each; more have none.
const MAX_LANGUAGE: (usize, usize) = (20, 200);

/// A quote or a list item around the current text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Container {
    number: u32,
    /// Indentation of an item's content. 0: a quote.
    indent: usize,
}

struct Writer<'a> {
    tree: &'a Tree<'a>,
    inline: Inline<'a>,
    out: String,
    /// The containers of the last text, outermost first.
    open: Vec<Container>,
    /// Number of items so far in each numbered list.
    items: HashMap<u32, u64>,
}

/// `chosen`: for each block, whether it is included.
pub(super) fn markdown(tree: &Tree, found: &Blocks, chosen: &[bool], base: Option<&Url>) -> String {
    let inline = Inline { tree, base };
    let mut writer = Writer { tree, inline, out: String::new(), open: Vec::new(), items: HashMap::new() };
    // Tables that are only layout.
    let mut layouts = HashSet::new();
    let blocks = &found.blocks;
    let mut at = 0;
    while at < blocks.len() {
        if !chosen[at] {
            at += 1;
            continue;
        }
        if at > 0 && chosen[at - 1] {
            writer.pictures(blocks[at - 1].end, blocks[at].first);
        }
        let place = Place::of(tree, &blocks[at]);
        let end_of = |number: u32| {
            let end = tree.nodes[number as usize].end;
            at + blocks[at..].partition_point(|block| block.first < end)
        };
        at = if let Some(pre) = place.pre {
            let end = end_of(pre);
            writer.code(pre, &blocks[at..end], &chosen[at..end], &place);
            end
        } else if let Some(table) = place.table
            && !layouts.contains(&table)
            && let end = end_of(table)
            && let Some(grid) = table::grid(tree, table, &blocks[at..end])
        {
            writer.table(table, &grid, &blocks[at..end], &chosen[at..end], &place);
            end
        } else {
            layouts.extend(place.table);
            writer.paragraph(&blocks[at], &place);
            at + 1
        };
    }
    writer.out
}

/// The containers of a block.
#[derive(Debug, Default)]
struct Place {
    /// Quotes, items, and lists directly in lists, innermost first.
    containers: Vec<u32>,
    heading: Option<u8>,
    pre: Option<u32>,
    table: Option<u32>,
}

impl Place {
    fn of(tree: &Tree, block: &Block) -> Place {
        let mut place = Place::default();
        let mut at = block.home;
        while at > 0 {
            let node = tree.nodes[at as usize];
            match node.name {
                Some(Name::Blockquote | Name::Li) => place.containers.push(at),
                Some(name) if is_list(name) && is_in_list(tree, at) => place.containers.push(at),
                Some(Name::Pre | Name::Xmp) => place.pre = place.pre.or(Some(at)),
                Some(Name::Table) => place.table = place.table.or(Some(at)),
                Some(name) => place.heading = place.heading.or(name.heading()),
                None => {}
            }
            at = node.parent;
        }
        // Code has no lists.
        place.containers.retain(|container| place.pre.is_none_or(|pre| *container < pre));
        let deep = place.containers.len().saturating_sub(MAX_DEPTH);
        place.containers.drain(..deep);
        place
    }
}

fn is_list(name: Name) -> bool {
    matches!(name, Name::Ul | Name::Ol)
}

fn is_in_list(tree: &Tree, number: u32) -> bool {
    let parent = tree.nodes[number as usize].parent;
    tree.nodes[parent as usize].name.is_some_and(is_list)
}

impl Writer<'_> {
    fn paragraph(&mut self, block: &Block, place: &Place) {
        let mut text = self.inline.block(block, place.heading.is_some());
        if let Some(level) = place.heading {
            text = format!("{} {text}", "#".repeat(usize::from(level)));
            // A `#` at the end would be read as markup.
            if text.ends_with('#') && !text.ends_with("\\#") {
                text.insert(text.len() - 1, '\\');
            }
        }
        self.write(&text, &place.containers);
    }

    fn pictures(&mut self, from: u32, to: u32) {
        for number in from..to {
            let node = self.tree.nodes[number as usize];
            let is_shown = || self.tree.nodes[node.parent as usize].name != Some(Name::Noscript);
            if node.name == Some(Name::Img)
                && is_shown()
                && let Some(picture) = self.inline.picture(number)
            {
                self.write(&picture, &[]);
            }
        }
    }

    fn code(&mut self, pre: u32, blocks: &[Block], chosen: &[bool], place: &Place) {
        let mut code = String::new();
        for (block, _) in blocks.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
            if !code.is_empty() && !code.ends_with('\n') {
                code.push('\n');
            }
            for number in block.first..block.end {
                match self.tree.nodes[number as usize].name {
                    None => code.push_str(&self.tree.shown(number)),
                    Some(Name::Br) => code.push('\n'),
                    Some(_) => {}
                }
            }
        }
        let code = code.trim_matches(['\n', '\r']).trim_end();
        let fence = "`".repeat(longest_run(code, '`').max(2) + 1);
        let language = language(self.tree, pre, blocks);
        self.write(&format!("{fence}{language}\n{code}\n{fence}"), &place.containers);
    }

    fn table(&mut self, table: u32, grid: &Grid, blocks: &[Block], chosen: &[bool], place: &Place) {
        let (tree, inline) = (self.tree, self.inline);
        let chosen: Vec<&Block> = blocks.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|it| it.0).collect();
        let is_cell = |block: &Block| grid.place(tree, table, block).is_some();
        // Lists inside cells become text of their cells.
        let around: Vec<u32> = place.containers.iter().copied().filter(|number| *number < table).collect();
        for part in chosen.chunk_by(|left, right| is_cell(left) == is_cell(right)) {
            if is_cell(part[0]) {
                self.write(grid.write(inline, table, part).trim_end(), &around);
            } else {
                // Captions, and text that the page has between rows.
                part.iter().for_each(|block| self.paragraph(block, &Place::of(tree, block)));
            }
        }
    }

    /// Writes lines inside their containers, given innermost first.
    fn write(&mut self, text: &str, around: &[u32]) {
        if text.is_empty() {
            return;
        }
        let mut markers = Vec::new();
        let mut open: Vec<Container> = Vec::new();
        for number in around.iter().rev() {
            let before = self.open.get(open.len()).filter(|_| markers.is_empty()).copied();
            if self.tree.nodes[*number as usize].name.is_some_and(is_list) {
                // A list directly in a list belongs to the item before it.
                let parent = |number: u32| self.tree.nodes[number as usize].parent;
                open.extend(before.filter(|item| parent(item.number) == parent(*number)));
                continue;
            }
            let container = before.filter(|before| before.number == *number).unwrap_or_else(|| {
                let marker = self.marker(*number);
                let indent = if marker == "> " { 0 } else { marker.len() };
                markers.push(marker);
                Container { number: *number, indent }
            });
            open.push(container);
        }
        let kept = open.len() - markers.len();
        let is_item = |containers: &[Container]| containers.last().is_some_and(|last| last.indent > 0);
        // List items follow without an empty line. A nested list that starts with another number than 1 needs one:
        // otherwise Markdown reads the number as text of the item around it.
        let is_close = markers.len() == 1
            && is_item(&open)
            && is_item(&self.open)
            && self.open.len() + 1 >= open.len()
            && (markers[0] == "- " || markers[0].starts_with("1.") || self.open.len() >= open.len());
        let prefix_of = |containers: &[Container]| -> String {
            containers.iter().map(|it| if it.indent == 0 { "> ".into() } else { " ".repeat(it.indent) }).collect()
        };
        let prefix = prefix_of(&open[..kept]);
        if !self.out.is_empty() {
            self.out.push('\n');
            if !is_close {
                self.out.push_str(prefix.trim_end());
                self.out.push('\n');
            }
        }
        let rest = prefix_of(&open);
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
                self.out.push_str(if line.is_empty() { rest.trim_end() } else { &rest });
            } else {
                self.out.push_str(&prefix);
                self.out.push_str(&markers.concat());
            }
            self.out.push_str(line);
        }
        self.open = open;
    }

    /// The marker at the start of a quote or an item.
    fn marker(&mut self, number: u32) -> String {
        let node = self.tree.nodes[number as usize];
        if node.name == Some(Name::Blockquote) {
            return "> ".into();
        }
        let list = self.tree.nodes[node.parent as usize];
        if list.name != Some(Name::Ol) {
            return "- ".into();
        }
        let first = || {
            self.tree.attribute(node.parent, "start").and_then(|n| n.trim().parse::<u32>().ok()).map_or(1, u64::from)
        };
        let count = self.items.entry(node.parent).and_modify(|count| *count += 1).or_insert_with(first);
        // Longer numbers do not begin a list.
        format!("{}. ", *count % 1_000_000_000)
    }
}

/// The programming language as attributes of the code and of the elements around it state it: `class="language-rust"`,
/// `class="highlight-source-rust"`, `class="brush: rust"`, `data-lang="rust"`. Empty if none does.
fn language(tree: &Tree, pre: u32, blocks: &[Block]) -> String {
    let first = blocks.first().map_or(pre, |block| tree.nodes[block.first as usize].parent);
    let code = (pre + 1..=first).find(|number| tree.nodes[*number as usize].name == Some(Name::Code));
    let outer = tree.nodes[pre as usize].parent;
    let beyond = tree.nodes[outer as usize].parent;
    let stated = [pre, code.unwrap_or(first), outer, beyond].into_iter().find_map(|number| {
        let attributes = tree.attributes(number).iter().take(MAX_LANGUAGE.0);
        attributes.filter(|it| it.value.len() <= MAX_LANGUAGE.1).find_map(|it| language_of(it.name, it.value))
    });
    stated.unwrap_or_default().to_owned()
}

fn language_of<'a>(attribute: &str, value: &'a str) -> Option<&'a str> {
    let is = |name: &str| attribute.eq_ignore_ascii_case(name);
    let is_language = |name: &&str| {
        !matches!(*name, "" | "default" | "none" | "plaintext")
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-#._".contains(&b))
    };
    if is("data-lang") || is("data-language") {
        return Some(value.trim()).filter(is_language);
    }
    let mut words = value.split([' ', '\t', '\n', ';']).filter(|_| is("class"));
    while let Some(word) = words.next() {
        let named = match word {
            "brush:" | "sourceCode" => words.next(),
            _ => ["language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "brush:"]
                .iter()
                .find_map(|begin| word.strip_prefix(begin)),
        };
        if let Some(name) = named.filter(is_language) {
            return Some(name);
        }
    }
    None
}
