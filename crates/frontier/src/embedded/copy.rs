//! A snapshot of all keyspaces for a backup, and a store made from a backup.

use std::path::Path;

use fjall::{Keyspace, Readable, Snapshot};

use super::disk::buffers::KEYSPACES;
use super::disk::reopenable_store::ReopenableStore;
use super::disk::store;
use super::open::EmbeddedFrontier;
use crate::FrontierError;
use crate::schedule::Totals;
use seine_delivery::Offset;

/// How often to check that the store is still open.
const CHECK_EVERY: u64 = 4096;

/// A snapshot of a frontier, readable while the frontier works. It blocks nobody, but keeps its data on disk while it
/// exists.
pub struct FrontierCopy<'a> {
    store_handle: &'a ReopenableStore,
    snapshot: Snapshot,
    /// In the order of [`KEYSPACES`].
    keyspaces: [Keyspace; KEYSPACES.len()],
    cursor: Offset,
}

impl EmbeddedFrontier {
    /// A snapshot of the frontier.
    pub fn copy(&self) -> Result<FrontierCopy<'_>, FrontierError> {
        let store = self.store_handle.store()?;
        let snapshot = store.db.snapshot();
        let totals = snapshot.get(&store.notes, "totals").map_err(|source| store.failed(source))?;
        let totals: Option<Totals> = totals.and_then(|bytes| super::disk::records::from_bytes(&bytes));
        let cursor = totals.ok_or_else(|| store.unreadable("notes"))?.cursor;
        Ok(FrontierCopy {
            store_handle: &self.store_handle,
            snapshot,
            keyspaces: store.keyspaces().map(Clone::clone),
            cursor,
        })
    }

    /// Makes a frontier in the empty folder `dir` from the records of a backup. `table` gives the records of a table by
    /// their keys; none: there is no such table. Durable when this returns.
    pub fn make_of_copy<E: From<FrontierError>, T: Iterator<Item = Result<CopiedRecord, E>>>(
        dir: &Path,
        mut table: impl FnMut(&str) -> Result<Option<T>, E>,
    ) -> Result<(), E> {
        store::make(dir, |store| {
            let failed = |source| E::from(store.failed(source));
            for (name, keyspace) in KEYSPACES.into_iter().zip(store.keyspaces()) {
                let mut ingestion = keyspace.start_ingestion().map_err(failed)?;
                for record in table(name)?.into_iter().flatten() {
                    let (key, value) = record?;
                    ingestion.write(key, value).map_err(failed)?;
                }
                ingestion.finish().map_err(failed)?;
            }
            Ok(())
        })
    }
}

/// A key with its value, as stored.
pub type CopiedRecord = (Vec<u8>, Vec<u8>);

impl FrontierCopy<'_> {
    /// The validator's offset in the page log.
    pub fn cursor(&self) -> Offset {
        self.cursor
    }

    /// The names of its tables.
    pub fn tables(&self) -> &'static [&'static str] {
        &KEYSPACES
    }

    /// All records of a table by their keys. Memory: some blocks of the store, however large it is.
    pub fn records(&self, table: &str) -> Box<dyn Iterator<Item = Result<CopiedRecord, FrontierError>> + '_> {
        let Some(at) = KEYSPACES.iter().position(|name| *name == table) else {
            return Box::new(std::iter::empty());
        };
        let numbered = (0_u64..).zip(self.snapshot.iter(&self.keyspaces[at]));
        Box::new(numbered.map(|(number, guard)| {
            // Releases the store now and then, because a failed store cannot be reopened while it is read.
            if number.is_multiple_of(CHECK_EVERY) {
                drop(self.store_handle.store()?);
            }
            let (key, value) = guard.into_inner().map_err(|source| self.store_handle.failed(source))?;
            Ok((key.to_vec(), value.to_vec()))
        }))
    }
}
