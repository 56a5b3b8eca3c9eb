//! Finds a page in files.

use std::path::{Path, PathBuf};

use seine_formats::Format;
use seine_formats::pagestore::{StorePath, UrlHash, day_of};

use super::location_notes::{RecordedLocation, Span};
use super::page_location::{LocationUnknown, NOT_RECORDED, PageLocation, Pages, SoughtPage, recorded_span};
use super::rolling;
use crate::config::SinkConfig;

/// In rolling files. `folder` is the sink's own.
pub(super) fn in_files(config: &SinkConfig, folder: &Path, page: &SoughtPage) -> Result<PageLocation, LocationUnknown> {
    let Span { from, to, location: RecordedLocation::File { name, page: first, start } } = recorded_span(folder, page)?
    else {
        return Err(LocationUnknown(NOT_RECORDED.to_owned()));
    };
    let done = folder.join(&name);
    let file = if done.exists() { done } else { folder.join(name + rolling::OPEN) };
    let start = Some(start).filter(|_| !config.format.is_some_and(Format::is_stream));
    Ok(PageLocation::Among(Pages { file, first, start, count: to - from + 1 }))
}

/// In a page store: its path below the base folder.
pub(super) fn in_pagestore(page: &SoughtPage) -> PathBuf {
    StorePath::Page { day: day_of(page.fetched_ms), page: UrlHash::written(&page.url) }.path().into()
}

pub(super) fn existing(path: PathBuf) -> Result<PageLocation, LocationUnknown> {
    match path.try_exists() {
        Ok(true) => Ok(PageLocation::File(path)),
        Ok(false) => Err(LocationUnknown(format!("{} is not there: it was moved or removed", path.display()))),
        Err(error) => Err(LocationUnknown(format!("{}: {error}", path.display()))),
    }
}
