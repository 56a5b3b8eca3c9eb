//! The files of the frontier: a fjall database with its keyspaces, opened safely, with typed reads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use fjall::{Database, Guard, Keyspace, OwnedWriteBatch, PersistMode, Slice};
use locks::Mutex;

use super::buffers::{self, KEYSPACES};
use super::records::{self, QueuedUrl, Source, UrlState};
use crate::keys::{HostKey, Keys, UrlKey, later_key, part, ready_key};
use crate::schedule::{HostRecord, Totals};
use crate::{FrontierError, PageRecord, Robots};
use seine_system::descriptors::Shares;
use seine_system::folders;

/// Stored in every database; another value is another format.
const FORMAT: &str = "seine frontier 1";

/// How often a writer checks whether fjall's worker has caught up.
const AGAIN: Duration = Duration::from_millis(10);

/// A restore writes in order and does not read.
const RESTORING_CACHE: u64 = 16 << 20;

const REMEDY_FOREIGN: &str = "this version of Seine cannot read it: open it with the version that made it, or \
    choose another data folder";
const REMEDY_CORRUPT: &str = "its files are damaged or missing: restore the whole data folder from a backup (seine \
    restore), or begin anew: move this folder and log/ beside it away";
const REMEDY_IO: &str = "check the disk's space, permissions and health, then start again; no accepted event is \
    lost";

/// The keyspaces. `urls`: the queue state of each known URL. `ready`, `later`: the queues. `pages`: records of fetched
/// URLs. `hosts`, `robots`: one record per host. `accounts`: amounts for budgets of the crawl, hosts and domains.
/// `targets`: redirect targets, owners and aliases. `sources`: first links (`changes/sources.rs`). `copies`, `near`:
/// [`super::content_slots`]. `notes`: everything else, with the totals.
pub struct Store {
    dir: PathBuf,
    pub db: Database,
    pub keys: Keys,
    pub urls: Keyspace,
    pub ready: Keyspace,
    pub later: Keyspace,
    pub pages: Keyspace,
    pub hosts: Keyspace,
    pub robots: Keyspace,
    pub accounts: Keyspace,
    pub notes: Keyspace,
    pub targets: Keyspace,
    pub sources: Keyspace,
    pub copies: Keyspace,
    pub near: Keyspace,
    /// Held while full write buffers are exchanged.
    flushing: Mutex<()>,
    /// Why nothing can be written any more.
    trouble: OnceLock<String>,
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("it has the format {0:?} instead of {FORMAT:?}")]
    Format(String),
    #[error("it does not say which format it has")]
    NoFormat,
    #[error("a record in `{0}` cannot be read")]
    Record(String),
    #[error("{0}")]
    Fjall(#[source] fjall::Error),
    #[error("the database cannot open it: {0}")]
    Panic(String),
}

/// Opens the store in `dir`, or creates one. The caller has the folder's lock.
pub(crate) fn open(dir: &Path, cache_bytes: u64) -> Result<Store, FrontierError> {
    let folder = store_folder(dir);
    if !folder.try_exists().map_err(failed_io(dir))? {
        create(dir, &folder, cache_bytes, begin)?;
    }
    attach(dir, cache_bytes)
}

/// The folder of the database.
pub(crate) fn store_folder(dir: &Path) -> PathBuf {
    dir.join("store")
}

/// Opens an existing store. The caller has the folder's lock.
pub(crate) fn attach(dir: &Path, cache_bytes: u64) -> Result<Store, FrontierError> {
    let store = Store::attach(dir, &store_folder(dir), cache_bytes)?;
    // Every store has its format from its beginning.
    let format = store.note_bytes("format")?.ok_or_else(|| error(dir, REMEDY_CORRUPT, Problem::NoFormat))?;
    if format != FORMAT.as_bytes() {
        return Err(error(dir, REMEDY_FOREIGN, Problem::Format(String::from_utf8_lossy(&format).into_owned())));
    }
    let seed = store.note_bytes("seed")?.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?)));
    let seed = seed.ok_or_else(|| store.unreadable("notes"))?;
    store.clear_old_bands()?;
    Ok(Store { keys: Keys { seed }, ..store })
}

