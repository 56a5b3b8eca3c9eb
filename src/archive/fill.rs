//! Fills in fields that a format demands and the source archive does not have. Counts them, so that the user is told.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use seine_formats::Format;
use seine_formats::stored_fields::Field;
use seine_parse::page::EpochMs;

use super::inputs::{ArchiveInput, InputKind};
use super::read::Page;

/// How many pages of each format got which field filled in.
pub(crate) type Filled = BTreeMap<(Format, Field), u64>;

/// The fields that can be filled in, and their values. The time is the modification time of the archive's file, or for a
/// topic the present time. The relevance is that without a classifier.
const FILLINGS: [(Field, &str); 5] = [
    (Field::Url, "the final one"),
    (Field::FinalUrl, "the requested one"),
    (Field::Status, "200 OK"),
    (Field::Fetched, "when its file was last changed"),
    (Field::Relevance, "1 for HTML, else 0"),
];

/// Whether a page has what a format needs and nobody can fill in: its content.
pub(super) fn has_content_for(page: &Page, to: Format) -> bool {
    !(to.demands(Field::Body) && page.lacks.has(Field::Body))
}

/// Fills in what `to` demands and the page lacks. `changed_ms`: modification time of the page's file.
pub(crate) fn fill(page: &mut Page, to: Format, changed_ms: EpochMs, filled: &mut Filled) {
    for (field, _) in FILLINGS {
        if to.demands(field) && page.lacks.has(field) {
            *filled.entry((page.format, field)).or_default() += 1;
        }
    }
    // Other fields already have suitable values in the event.
    if to.demands(Field::Fetched) && page.lacks.has(Field::Fetched) {
        (page.event.started_ms, page.event.ended_ms) = (changed_ms, changed_ms);
    }
}

/// Modification time of an input.
pub(super) fn changed_ms(input: &ArchiveInput) -> EpochMs {
    let changed = match &input.input {
        InputKind::File { path, .. } => std::fs::metadata(path).and_then(|it| it.modified()).ok(),
        InputKind::Topic(_) => None,
    };
    let since = changed.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH).unwrap_or_default();
    EpochMs::try_from(since.as_millis()).unwrap_or(EpochMs::MAX)
}

/// Sentences for people, one per line: what was filled in, for how many pages.
pub(crate) fn text(filled: &Filled, to: &str) -> String {
    let with = |field| FILLINGS.iter().find(|(it, _)| *it == field).map_or("", |(_, with)| with);
    let line = |(&(from, field), pages): (&(Format, Field), &u64)| {
        format!("filled in, because {to} demands it: the {field} ({}) of {pages} pages of {from}\n", with(field))
    };
    filled.iter().map(line).collect()
}
