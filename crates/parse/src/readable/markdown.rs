//! Writes the chosen blocks of a page as Markdown (CommonMark, with GitHub's tables and strikethrough).

use std::collections::HashMap;

use url::Url;

use super::blocks::{Block, Blocks};
use super::inline::{Inline, longest_run};
use super::tree::Tree;
use crate::html::names::Name;

/// Limit of nested lists and quotes; deeper ones are written at this depth.
const MAX_DEPTH: usize = 12;
/// Largest column span of a cell.
const MAX_SPAN: usize = 50;
/// A table with a cell longer than this is only layout.
const MAX_CELL: u32 = 1000;

/// A quote or a list item around the current text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Container {
    number: u32,
    /// Indentation of an item's content. 0: a quote.
    indent: usize,
}

/// The row and the cell that contain a block; 0 for none.
struct CellPlace {
    row: u32,
    cell: u32,
    /// Number of columns of the cell.
    columns: usize,
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
    let mut tables: HashMap<u32, bool> = HashMap::new();
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
            && let end = end_of(table)
            && *tables.entry(table).or_insert_with(|| is_data(tree, table, &blocks[at..end]))
        {
            writer.table(table, &blocks[at..end], &chosen[at..end], &place);
            end
        } else {
            writer.paragraph(&blocks[at], &place);
            at + 1
        };
    }
    writer.out
}

/// The containers of a block.
#[derive(Debug, Default)]
struct Place {
    /// Quotes and items, innermost first.
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
                Some(Name::Pre | Name::Xmp) => place.pre = place.pre.or(Some(at)),
                Some(Name::Table) => place.table = place.table.or(Some(at)),
                Some(name) => place.heading = place.heading.or(name.heading()),
                None => {}
            }
            at = node.parent;
        }
        // List items within cells are part of their row.
        if let Some(outer) = place.pre.or(place.table) {
            let end = tree.nodes[outer as usize].end;
            place.containers.retain(|container| !(outer..end).contains(container) || place.pre.is_none());
        }
        let deep = place.containers.len().saturating_sub(MAX_DEPTH);
        place.containers.drain(..deep);
        place
    }
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
                    None => code.push_str(&self.tree.text(number)),
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

    fn table(&mut self, table: u32, blocks: &[Block], chosen: &[bool], place: &Place) {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut row = 0;
        let mut cell = 0;
        for (block, _) in blocks.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
            let CellPlace { row: in_row, cell: in_cell, columns: spanned } = self.cell_of(table, block);
            let text = self.inline.block(block, true);
            if in_cell == 0 {
                self.write(&text, &place.containers);
                continue;
            }
            if in_row != row || rows.is_empty() {
                rows.push(vec![String::new(); self.cells_between(in_row, in_cell)]);
                row = in_row;
            } else if let Some(last) = rows.last_mut()
                && in_cell != cell
            {
                let skipped = self.cells_between(cell, in_cell);
                last.extend(std::iter::repeat_n(String::new(), skipped));
            }
            let Some(last) = rows.last_mut() else { continue };
            if in_cell == cell && !last.is_empty() {
                if let Some(text_before) = last.iter_mut().rev().find(|text| !text.is_empty()) {
                    text_before.push(' ');
                    text_before.push_str(&text);
                }
                continue;
            }
            cell = in_cell;
            last.push(text);
            last.extend(std::iter::repeat_n(String::new(), spanned.saturating_sub(1)));
        }
        self.rows(&rows, &place.containers);
    }

    fn rows(&mut self, rows: &[Vec<String>], containers: &[u32]) {
        let Some(columns) = rows.iter().map(Vec::len).max() else { return };
        let mut text = String::new();
        for (number, row) in rows.iter().enumerate() {
            text.push('|');
            for cell in row {
                text.push(' ');
                text.push_str(cell);
                text.push_str(" |");
            }
            if number == 0 {
                text.push_str(&"  |".repeat(columns - row.len()));
                text.push_str("\n|");
                text.push_str(&" --- |".repeat(columns));
            }
            text.push('\n');
        }
        self.write(text.trim_end(), containers);
    }

    fn cell_of(&self, table: u32, block: &Block) -> CellPlace {
        let (mut row, mut cell, mut spanned) = (0, 0, 1);
        let mut at = block.home;
        while at > table {
            let node = self.tree.nodes[at as usize];
            match node.name {
                Some(Name::Tr) => row = at,
                Some(Name::Td | Name::Th) => {
                    cell = at;
                    spanned = self.tree.attribute(at, "colspan").and_then(|n| n.trim().parse().ok()).unwrap_or(1);
                }
                _ => {}
            }
            at = node.parent;
        }
        CellPlace { row, cell, columns: spanned.clamp(1, MAX_SPAN) }
    }

    /// Number of cells that start between two positions of a row.
    fn cells_between(&self, from: u32, to: u32) -> usize {
        let row = self.tree.nodes[to as usize].parent;
        let mut at = if from == row { from + 1 } else { self.tree.nodes[from as usize].end };
        let mut cells = 0;
        while at < to {
            let node = self.tree.nodes[at as usize];
            cells += usize::from(matches!(node.name, Some(Name::Td | Name::Th)));
            at = node.end;
        }
        cells
    }

    /// Writes lines inside their containers, given innermost first.
    fn write(&mut self, text: &str, around: &[u32]) {
        if text.is_empty() {
            return;
        }
        let mut markers = Vec::new();
        let mut open: Vec<Container> = Vec::new();
        for number in around.iter().rev() {
            let known =
                self.open.get(open.len()).filter(|known| known.number == *number && markers.is_empty()).copied();
            let container = known.unwrap_or_else(|| {
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

/// Whether this is a data table: rows with several short cells, and no large content.
fn is_data(tree: &Tree, table: u32, blocks: &[Block]) -> bool {
    let mut cells = 0;
    let mut rows = 0;
    for number in table + 1..tree.nodes[table as usize].end {
        match tree.nodes[number as usize].name {
            Some(Name::Table | Name::Pre | Name::H1 | Name::H2 | Name::Blockquote) => return false,
            Some(Name::Tr) => rows += 1,
            Some(Name::Td | Name::Th) => cells += 1,
            _ => {}
        }
    }
    cells > rows && rows > 1 && blocks.len() <= cells * 3 && blocks.iter().all(|block| block.chars <= MAX_CELL)
}

/// The programming language from classes around code: `language-rust`, `lang-rust`, `highlight-source-rust`.
fn language(tree: &Tree, pre: u32, blocks: &[Block]) -> String {
    let first = blocks.first().map_or(pre, |block| tree.nodes[block.first as usize].parent);
    let outer = tree.nodes[pre as usize].parent;
    for number in [pre, first, outer] {
        let class = tree.attribute(number, "class").unwrap_or_default();
        let named = class.split_whitespace().find_map(|word| {
            ["language-", "lang-", "highlight-source-", "brush:"].iter().find_map(|begin| word.strip_prefix(begin))
        });
        let is_plain =
            |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-#._".contains(&b));
        if let Some(name) = named.filter(is_plain) {
            return name.to_owned();
        }
    }
    String::new()
}