/// Creates a new store in a temporary folder and moves it when it is complete, because fjall cannot open a partly
/// created folder.
fn create<E: From<FrontierError>>(
    dir: &Path,
    folder: &Path,
    cache_bytes: u64,
    fill: impl FnOnce(&Store) -> Result<(), E>,
) -> Result<(), E> {
    let draft = folders::draft(folder).map_err(failed_io(dir))?;
    let store = Store::attach(dir, &draft, cache_bytes)?;
    fill(&store)?;
    store.db.persist(PersistMode::SyncAll).map_err(|source| store.failed(source))?;
    drop(store);
    Ok(folders::settle(&draft, folder).map_err(failed_io(dir))?)
}

/// The first records of an empty store.
fn begin(store: &Store) -> Result<(), FrontierError> {
    let mut batch = store.db.batch();
    batch.insert(&store.notes, "format", FORMAT);
    batch.insert(&store.notes, "seed", fastrand::u64(..).to_be_bytes());
    batch.insert(&store.notes, "totals", records::to_bytes(&Totals::default()));
    batch.commit().map_err(|source| store.failed(source))
}

/// Creates a store in the empty folder `dir` with what `fill` writes. Durable when this returns.
pub(crate) fn make<E: From<FrontierError>>(dir: &Path, fill: impl FnOnce(&Store) -> Result<(), E>) -> Result<(), E> {
    folders::make_private(dir).map_err(failed_io(dir))?;
    create(dir, &store_folder(dir), RESTORING_CACHE, fill)
}

