//! Writes a data table as Markdown. Markdown has no spans, so the other cells of a span are empty.

use std::collections::HashMap;

use super::blocks::Block;
use super::inline::Inline;
use super::tree::Tree;
use crate::html::names::Name;

/// Largest span of a cell, in columns and in rows.
const MAX_SPAN: usize = 50;
/// Largest number of written cells: this many for each cell of the page, and some more. Spans could ask for any number.
const MAX_FILL: (usize, usize) = (4, 10_000);
/// A table with a cell longer than this is only layout.
const MAX_CELL: u32 = 1000;

/// Row and column of every cell of a data table, counted from 0.
#[derive(Debug, Default)]
pub(super) struct Grid {
    places: HashMap<u32, (usize, usize)>,
    rows: usize,
    columns: usize,
}

/// None: the table is only layout. `blocks`: those in the table.
///
/// A data table has rows with several short cells, and no large content.
pub(super) fn grid(tree: &Tree, table: u32, blocks: &[Block]) -> Option<Grid> {
    let mut grid = Grid::default();
    // For each column, the first row that no cell above it covers.
    let mut free: Vec<usize> = Vec::new();
    let mut column = 0;
    for number in table + 1..tree.nodes[table as usize].end {
        match tree.nodes[number as usize].name {
            Some(Name::Table | Name::Pre | Name::H1 | Name::H2 | Name::Blockquote) => return None,
            Some(Name::Tr) => (grid.rows, column) = (grid.rows + 1, 0),
            Some(Name::Td | Name::Th) => {
                while free.get(column).is_some_and(|free| *free > grid.rows) {
                    column += 1;
                }
                grid.places.insert(number, (grid.rows, column));
                let (columns, rows) = (span(tree, number, "colspan"), span(tree, number, "rowspan"));
                free.resize(free.len().max(column + columns), 0);
                free[column..column + columns].fill(grid.rows + rows);
                column += columns;
            }
            _ => {}
        }
    }
    let (cells, rows) = (grid.places.len(), grid.rows);
    grid.columns = free.len();
    let is_full = grid.columns.saturating_mul(rows) <= MAX_FILL.0 * cells + MAX_FILL.1;
    let has_cells = cells > rows && rows > 1 && blocks.len() <= cells * 3;
    (is_full && has_cells && blocks.iter().all(|block| block.chars <= MAX_CELL)).then_some(grid)
}

fn span(tree: &Tree, cell: u32, name: &str) -> usize {
    let written = tree.attribute(cell, name).and_then(|span| span.trim().parse().ok());
    written.unwrap_or(1).clamp(1, MAX_SPAN)
}

impl Grid {
    /// Row and column of the block's cell; None for text outside of cells, such as a caption.
    pub(super) fn place(&self, tree: &Tree, table: u32, block: &Block) -> Option<(usize, usize)> {
        let mut outermost = None;
        let mut at = block.home;
        while at > table {
            outermost = self.places.get(&at).or(outermost);
            at = tree.nodes[at as usize].parent;
        }
        outermost.copied()
    }

    /// Writes blocks that are in cells. The first row is the heading.
    pub(super) fn write(&self, inline: Inline, table: u32, blocks: &[&Block]) -> String {
        let mut rows: Vec<(usize, Vec<(usize, String)>)> = Vec::new();
        for block in blocks {
            let Some((row, column)) = self.place(inline.tree, table, block) else { continue };
            let text = escape_bars(&inline.block(block, true));
            if rows.last().is_none_or(|(last, _)| *last != row) {
                rows.push((row, Vec::new()));
            }
            let Some((_, cells)) = rows.last_mut() else { continue };
            match cells.last_mut() {
                Some((last, before)) if *last == column => before.extend([" ", &text]),
                _ => cells.push((column, text)),
            }
        }
        let mut out = String::new();
        for (number, (_, cells)) in rows.iter().enumerate() {
            self.row(cells, &mut out);
            if number == 0 {
                out.extend(["|", &" --- |".repeat(self.columns), "\n"]);
            }
        }
        out
    }

    /// Writes the cells of a row, and an empty cell for every other column.
    fn row(&self, cells: &[(usize, String)], out: &mut String) {
        out.push('|');
        let mut at = 0;
        for (column, text) in cells {
            out.extend([&"  |".repeat(column.saturating_sub(at)), " ", text, " |"]);
            at = column + 1;
        }
        out.extend([&"  |".repeat(self.columns.saturating_sub(at)), "\n"]);
    }
}

/// Escapes the bars in code and URLs; those in text are escaped already.
fn escape_bars(cell: &str) -> String {
    let mut escaped = String::with_capacity(cell.len());
    for c in cell.chars() {
        if c == '|' && !escaped.ends_with('\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
