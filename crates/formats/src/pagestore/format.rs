//! The pagestore's row in the table of formats: a `META` file lists pages, and each page has a folder next to it.

use std::path::{Path, PathBuf};

use super::{MetaEntry, MetaReader, PagestoreRecord, StorePath, UrlHash};
use crate::files::{body_alone, stores_event};
use crate::filesystem::one_page::read_limited;
use crate::format::{Files, Format, FormatSpec};
use crate::records::{ArchiveReader, ArchiveRecord, OpenBeside, ReadSeek, ReaderInput};
use crate::recovery::RecoveryMethod;
use crate::sniff::Confidence;
use crate::stored_fields::{Field, Reduction, Stored};
use seine_parse::page::PageEvent;

pub const FORMAT: Format = Format(&FormatSpec {
    name: "PAGESTORE",
    about: "one folder per day; feeds with their new articles",
    schema: "pagestore",
    holds: &[
        (Field::Url, Stored::Complete),
        (Field::Body, Stored::Complete),
        (Field::Fetched, Stored::Partly(Reduction::Day)),
        (Field::OtherTypes, Stored::Complete),
    ],
    demands: &[Field::Url, Field::Fetched, Field::Body],
    // Only the path shows this format, see `meta_path`.
    begins: |_| Confidence::No,
    reader: |input: ReaderInput| {
        let entries = MetaReader::new(input.bytes);
        let store: Box<dyn ArchiveReader> = Box::new(PageList {
            entries,
            place: meta_path(&input.path),
            beside: input.beside,
            path: input.path,
            is_check: input.is_check,
        });
        Ok(store)
    },
    encoder: |_| Box::new(body_alone),
    stores_event: Some(stores_event),
    files: Files::Store,
    recovery: RecoveryMethod::Nothing,
});

/// The kind of list in a `META` file, judged by its last folders; none for other files.
pub fn meta_path(path: &Path) -> Option<StorePath> {
    let names: Vec<&str> = path.components().rev().take(5).map(|it| it.as_os_str().to_str()).collect::<Option<_>>()?;
    let tail = |count: usize| {
        let tail: Vec<&str> = names.get(..count)?.iter().rev().copied().collect();
        StorePath::parse(&tail.join("/"))
    };
    let place = tail(4).or_else(|| tail(5))?;
    matches!(place, StorePath::DayMeta { .. } | StorePath::FeedMeta { .. }).then_some(place)
}

struct PageList {
    entries: MetaReader<Box<dyn ReadSeek>>,
    place: Option<StorePath>,
    beside: OpenBeside,
    /// Path of the `META` file.
    path: PathBuf,
    /// Report lines whose MD5 does not match their URL.
    is_check: bool,
}

impl PageList {
    fn page(&self, entry: MetaEntry) -> Result<PageEvent, String> {
        let Some(StorePath::DayMeta { day } | StorePath::FeedMeta { day, .. }) = self.place else {
            return Err("its folder is not that of a day, as in 2026/11/21/META".into());
        };
        if self.is_check && !entry.has_right_hash() {
            return Err(format!("the MD5 {} is not that of its URL, {}", entry.hash, entry.url));
        }
        let (path, mut file) = self.contents(&entry)?;
        let read = read_limited(&mut *file);
        let contents = read.map_err(|problem| format!("{}: {problem}", path.display()))?;
        Ok(PagestoreRecord { day, entry, contents: contents.into() }.into_event())
    }

    /// Opens the file of a page, at any of the paths where Seine or another program may have put it.
    fn contents(&self, entry: &MetaEntry) -> Result<(PathBuf, Box<dyn ReadSeek>), String> {
        let place = |hash: UrlHash| Path::new(&hash.to_string()).join(super::CONTENTS);
        let whole = |place: &Path| self.path.parent().unwrap_or(Path::new("")).join(place);
        for path in entry.folders().map(place) {
            match (self.beside)(&path) {
                Ok(Some(file)) => return Ok((whole(&path), file)),
                Ok(None) => {}
                Err(problem) => return Err(format!("{}: {problem}", whole(&path).display())),
            }
        }
        Err(format!("{} is listed, but {} does not exist", entry.url, whole(&place(entry.hash)).display()))
    }
}

impl ArchiveReader for PageList {
    fn next(&mut self) -> Option<ArchiveRecord> {
        let page = self.entries.next()?.map_err(|error| error.to_string()).and_then(|entry| self.page(entry));
        Some(page.into())
    }

    fn truncated(&self) -> bool {
        self.entries.truncated()
    }
}
