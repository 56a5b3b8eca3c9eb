//! Which page is looked for at a destination, and what is told of where it is.

use std::path::{Path, PathBuf};

use super::place_notes::{self, Span};
use crate::page::EpochMs;

/// A page that is looked for.
#[derive(Debug, Clone)]
pub struct SoughtPage {
    pub url: String,
    pub fetched_ms: EpochMs,
    /// The number in the log of the event that brought it, and its id, where that is known.
    pub event: u64,
    pub event_id: Option<String>,
}

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagePlace {
    Message { topic: String, partition: i32, offset: i64 },
    Document { index: String, id: String, version: i64 },
    Among(Pages),
    File(PathBuf),
}

/// Pages of a file of many, one of them the one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    pub file: PathBuf,
    /// The first of them, from 1 …
    pub first: u64,
    /// … and where that begins, in bytes; none in a stream, which is read from its beginning.
    pub start: Option<u64>,
    pub count: u64,
}

/// What cannot be told, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotTold(pub String);

pub(super) const NOT_NOTED: &str = "where it went is not noted: it was delivered before that was, or too long ago";

/// The events around that of the page, and where they went.
pub(super) fn noted(folder: &Path, page: &SoughtPage) -> Result<Span, NotTold> {
    let span = place_notes::find(folder, page.event);
    let span = span.map_err(|error| NotTold(format!("the sink's notes cannot be read: {error}")))?;
    span.ok_or_else(|| NotTold(NOT_NOTED.to_owned()))
}
