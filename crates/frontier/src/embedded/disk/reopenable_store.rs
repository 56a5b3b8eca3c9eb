//! Keeps the store, and can close and reopen it while the frontier lives. One failed write poisons fjall for good, and
//! a full disk is no reason to restart the process.
//!
//! A user of the store has a guard from the first read to the commit, so that no operation spans two openings.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

// Not of `locks`: shuttle has no recursive reads.
use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};

use super::store::{self, Store};
use crate::{DiskState, FrontierError};
use seine_system::{disk, folders};

pub(crate) type StoreGuard<'a> = MappedRwLockReadGuard<'a, Store>;

/// The store is reopened only if this many bytes can be written and made durable.
const PROBE_BYTES: usize = 1 << 20;
/// Time for a worker thread of fjall to close its files after the database is closed.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_EVERY: Duration = Duration::from_millis(1);

pub(crate) struct ReopenableStore {
    dir: PathBuf,
    cache_bytes: u64,
    /// With fewer free bytes nothing is written; 0: not checked.
    reserve_bytes: AtomicU64,
    /// None while it is closed.
    store: RwLock<Option<Store>>,
    /// Declared last, so that the lock is released after the store is closed.
    lock: FolderLock,
}

impl ReopenableStore {
    /// Opens the store in the folder `dir`, or creates it.
    pub(crate) fn open(dir: &Path, cache_bytes: u64, reserve_bytes: u64) -> Result<ReopenableStore, FrontierError> {
        let lock = FolderLock::on(dir)?;
        let store = store::open(dir, cache_bytes)?;
        let reserve_bytes = AtomicU64::new(reserve_bytes);
        Ok(ReopenableStore { dir: dir.to_owned(), cache_bytes, reserve_bytes, store: RwLock::new(Some(store)), lock })
    }

    /// The store for reading. A thread may hold several guards.
    pub(crate) fn store(&self) -> Result<StoreGuard<'_>, FrontierError> {
        let guard = self.store.read_recursive();
        let trouble = guard.as_ref().map_or(Some("the store is being reopened".to_owned()), Store::trouble);
        match trouble {
            None => Ok(RwLockReadGuard::map(guard, |store| store.as_ref().expect("it is there"))),
            Some(trouble) => Err(self.waiting(trouble)),
        }
    }

    /// The store for writing; an error without free space.
    pub(crate) fn writable(&self) -> Result<StoreGuard<'_>, FrontierError> {
        let store = self.store()?;
        self.lack_of_room().map_or(Ok(store), |lack| Err(self.waiting(lack)))
    }

    pub(crate) fn disk_state(&self) -> DiskState {
        match (self.store(), self.lack_of_room()) {
            (Err(error), _) => DiskState::Failed(error.to_string()),
            (Ok(_), Some(lack)) => DiskState::Full(self.waiting(lack).to_string()),
            (Ok(_), None) => DiskState::Well,
        }
    }

    /// The error for a failed read.
    pub(crate) fn failed(&self, source: fjall::Error) -> FrontierError {
        store::failed(&self.dir, source)
    }

    /// True if the store must be closed and reopened. Also notices when fjall failed in the background.
    pub(crate) fn is_broken(&self) -> bool {
        let store = self.store.read_recursive();
        store.as_ref().is_none_or(|store| store.trouble().is_some() || store.check().is_err())
    }

    /// Closes the store when all users have finished, and opens it again if there is free space. The caller puts it
    /// back.
    pub(crate) fn open_again(&self) -> Result<Store, FrontierError> {
        let old = self.store.write().take();
        drop(old);
        self.wait_until_closed()?;
        if let Some(lack) = self.lack_of_room() {
            return Err(self.waiting(lack));
        }
        self.probe().map_err(|error| self.waiting(format!("a test write failed: {error}")))?;
        store::attach(&self.dir, self.cache_bytes)
    }

    pub(crate) fn put(&self, store: Store) {
        *self.store.write() = Some(store);
    }

    pub(crate) fn reserve(&self, bytes: u64) {
        self.reserve_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn waiting(&self, why: String) -> FrontierError {
        FrontierError::Waiting { path: self.dir.display().to_string(), why }
    }

    fn lack_of_room(&self) -> Option<String> {
        let reserve = self.reserve_bytes.load(Ordering::Relaxed);
        if reserve == 0 {
            return None;
        }
        // If the free space is unknown, writes continue and may fail.
        let free = disk::free_bytes(&self.lock.0).ok()?;
        let lacks = free < reserve;
        lacks.then(|| format!("only {} MiB are free on the frontier's disk", free >> 20))
    }

    /// fjall's worker thread counts as ended just before it drops its journal, which writes its buffer to a file that
    /// we would use again. So wait for that.
    fn wait_until_closed(&self) -> Result<(), FrontierError> {
        let folder =
            fs::canonicalize(store::store_folder(&self.dir)).unwrap_or_else(|_| store::store_folder(&self.dir));
        let started = std::time::Instant::now();
        while has_open_files(&folder) {
            if started.elapsed() > RELEASE_TIMEOUT {
                return Err(self.waiting("files of the store are still being closed".to_owned()));
            }
            std::thread::sleep(POLL_EVERY);
        }
        Ok(())
    }

    fn probe(&self) -> std::io::Result<()> {
        let path = self.dir.join("probe");
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&vec![0x5e; PROBE_BYTES])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        written.and(removed)
    }
}

/// The lock on a folder, until this is dropped or the process ends.
struct FolderLock(File);

impl FolderLock {
    fn on(dir: &Path) -> Result<FolderLock, FrontierError> {
        folders::make_private(dir).map_err(store::failed_io(dir))?;
        let lock = File::options().create(true).truncate(false).write(true).open(dir.join("lock"));
        let lock = lock.map_err(store::failed_io(dir))?;
        lock.try_lock().map_err(|_| store::in_use(dir))?;
        Ok(FolderLock(lock))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process that is just being started has a copy of the file for a moment.
        let _ = self.0.unlock();
    }
}

/// Whether this process has open files below `place`. False if the system does not tell (no /proc).
fn has_open_files(folder: &Path) -> bool {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return false };
    open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|path| path.starts_with(folder)))
}
