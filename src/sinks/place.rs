//! Where a page is at a destination, for people: asked of the destination itself, near where the sink noted that it went.
//! Answers take as long as the destination does; whoever asks waits no longer than he likes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::place_notes::{self, NotedPlace, Span};
use super::{elasticsearch, kafka_place, rolling};
use crate::config::{Destination, SinkConfig};
use crate::formats::Format;
use crate::formats::filesystem;
use crate::formats::pagestore::{StorePath, UrlHash, day_of};
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

const NOT_NOTED: &str = "where it went is not noted: it was delivered before that was, or too long ago";

/// `folder`: the sink's own. `patience`: what is waited for each answer.
pub fn find(
    config: &SinkConfig,
    folder: &Path,
    page: &SoughtPage,
    patience: Duration,
) -> Result<Option<PagePlace>, NotTold> {
    match &config.destination {
        Destination::Kafka(kafka) => kafka_place::find(kafka, folder, page, patience).map(Some),
        Destination::Elasticsearch(elastic) => elasticsearch::find(elastic, &page.url, patience).map(Some),
        Destination::Files { .. } => in_files(config, folder, page).map(Some),
        Destination::Filesystem(naming) => {
            let (host, name) = filesystem::path_of(&page.url, naming.hash_file_name)
                .map_err(|error| NotTold(format!("it has no file: {error}")))?;
            there(folder.join(host).join(name)).map(Some)
        }
        Destination::Pagestore { base_folder } => {
            let stored = StorePath::Page { day: day_of(page.fetched_ms), page: UrlHash::written(&page.url) };
            there(base_folder.as_deref().unwrap_or(folder).join(stored.path())).map(Some)
        }
        Destination::Stdout | Destination::Void => Ok(None),
    }
}

fn in_files(config: &SinkConfig, folder: &Path, page: &SoughtPage) -> Result<PagePlace, NotTold> {
    let Span { from, to, place: NotedPlace::File { name, page: first, start } } = noted(folder, page)? else {
        return Err(NotTold(NOT_NOTED.to_owned()));
    };
    let done = folder.join(&name);
    let file = if done.exists() { done } else { folder.join(name + rolling::OPEN) };
    let start = Some(start).filter(|_| !config.format.is_some_and(Format::is_stream));
    Ok(PagePlace::Among(Pages { file, first, start, count: to - from + 1 }))
}

/// The events around that of the page, and where they went.
pub(super) fn noted(folder: &Path, page: &SoughtPage) -> Result<Span, NotTold> {
    let span = place_notes::find(folder, page.event);
    let span = span.map_err(|error| NotTold(format!("the sink's notes cannot be read: {error}")))?;
    span.ok_or_else(|| NotTold(NOT_NOTED.to_owned()))
}

fn there(path: PathBuf) -> Result<PagePlace, NotTold> {
    match path.try_exists() {
        Ok(true) => Ok(PagePlace::File(path)),
        Ok(false) => Err(NotTold(format!("{} is not there: it was moved or removed", path.display()))),
        Err(error) => Err(NotTold(format!("{}: {error}", path.display()))),
    }
}
