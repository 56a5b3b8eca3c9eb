//! What a format demands of a page and its archive does not hold: filled in, and counted, so that it can be said.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::inputs::{ArchiveInput, InputKind};
use super::read::Page;
use crate::formats::Format;
use crate::formats::held::Field;
use crate::page::EpochMs;

/// What was filled in, and in how many pages of which format.
pub type Filled = BTreeMap<(Format, Filling), u64>;

/// What stands in the place of what nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Filling {
    /// The URL asked for: the final one.
    Url,
    /// The final URL: the one asked for.
    FinalUrl,
    /// 200 OK.
    Status,
    /// The time of the fetch: when the archive's file was changed last; of a topic, now.
    Fetched,
    /// By the media type, as of a crawl without a classifier.
    Relevance,
}

impl Filling {
    const ALL: [(Field, Filling); 5] = [
        (Field::Url, Filling::Url),
        (Field::FinalUrl, Filling::FinalUrl),
        (Field::Status, Filling::Status),
        (Field::Fetched, Filling::Fetched),
        (Field::Relevance, Filling::Relevance),
    ];
}

impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Filling::Url => "requested URL (the final one)",
            Filling::FinalUrl => "final URL (the requested one)",
            Filling::Status => "status (200 OK)",
            Filling::Fetched => "time of the fetch (when its file was last changed)",
            Filling::Relevance => "relevance (1 for HTML, else 0)",
        })
    }
}

/// Whether a page has what a format cannot do without and nobody can fill in: its content.
pub(super) fn has_content_for(page: &Page, to: Format) -> bool {
    !(to.demands(Field::Body) && page.lacks.has(Field::Body))
}

/// Fills in what `to` demands and the page lacks. `changed_ms`: of the part that the page is in.
pub fn fill(page: &mut Page, to: Format, changed_ms: EpochMs, filled: &mut Filled) {
    for (field, filling) in Filling::ALL {
        if to.demands(field) && page.lacks.has(field) {
            *filled.entry((page.format, filling)).or_default() += 1;
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
    let mut text = String::new();
    for ((from, filling), pages) in filled {
        text += &format!("filled in, because {to} demands it: the {filling} of {pages} pages of {from}\n");
    }
    text
}
