//! What a format demands of a page and its archive does not hold: filled in, and counted, so that it can be said.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::inputs::{ArchiveInput, InputKind};
use super::read::Page;
use crate::formats::Format;
use crate::formats::held::Field;
use crate::page::EpochMs;

/// What was filled in, and in how many pages of which format.
pub type Filled = BTreeMap<(Format, Field), u64>;

/// What can be filled in, and with what: the other URL, how most answers go, when the archive's file was changed last (of a
/// topic, now), and the relevance of a crawl without a classifier.
const FILLINGS: [(Field, &str); 5] = [
    (Field::Url, "the final one"),
    (Field::FinalUrl, "the requested one"),
    (Field::Status, "200 OK"),
    (Field::Fetched, "when its file was last changed"),
    (Field::Relevance, "1 for HTML, else 0"),
];

/// Whether a page has what a format cannot do without and nobody can fill in: its content.
pub(super) fn has_content_for(page: &Page, to: Format) -> bool {
    !(to.demands(Field::Body) && page.lacks.has(Field::Body))
}

/// Fills in what `to` demands and the page lacks. `changed_ms`: of the part that the page is in.
pub fn fill(page: &mut Page, to: Format, changed_ms: EpochMs, filled: &mut Filled) {
    for (field, _) in FILLINGS {
        if to.demands(field) && page.lacks.has(field) {
            *filled.entry((page.format, field)).or_default() += 1;
        }
    }
    // Everything else stands in the event already.
    if to.demands(Field::Fetched) && page.lacks.has(Field::Fetched) {
        (page.event.started_ms, page.event.ended_ms) = (changed_ms, changed_ms);
    }
}

/// When a part was changed last.
pub(super) fn changed_ms(input: &ArchiveInput) -> EpochMs {
    let changed = match &input.input {
        InputKind::File { path, .. } => std::fs::metadata(path).and_then(|it| it.modified()).ok(),
        InputKind::Topic(_) => None,
    };
    let since = changed.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH).unwrap_or_default();
    EpochMs::try_from(since.as_millis()).unwrap_or(EpochMs::MAX)
}

/// In sentences, one a line: what of which pages was filled in.
pub fn text(filled: &Filled, to: &str) -> String {
    let with = |field| FILLINGS.iter().find(|(it, _)| *it == field).map_or("", |(_, with)| with);
    let line = |(&(from, field), pages): (&(Format, Field), &u64)| {
        format!("filled in, because {to} demands it: the {field} ({}) of {pages} pages of {from}\n", with(field))
    };
    filled.iter().map(line).collect()
}
