//! The whole text of a page, boilerplate included, in one pass without a tree: line by line, with the share that is in
//! links.

use std::ops::ControlFlow;

use super::elements::Tag;
use super::markup::{Markup, Piece};
use super::reader::Action;

/// Longer lines are cut; no text for people has such lines.
const MAX_LINE_BYTES: usize = 1 << 16;

/// Calls `take` with each text between two tags that break lines, and the number of its bytes in links. Stops if `take`
/// says so. Scripts, styles and the title are skipped.
pub fn each_line(page: &str, mut take: impl FnMut(&str, usize) -> ControlFlow<()>) {
    let mut line = String::new();
    let (mut linked, mut is_linked, mut is_unseen) = (0, false, false);
    for piece in Markup::new(page) {
        let (name, is_start) = match piece {
            Piece::Start { name, .. } => (name, true),
            Piece::End { name } => (name, false),
            Piece::Text(text) if !is_unseen && line.len() < MAX_LINE_BYTES => {
                line.push_str(text);
                linked += if is_linked { text.len() } else { 0 };
                continue;
            }
            Piece::Character(character) if !is_unseen && line.len() < MAX_LINE_BYTES => {
                line.push(character);
                continue;
            }
            Piece::Text(_) | Piece::Character(_) | Piece::Aside => continue,
        };
        let tag = Tag::of(name.as_bytes());
        // Their content is one piece, so the next tag of any kind ends it.
        is_unseen = is_start && matches!(tag, Tag::Script | Tag::Style | Tag::Title);
        match Action::of(tag) {
            Action::Inline => {}
            Action::Blank => line.push(' '),
            Action::Link => {
                line.push(' ');
                is_linked = is_start;
            }
            Action::Ignore | Action::Body | Action::Break => {
                if !line.is_empty() && take(&line, linked).is_break() {
                    return;
                }
                line.clear();
                linked = 0;
            }
        }
    }
    if !line.is_empty() {
        let _ = take(&line, linked);
    }
}
