//! The PAGESTORE sink: pages by day, and feeds with their new articles.
//!
//! A page is an article if a feed announced it before it was first stored. It is then stored once, in the folder of
//! that feed and of the day when the feed was scanned. Every other page is stored in the folder of the day of its
//! fetch.

mod index;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use seine_delivery::Entry;
use seine_formats::files::stores_event;
use seine_formats::layout::whole_lines;
use seine_formats::pagestore::{Details, MetaEntry, MetaReader, PageKind, StorePath, UrlHash, day_of};
use seine_parse::Derived;
use seine_parse::language::primary_language;
use seine_system::folders::if_there;

use super::folder::{create_folder, file_error};
use super::local::{Disposition, LocalStore};
use super::sink::SinkError;
use super::staging::StagedFiles;

pub use index::FOLDER as INDEX_FOLDER;
use index::{Article, Index};

pub(super) struct Pagestore {
    base: PathBuf,
    index: Index,
    staged: StagedFiles,
    /// Lines to append, by the path of their `META` file in the base folder.
    lines: BTreeMap<String, Vec<u8>>,
}

impl Pagestore {
    /// Creates a missing `base`. Only one process can open it.
    pub(super) fn open(base: &Path, state: &serde_json::Value) -> Result<Pagestore, SinkError> {
        StagedFiles::check_before("pagestore", base, state)?;
        create_folder(base)?;
        Ok(Pagestore {
            base: base.into(),
            index: Index::open(base)?,
            staged: StagedFiles::open(base, "pagestore")?,
            lines: BTreeMap::new(),
        })
    }

    fn store(&mut self, entry: &Entry, derived: &Derived) -> Result<Disposition, SinkError> {
        let page = UrlHash::written(&entry.event.url);
        // In older stores, folders were not named as in META, and a page is known by its original URL.
        let before = Some(UrlHash::of(&entry.event.url)).filter(|before| *before != page);
        let known_before = before.map(|before| self.index.known_id(before)).transpose()?.flatten();
        if known_before.is_none()
            && self.index.known_id(page)?.is_none()
            && let Some(article) = self.index.article(page)?
        {
            return self.store_article(entry, derived, page, article);
        }
        let day = day_of(entry.event.ended_ms);
        let id = self.index.id_of(page, known_before)?;
        let kind = if derived.feed.is_some() { PageKind::Rss } else { PageKind::Url };
        let said = derived.feed.as_ref().map_or(&derived.lang, |feed| &feed.language);
        let language = said.as_deref().and_then(primary_language);
        if kind == PageKind::Rss {
            self.announce(
                derived,
                &Article { feed: page, feed_id: id, day, language: language.clone(), stored: false },
            )?;
        }
        self.write(StorePath::Page { day, page }, derived)?;
        let meta = StorePath::DayMeta { day }.path();
        let was_listed = before.map(|before| self.index.is_listed(&meta, before)).transpose()?.unwrap_or(false);
        if self.index.list(&meta, page)? && !was_listed {
            self.add_line(meta, &entry.event.url, Details { id, kind, language });
        }
        Ok(Disposition::Delivered)
    }

    /// Records the new articles of a feed.
    fn announce(&mut self, derived: &Derived, article: &Article) -> Result<(), SinkError> {
        for link in &derived.links {
            let page = UrlHash::written(&link.url);
            if self.index.known_id(page)?.is_none() && self.index.article(page)?.is_none() {
                self.index.set_article(page, article);
            }
        }
        Ok(())
    }

    fn store_article(
        &mut self,
        entry: &Entry,
        derived: &Derived,
        page: UrlHash,
        article: Article,
    ) -> Result<Disposition, SinkError> {
        if article.stored {
            // A second fetch is not a new article, and its feed was scanned long ago.
            return Ok(Disposition::Skipped);
        }
        let Article { feed, feed_id, day, ref language, .. } = article;
        self.write(StorePath::Article { day, feed, article: page }, derived)?;
        let meta = StorePath::FeedMeta { day, feed }.path();
        if self.index.list(&meta, page)? {
            let details = Details { id: feed_id, kind: PageKind::RssItem, language: language.clone() };
            self.add_line(meta, &entry.event.url, details);
        }
        self.index.set_article(page, &Article { stored: true, ..article });
        Ok(Disposition::Delivered)
    }

    fn write(&mut self, place: StorePath, derived: &Derived) -> Result<(), SinkError> {
        let path = self.base.join(place.path());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| file_error("creating the folder", folder, e))?;
        }
        self.staged.write(path, &derived.body, None)
    }

    fn add_line(&mut self, meta: String, url: &str, details: Details) {
        MetaEntry::new(url, Some(details)).write(self.lines.entry(meta).or_default());
    }

    /// Cuts each `META` file back to its acknowledged length, then appends.
    fn append_lines(&mut self) -> Result<(), SinkError> {
        for (meta, mut lines) in std::mem::take(&mut self.lines) {
            let path = self.base.join(&meta);
            let acknowledged = match self.index.meta_length(&meta)? {
                Some(length) => length,
                None => self.adopt(&meta, &path, &mut lines)?,
            };
            let write = || {
                let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
                let kept = file.metadata()?.len().min(acknowledged);
                file.set_len(kept)?;
                file.write_all(&lines)?;
                Ok(kept)
            };
            let kept = write().map_err(|e| file_error("writing", &path, e))?;
            if kept < acknowledged {
                tracing::error!(path = %path.display(), length = kept, acknowledged,
                    "the list is shorter than its synced content: lines of delivered pages are lost");
            }
            self.index.set_meta_length(&meta, kept + lines.len() as u64);
        }
        Ok(())
    }

    /// Handles a `META` file that the index does not know: written by another program, or by Seine before a crash.
    /// Keeps its complete lines, and does not list the same pages again. Returns their length.
    fn adopt(&mut self, meta: &str, path: &Path, lines: &mut Vec<u8>) -> Result<u64, SinkError> {
        let reading = |e| file_error("reading", path, e);
        let Some(file) = if_there(File::open(path)).map_err(reading)? else { return Ok(0) };
        let length = whole_lines(&mut &file).map_err(reading)?;
        (&file).seek(SeekFrom::Start(0)).map_err(reading)?;
        let mut new: Vec<_> = lines.split_inclusive(|it| *it == b'\n').collect();
        for listed in MetaReader::new((&file).take(length)).flatten() {
            self.index.list(meta, listed.hash)?;
            let hash = listed.hash.to_string();
            new.retain(|line| !line.starts_with(hash.as_bytes()));
        }
        *lines = new.concat();
        Ok(length)
    }
}

/// For programs that are about to rewrite the `META` files. The next delivery takes each file as it then is, and does
/// not cut it to its old length. Fails while a sink has the store open.
pub(crate) fn forget_lists(base: &Path) -> Result<(), SinkError> {
    if base.join(INDEX_FOLDER).is_dir() { Index::open(base)?.forget_meta_lengths() } else { Ok(()) }
}

impl LocalStore for Pagestore {
    fn put(&mut self, entry: &Entry) -> Result<Disposition, SinkError> {
        if stores_event(&entry.event) { self.store(entry, &entry.facts()) } else { Ok(Disposition::Skipped) }
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        self.staged.publish()?;
        self.append_lines()?;
        self.staged.sync()?;
        self.index.commit()?;
        Ok(StagedFiles::state())
    }
}
