//! Finds a page in files.

use std::path::{Path, PathBuf};

use seine_formats::Format;
use seine_formats::pagestore::{StorePath, UrlHash, day_of};

use super::page_place::{NOT_NOTED, NotTold, PagePlace, Pages, SoughtPage, noted};
use super::place_notes::{NotedPlace, Span};
use super::rolling;
use crate::config::SinkConfig;

/// In rolling files. `folder` is the sink's own.
pub(super) fn in_files(config: &SinkConfig, folder: &Path, page: &SoughtPage) -> Result<PagePlace, NotTold> {
    let Span { from, to, place: NotedPlace::File { name, page: first, start } } = noted(folder, page)? else {
        return Err(NotTold(NOT_NOTED.to_owned()));
    };
    let done = folder.join(&name);
    let file = if done.exists() { done } else { folder.join(name + rolling::OPEN) };
    let start = Some(start).filter(|_| !config.format.is_some_and(Format::is_stream));
    Ok(PagePlace::Among(Pages { file, first, start, count: to - from + 1 }))
}

/// In a page store: its path below the base folder.
pub(super) fn in_pagestore(page: &SoughtPage) -> PathBuf {
    StorePath::Page { day: day_of(page.fetched_ms), page: UrlHash::written(&page.url) }.path().into()
}

pub(super) fn existing(path: PathBuf) -> Result<PagePlace, NotTold> {
    match path.try_exists() {
        Ok(true) => Ok(PagePlace::File(path)),
        Ok(false) => Err(NotTold(format!("{} is not there: it was moved or removed", path.display()))),
        Err(error) => Err(NotTold(format!("{}: {error}", path.display()))),
    }
}
