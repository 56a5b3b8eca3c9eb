//! Finds a page at a destination, for people. Asks the destination itself, near the place in the sink's notes. An
//! answer may take long, so callers must set a limit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use seine_formats::Format;
use seine_formats::filesystem;
use seine_formats::pagestore::{StorePath, UrlHash, day_of};

use super::page_place::{NOT_NOTED, NotTold, PagePlace, Pages, SoughtPage, noted};
use super::place_notes::{NotedPlace, Span};
use super::{elasticsearch, kafka_place, rolling};
use crate::config::{Destination, SinkConfig};

/// `folder` is the sink's own. `patience`: how long to wait for each answer.
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

fn there(path: PathBuf) -> Result<PagePlace, NotTold> {
    match path.try_exists() {
        Ok(true) => Ok(PagePlace::File(path)),
        Ok(false) => Err(NotTold(format!("{} is not there: it was moved or removed", path.display()))),
        Err(error) => Err(NotTold(format!("{}: {error}", path.display()))),
    }
}
