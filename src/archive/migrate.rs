//! Migrates old pagestores. Their `META` lines get the ids, kinds and languages that Bayes-Swarm's revision 367 added
//! (“PageStore” in its wiki, “Historical Notes and Migrations”). `contents.html` never changes, nor do the lists of old
//! feeds, as documented there.
//!
//! The values come from the user's table, or else from the page's folder. Each `META` file is written under another
//! name and then renamed. So an interrupted migration can simply be repeated.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use seine_formats::pagestore::{
    self, CONTENTS, Details, MAX_LINE, META, MetaEntry, MetaError, MetaReader, PageKind, UrlHash,
};
use seine_parse::language::primary_language;
use seine_parse::page::{Outcome, PageEvent};
use seine_parse::{DeriveOptions, derive};
use time::Date;
use walkdir::WalkDir;

use crate::sinks::whole_file::WholeFile;
use crate::sinks::{SinkError, pagestore as pagestore_sink};

/// Bytes of a page that are read to detect its kind and language.
const MAX_READ: u64 = 256 << 10;

/// Known pages: URL hash → id, kind, language.
pub type DetailsTable = HashMap<UrlHash, Details>;

/// Counts of a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migrated {
    /// `META` files read, and how many of them were rewritten.
    pub lists: u64,
    pub rewritten: u64,
    /// Lines that were complete already, and lines completed from the table or by reading the page.
    pub kept: u64,
    pub from_table: u64,
    pub by_reading: u64,
    /// Lines that could not be parsed; they stay unchanged.
    pub unreadable: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    #[error("{}: {source}; name the base folder of a pagestore, with the folders of the years in it", path.display())]
    Base { path: PathBuf, source: std::io::Error },
    #[error("{} holds no pagestore: no <yyyy>/<mm>/<dd>/META below it", .0.display())]
    NoStore(PathBuf),
    #[error("{}: {source}; nothing was lost: make it readable and writable, then run this again", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{} has a line of more than {MAX_LINE} bytes: is it a META? Repair or remove it, then run this again", .0.display())]
    LongLine(PathBuf),
    #[error("{}, line {line}: expected `url id kind language`, kind being url or rss", path.display())]
    DetailsTable { path: PathBuf, line: u64 },
    #[error(transparent)]
    Index(#[from] SinkError),
}

/// Reads a table with one page per line: `url id kind language`. Skips empty lines and lines that begin with `#`.
pub fn read_table(path: &Path) -> Result<DetailsTable, MigrateError> {
    let at = |source| MigrateError::File { path: path.into(), source };
    let mut table = DetailsTable::new();
    for (index, line) in BufReader::new(File::open(path).map_err(at)?).lines().enumerate() {
        let line = line.map_err(at)?;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let url_first = format!("{} {}", UrlHash::of(""), line.trim());
        let entry = MetaEntry::parse(&url_first).filter(|it| it.details.is_some());
        let wrong = MigrateError::DetailsTable { path: path.into(), line: index as u64 + 1 };
        let MetaEntry { url, details: Some(details), .. } = entry.ok_or(wrong)? else { continue };
        table.insert(UrlHash::of(&url), details);
    }
    Ok(table)
}

/// Migrates every `META` file of the store. Calls `tell` with the path of each finished file. Uses about 50 bytes of
/// memory per URL.
pub fn migrate(base: &Path, table: &DetailsTable, mut tell: impl FnMut(&Path)) -> Result<Migrated, MigrateError> {
    let days = days(base)?;
    if days.is_empty() {
        return Err(MigrateError::NoStore(base.into()));
    }
    let mut ids = Ids::new(table);
    for (_, folder) in &days {
        each_line(&folder.join(META), |_, entry| {
            entry.iter().for_each(|it| ids.learn(it));
            Ok(())
        })?;
    }
    pagestore_sink::forget_lists(base)?;
    let mut done = Migrated::default();
    for (_, folder) in &days {
        migrate_day(folder, table, &mut ids, &mut done)?;
        tell(&folder.join(META));
    }
    Ok(done)
}

/// The ids in use, and the next free one.
struct Ids {
    known: HashMap<UrlHash, u64>,
    next: u64,
}

impl Ids {
    fn new(table: &DetailsTable) -> Ids {
        let known: HashMap<_, _> = table.iter().map(|(page, details)| (*page, details.id)).collect();
        let next = known.values().max().map_or(1, |last| last + 1);
        Ids { known, next }
    }

    fn learn(&mut self, entry: &MetaEntry) {
        if let Some(details) = &entry.details {
            self.known.entry(entry.hash).or_insert(details.id);
            self.next = self.next.max(details.id + 1);
        }
    }