impl Store {
    fn attach(dir: &Path, folder: &Path, cache_bytes: u64) -> Result<Store, FrontierError> {
        // fjall panics on some damaged files instead of returning an error.
        match catch_unwind(AssertUnwindSafe(|| Store::attach_or_panic(dir, folder, cache_bytes))) {
            Ok(Err(fjall::Error::Locked)) => Err(in_use(dir)),
            Ok(result) => result.map_err(|source| failed(dir, source)),
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Err(error(dir, REMEDY_CORRUPT, Problem::Panic(message.unwrap_or_default())))
            }
        }
    }

    fn attach_or_panic(dir: &Path, folder: &Path, cache_bytes: u64) -> Result<Store, fjall::Error> {
        let db = Database::builder(folder)
            .cache_size(cache_bytes)
            // One worker: with two, the first spins while the second compacts.
            .worker_threads(1)
            .max_cached_files(Some(Shares::now().tables))
            // The minimum of fjall. Journals are replayed into memory at the next opening.
            .max_journaling_size(64 << 20)
            .open()?;
        let keyspace = |name| db.keyspace(name, || buffers::options(name));
        Ok(Store {
            dir: dir.to_owned(),
            keys: Keys { seed: 0 },
            urls: keyspace("urls")?,
            ready: keyspace("ready")?,
            later: keyspace("later")?,
            pages: keyspace("pages")?,
            hosts: keyspace("hosts")?,
            robots: keyspace("robots")?,
            accounts: keyspace("accounts")?,
            notes: keyspace("notes")?,
            targets: keyspace("targets")?,
            sources: keyspace("sources")?,
            copies: keyspace("copies")?,
            near: keyspace("near")?,
            flushing: Mutex::new(()),
            trouble: OnceLock::new(),
            db,
        })
    }

    /// After an error nothing more is written until the store is reopened. Only then it is known whether the batch was
    /// stored.
    pub fn commit(&self, batch: OwnedWriteBatch) -> Result<(), FrontierError> {
        batch.commit().map_err(|source| self.broken(source))?;
        let _one_at_a_time = self.flushing.lock();
        self.keyspaces().into_iter().try_for_each(|keyspace| self.flush_if_full(keyspace))
    }

    /// Writers wait here while fjall's worker is behind. It tells nobody when it is done.
    fn flush_if_full(&self, keyspace: &Keyspace) -> Result<(), FrontierError> {
        while buffers::is_full(keyspace) && !buffers::exchange(keyspace).map_err(|source| self.broken(source))? {
            self.check()?;
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }

    /// Makes all commits durable (fsync). After an error as [`Store::commit`].
    pub fn persist(&self) -> Result<(), FrontierError> {
        self.db.persist(PersistMode::SyncAll).map_err(|source| self.broken(source))
    }

    /// Whether fjall still accepts writes; its background work may have failed. Does not access the disk.
    pub fn check(&self) -> Result<(), FrontierError> {
        self.db.persist(PersistMode::Buffer).map_err(|source| self.broken(source))
    }

    /// Why nothing can be written any more; none if all is well.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.get().cloned()
    }

    fn broken(&self, source: fjall::Error) -> FrontierError {
        let why = match source {
            fjall::Error::Poisoned => "a write failed in the background".to_owned(),
            source => format!("a write failed: {source}"),
        };
        if self.trouble.set(why.clone()).is_ok() {
            let folder = self.dir.display();
            tracing::error!(%folder, why, "frontier: the store accepts no more writes; Seine closes it, and reopens \
                it when the disk has room");
        }
        FrontierError::Waiting { path: self.dir.display().to_string(), why }
    }

    pub fn get(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Slice>, FrontierError> {
        keyspace.get(key).map_err(|source| self.failed(source))
    }

    /// None if the key does not exist.
    pub fn record<R: records::Record>(&self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<R>, FrontierError> {
        let bytes = self.get(keyspace, key)?;
        bytes.map(|bytes| records::from_bytes(&bytes).ok_or_else(|| self.unreadable(keyspace.name()))).transpose()
    }

    /// Decodes an entry of an iteration.
    pub fn read<R: records::Record>(&self, keyspace: &Keyspace, entry: Guard) -> Result<(Slice, R), FrontierError> {
        let (key, value) = entry.into_inner().map_err(|source| self.failed(source))?;
        Ok((key, records::from_bytes(&value).ok_or_else(|| self.unreadable(keyspace.name()))?))
    }

    pub(crate) fn state_of(&self, url: UrlKey) -> Result<Option<UrlState>, FrontierError> {
        let bytes = self.get(&self.urls, &url.to_bytes())?;
        bytes.map(|bytes| UrlState::from_bytes(&bytes).ok_or_else(|| self.unreadable("urls"))).transpose()
    }

    /// The queue entry of a URL.
    pub fn queued(&self, url: UrlKey, state: UrlState) -> Result<Option<QueuedUrl>, FrontierError> {
        match state {
            UrlState::Done => Ok(None),
            UrlState::Ready(rank) => self.record(&self.ready, &ready_key(url.host, rank)),
            UrlState::Later { due, rank } => self.record(&self.later, &later_key(url.host, due, rank)),
        }
    }

    /// In the order of [`KEYSPACES`].
    pub fn keyspaces(&self) -> [&Keyspace; KEYSPACES.len()] {
        let Store { urls, ready, later, pages, hosts, robots, accounts, notes, targets, sources, copies, near, .. } =
            self;
        [urls, ready, later, pages, hosts, robots, accounts, notes, targets, sources, copies, near]
    }

    pub fn host(&self, host: HostKey) -> Result<Option<HostRecord>, FrontierError> {
        self.record(&self.hosts, &host.to_be_bytes())
    }

    pub fn page(&self, url: UrlKey, origin: &str) -> Result<Option<PageRecord>, FrontierError> {
        let page = self.record::<PageRecord>(&self.pages, &url.to_bytes())?;
        Ok(page.map(|page| page.with_origin(origin)))
    }

    pub fn robots_of(&self, host: HostKey) -> Result<Option<Robots>, FrontierError> {
        self.record(&self.robots, &host.to_be_bytes())
    }

    /// The source of the URL with this number among all proposed URLs.
    pub fn source(&self, number: u64) -> Result<Option<Source>, FrontierError> {
        let entry = self.sources.range(..=number.to_be_bytes()).next_back();
        Ok(entry.map(|entry| self.read(&self.sources, entry)).transpose()?.map(|(_, source)| source))
    }

    /// The record of a URL in `pages`; none if its host is unknown.
    pub fn page_of(&self, url: UrlKey) -> Result<Option<PageRecord>, FrontierError> {
        let Some(host) = self.host(url.host)? else { return Ok(None) };
        self.page(url, &host.origin)
    }

    /// The URLs whose keys are at the end of these entries' keys.
    pub(crate) fn url_keys(
        &self,
        keyspace: &Keyspace,
        entries: impl Iterator<Item = Guard>,
    ) -> Result<Vec<UrlKey>, FrontierError> {
        let url = |entry: Guard| {
            let key = entry.key().map_err(|source| self.failed(source))?;
            UrlKey::at_end_of(&key).ok_or_else(|| self.unreadable(keyspace.name()))
        };
        entries.map(url).collect()
    }

    pub fn count(&self, mut entries: impl Iterator<Item = Guard>) -> Result<u64, FrontierError> {
        let counted = entries.try_fold(0, |count, entry| entry.key().map(|_| count + 1));
        counted.map_err(|source| self.failed(source))
    }

    /// Calls `take` for every host's record.
    pub(crate) fn each_host(&self, mut take: impl FnMut(HostKey, HostRecord)) -> Result<(), FrontierError> {
        for entry in self.hosts.iter() {
            let (key, record) = self.read(&self.hosts, entry)?;
            take(part(&key, 0).ok_or_else(|| self.unreadable("hosts"))?, record);
        }
        Ok(())
    }

    pub fn totals(&self) -> Result<Totals, FrontierError> {
        self.record(&self.notes, b"totals")?.ok_or_else(|| self.unreadable("notes"))
    }

    pub fn note_bytes(&self, key: &str) -> Result<Option<Vec<u8>>, FrontierError> {
        Ok(self.get(&self.notes, key.as_bytes())?.map(|bytes| bytes.to_vec()))
    }

    pub fn failed(&self, source: fjall::Error) -> FrontierError {
        failed(&self.dir, source)
    }

    /// The error for an undecodable value in this keyspace.
    pub fn unreadable(&self, keyspace: &str) -> FrontierError {
        error(&self.dir, REMEDY_CORRUPT, Problem::Record(keyspace.to_owned()))
    }
}

/// Puts a value, or (none) deletes it.
pub(crate) fn put(
    batch: &mut OwnedWriteBatch,
    keyspace: &Keyspace,
    key: impl Into<fjall::UserKey>,
    value: Option<impl Into<fjall::UserValue>>,
) {
    match value {
        Some(value) => batch.insert(keyspace, key, value),
        None => batch.remove(keyspace, key),
    }
}

pub(crate) fn failed(dir: &Path, source: fjall::Error) -> FrontierError {
    error(dir, remedy(&source), Problem::Fjall(source))
}

pub(crate) fn failed_io(dir: &Path) -> impl Fn(std::io::Error) -> FrontierError {
    move |source| error(dir, REMEDY_IO, source)
}

fn remedy(source: &fjall::Error) -> &'static str {
    match source {
        fjall::Error::InvalidVersion(_) => REMEDY_FOREIGN,
        // It failed before, and the reason was logged then.
        fjall::Error::Poisoned => REMEDY_IO,
        fjall::Error::Io(io) if !is_damage(io) => REMEDY_IO,
        fjall::Error::Storage(fjall::LsmError::Io(io)) if !is_damage(io) => REMEDY_IO,
        _ => REMEDY_CORRUPT,
    }
}

/// A file that the store needs is missing, or shorter than it was.
fn is_damage(io: &std::io::Error) -> bool {
    matches!(io.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof)
}

pub(crate) fn in_use(dir: &Path) -> FrontierError {
    FrontierError::InUse { path: dir.display().to_string() }
}

fn error(
    dir: &Path,
    remedy: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> FrontierError {
    FrontierError::Store { path: dir.display().to_string(), remedy, source: source.into() }
}
