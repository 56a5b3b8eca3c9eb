//! Types for finding a page at a destination.

use std::path::{Path, PathBuf};

use seine_parse::page::EpochMs;

use super::location_notes::{self, Span};

/// The page to find.
#[derive(Debug, Clone)]
pub(crate) struct SoughtPage {
    pub url: String,
    pub fetched_ms: EpochMs,
    /// Index of the page's event in the log, and its id if known.
    pub event: u64,
    pub event_id: Option<String>,
}

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageLocation {
    Message { topic: String, partition: i32, offset: i64 },
    Document { index: String, id: String, version: i64 },
    Among(Pages),
    File(PathBuf),
}

/// A range of pages in a file; one of them is the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pages {
    pub file: PathBuf,
    /// The first page of the range, from 1 …
    pub first: u64,
    /// … and its offset in bytes; none for a compressed stream, which must be read from its beginning.
    pub start: Option<u64>,
    pub count: u64,
}

/// Why the place of a page is unknown.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LocationUnknown(pub String);

pub(super) const NOT_RECORDED: &str =
    "its place was not recorded: it was delivered too long ago, or by an older version";

/// The span of events around the page's event, from the sink's notes.
pub(super) fn recorded_span(folder: &Path, page: &SoughtPage) -> Result<Span, LocationUnknown> {
    let span = location_notes::find(folder, page.event);
    let span = span.map_err(|error| LocationUnknown(format!("the sink's notes cannot be read: {error}")))?;
    span.ok_or_else(|| LocationUnknown(NOT_RECORDED.to_owned()))
}
