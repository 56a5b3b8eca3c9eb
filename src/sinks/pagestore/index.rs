//! The index of a pagestore, with what the folders do not show: ids of pages, articles of feeds, lengths of `META`
//! files, and their pages.

use std::collections::HashMap;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use seine_formats::pagestore::{UrlHash, day, day_path};
use seine_system::folders;
use time::Date;

use crate::sinks::sink::SinkError;

/// In the store's base folder; no year has this name.
pub const FOLDER: &str = "~index";

/// One small table in an embedded store. Changes are collected in a batch and committed together.
pub(super) struct Index {
    database: Database,
    table: Keyspace,
    batch: OwnedWriteBatch,
    /// Changes in the batch, so that they can be read before the commit.
    changed: HashMap<Vec<u8>, Vec<u8>>,
}

/// An article that a feed announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Article {
    pub feed: UrlHash,
    pub feed_id: u64,
    /// The day when the feed was scanned.
    pub day: Date,
    /// The feed's language.
    pub language: Option<String>,
    /// Whether the article is stored.
    pub stored: bool,
}

const NEXT_ID: &[u8] = b"next id";

impl Index {
    /// `base` is the store's folder and must exist.
    pub(super) fn open(base: &Path) -> Result<Index, SinkError> {
        let place = base.join(FOLDER);
        if !place.try_exists().map_err(failed)? {
            // fjall cannot open a folder that it was creating when interrupted.
            let draft = folders::draft(&place).map_err(failed)?;
            let (database, _) = open_table(&draft)?;
            database.persist(PersistMode::SyncAll).map_err(failed)?;
            drop(database);
            folders::settle(&draft, &place).map_err(failed)?;
        }
        let (database, table) = open_table(&place)?;
        let batch = new_batch(&database);
        Ok(Index { database, table, batch, changed: HashMap::new() })
    }

    /// The id of a page: a number from 1 that never changes. `before`: its id under its former hash.
    pub(super) fn id_of(&mut self, page: UrlHash, before: Option<u64>) -> Result<u64, SinkError> {
        if let Some(id) = self.known_id(page)? {
            return Ok(id);
        }
        if let Some(id) = before {
            self.put(key("id", &page.to_string()), id.to_be_bytes().to_vec());
            return Ok(id);
        }
        let next = self.number(NEXT_ID)?.unwrap_or(1);
        self.put(key("id", &page.to_string()), next.to_be_bytes().to_vec());
        self.put(NEXT_ID.to_vec(), (next + 1).to_be_bytes().to_vec());
        Ok(next)
    }

    /// The id of a page that was stored before.
    pub(super) fn known_id(&self, page: UrlHash) -> Result<Option<u64>, SinkError> {
        self.number(&key("id", &page.to_string()))
    }

    pub(super) fn article(&self, page: UrlHash) -> Result<Option<Article>, SinkError> {
        let bytes = self.get(&key("article", &page.to_string()))?;
        // An unreadable record counts as none: the page is then stored as an ordinary page.
        Ok(bytes.and_then(|bytes| read_article(std::str::from_utf8(&bytes).ok()?)))
    }

    pub(super) fn set_article(&mut self, page: UrlHash, article: &Article) {
        self.put(key("article", &page.to_string()), write_article(article).into_bytes());
    }

    /// The acknowledged length of a `META` file; none if it was never written. `path` is relative to the base folder.
    pub(super) fn meta_length(&self, path: &str) -> Result<Option<u64>, SinkError> {
        self.number(&key("length", path))
    }

    pub(super) fn set_meta_length(&mut self, path: &str, length: u64) {
        self.put(key("length", path), length.to_be_bytes().to_vec());
    }

    /// Forgets the lengths of all `META` files.
    pub(super) fn forget_meta_lengths(&mut self) -> Result<(), SinkError> {
        let mut batch = new_batch(&self.database);
        for entry in self.table.prefix(key("length", "")) {
            batch.remove(&self.table, entry.key().map_err(failed)?);
        }
        batch.commit().map_err(failed)
    }

    /// Records that a `META` file lists a page. Returns false if it did before.
    pub(super) fn list(&mut self, path: &str, page: UrlHash) -> Result<bool, SinkError> {
        let is_new = !self.is_listed(path, page)?;
        if is_new {
            self.put(listed(path, page), Vec::new());
        }
        Ok(is_new)
    }

    /// Whether a `META` file lists a page.
    pub(super) fn is_listed(&self, path: &str, page: UrlHash) -> Result<bool, SinkError> {
        Ok(self.get(&listed(path, page))?.is_some())
    }

    /// Makes all changes durable.
    pub(super) fn commit(&mut self) -> Result<(), SinkError> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.batch, new_batch(&self.database));
        batch.commit().map_err(failed)?;
        self.changed.clear();
        Ok(())
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.batch.insert(&self.table, key.as_slice(), value.as_slice());
        self.changed.insert(key, value);
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, SinkError> {
        match self.changed.get(key) {
            Some(value) => Ok(Some(value.clone())),
            None => Ok(self.table.get(key).map_err(failed)?.map(|bytes| bytes.to_vec())),
        }
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>, SinkError> {
        Ok(self.get(key)?.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))))
    }
}

/// `<feed> <feed's id> <day> <1 if stored, else 0> <language>`
fn write_article(article: &Article) -> String {
    let Article { feed, feed_id, day, language, stored } = article;
    let language = language.as_deref().unwrap_or_default();
    format!("{feed} {feed_id} {} {} {language}", day_path(*day), u8::from(*stored))
}

fn read_article(text: &str) -> Option<Article> {
    let mut words = text.split(' ');
    let feed = UrlHash::parse(words.next()?)?;
    let feed_id = words.next()?.parse().ok()?;
    let mut date = words.next()?.split('/');
    let day = day(date.next()?, date.next()?, date.next()?)?;
    let stored = words.next()? == "1";
    let language = words.next().filter(|it| !it.is_empty()).map(str::to_owned);
    Some(Article { feed, feed_id, day, language, stored })
}

fn listed(path: &str, page: UrlHash) -> Vec<u8> {
    key("listed", &format!("{path} {page}"))
}

fn key(kind: &str, name: &str) -> Vec<u8> {
    [kind.as_bytes(), b" ", name.as_bytes()].concat()
}

fn new_batch(database: &Database) -> OwnedWriteBatch {
    database.batch().durability(Some(PersistMode::SyncAll))
}

fn open_table(folder: &Path) -> Result<(Database, Keyspace), SinkError> {
    let builder = Database::builder(folder).cache_size(8 << 20).worker_threads(1).max_cached_files(Some(64));
    let database = builder.open().map_err(failed)?;
    let table = database.keyspace("pages", KeyspaceCreateOptions::default).map_err(failed)?;
    Ok((database, table))
}

fn failed(error: impl std::fmt::Display) -> SinkError {
    SinkError::Other {
        sink: "pagestore",
        problem: format!("its index: {error}"),
        remedy: "check the disk; is another process using the same base folder?",
    }
}