    fn of(&mut self, page: UrlHash) -> u64 {
        *self.known.entry(page).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

/// The folders of days with a list, oldest first.
fn days(base: &Path) -> Result<Vec<(Date, PathBuf)>, MigrateError> {
    let mut found = Vec::new();
    for entry in WalkDir::new(base).min_depth(3).max_depth(3) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(base).into();
            let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("a loop of links"));
            MigrateError::Base { path, source }
        })?;
        let mut names = entry.path().iter().rev().take(3).map(|name| name.to_str().unwrap_or_default());
        if let (Some(day), Some(month), Some(year)) = (names.next(), names.next(), names.next())
            && let Some(date) = pagestore::day(year, month, day)
            && entry.file_type().is_dir()
            && entry.path().join(META).is_file()
        {
            found.push((date, entry.into_path()));
        }
    }
    found.sort();
    Ok(found)
}

fn migrate_day(folder: &Path, table: &DetailsTable, ids: &mut Ids, done: &mut Migrated) -> Result<(), MigrateError> {
    let mut feeds = Vec::new();
    enrich(&folder.join(META), done, |entry, done| {
        let page = folder.join(entry.hash.to_string());
        let details = match (&entry.details, table.get(&entry.hash)) {
            (Some(details), _) => details.clone(),
            (None, Some(details)) => {
                done.from_table += 1;
                details.clone()
            }
            (None, None) => {
                done.by_reading += 1;
                details_of(&entry.url, &page, ids.of(entry.hash))
            }
        };
        if page.join(META).is_file() {
            feeds.push((page.join(META), details.id, details.language.clone()));
        }
        details
    })?;
    for (list, id, language) in feeds {
        enrich(&list, done, |entry, done| {
            entry.details.clone().unwrap_or_else(|| {
                done.by_reading += 1;
                Details { id, kind: PageKind::RssItem, language: language.clone() }
            })
        })?;
    }
    Ok(())
}

/// Rewrites a list, adding what its lines lack (from `details_of`). A complete list is left unchanged.
fn enrich(
    list: &Path,
    done: &mut Migrated,
    mut details_of: impl FnMut(&MetaEntry, &mut Migrated) -> Details,
) -> Result<(), MigrateError> {
    let failed = |source| MigrateError::File { path: list.into(), source };
    let mut out = WholeFile::create(list, None).map_err(failed)?;
    let mut is_lacking = false;
    each_line(list, |raw, entry| {
        let Some(mut entry) = entry else {
            done.unreadable.push(format!("{}: {}", list.display(), String::from_utf8_lossy(raw).trim_end()));
            return out.write_all(raw);
        };
        let details = details_of(&entry, done);
        if entry.details.replace(details).is_some() {
            done.kept += 1;
            return out.write_all(raw);
        }
        is_lacking = true;
        let mut new = Vec::new();
        entry.write(&mut new);
        out.write_all(&new)
    })?;
    done.lists += 1;
    if !is_lacking {
        return Ok(());
    }
    done.rewritten += 1;
    out.finish().map_err(failed)
}

/// Calls `take` for each line that is not blank, including its line feed, with its parsed content; none if it cannot be
/// parsed.
fn each_line(
    list: &Path,
    mut take: impl FnMut(&[u8], Option<MetaEntry>) -> std::io::Result<()>,
) -> Result<(), MigrateError> {
    let failed = |source| MigrateError::File { path: list.into(), source };
    let mut lines = MetaReader::new(File::open(list).map_err(failed)?);
    while let Some(entry) = lines.next() {
        let entry = match entry {
            Err(MetaError::Io { source, .. }) => return Err(failed(source)),
            Err(MetaError::TooLong { .. }) => return Err(MigrateError::LongLine(list.into())),
            Err(MetaError::Line { .. }) => None,
            Ok(entry) => Some(entry),
        };
        let mut line = lines.line().to_vec();
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        take(&line, entry).map_err(failed)?;
    }
    Ok(())
}

/// Detects from its folder what a page is: a feed has a list of its own, or its content is a feed.
fn details_of(url: &str, folder: &Path, id: u64) -> Details {
    let mut body = Vec::new();
    // If the content is missing, the line is still kept.
    let _ = File::open(folder.join(CONTENTS)).and_then(|file| file.take(MAX_READ).read_to_end(&mut body));
    let mut event = PageEvent::empty(url);
    if let Outcome::Response(response) = &mut event.outcome {
        response.body = body.into();
    }
    let options = DeriveOptions { max_decoded_bytes: MAX_READ, ..DeriveOptions::default() };
    let derived = derive(&event, &options);
    let is_feed = derived.feed.is_some() || folder.join(META).is_file();
    let said = derived.feed.map_or(derived.lang, |feed| feed.language);
    Details {
        id,
        kind: if is_feed { PageKind::Rss } else { PageKind::Url },
        language: said.as_deref().and_then(primary_language),
    }
}
