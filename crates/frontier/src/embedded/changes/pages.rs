//! The records in `pages` that a batch changes.

use std::collections::HashMap;

use fjall::OwnedWriteBatch;

use super::hosts::Hosts;
use crate::embedded::disk::store::{Store, put};
use crate::keys::{UrlKey, split};
use crate::{Attempts, FrontierError, PageRecord};

/// Records put, or (none) deleted. Reads include them.
pub(crate) struct Pages<'a> {
    store: &'a Store,
    changed: HashMap<UrlKey, Option<PageRecord>>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(store: &'a Store) -> Pages<'a> {
        Pages { store, changed: HashMap::new() }
    }

    pub(crate) fn get(&self, url: UrlKey, origin: &str) -> Result<Option<PageRecord>, FrontierError> {
        match self.changed.get(&url) {
            Some(page) => Ok(page.clone()),
            None => self.store.page(url, origin),
        }
    }

    /// Whether the URL has a record that is `wanted`.
    pub(crate) fn has(
        &self,
        url: UrlKey,
        address: &str,
        wanted: impl FnOnce(&PageRecord) -> bool,
    ) -> Result<bool, FrontierError> {
        let (origin, _) = split(address)?;
        Ok(self.get(url, origin)?.is_some_and(|page| wanted(&page)))
    }

    /// Its host must be among the changes.
    pub(crate) fn put(&mut self, url: UrlKey, record: PageRecord) {
        self.changed.insert(url, Some(record));
    }

    pub(crate) fn delete(&mut self, url: UrlKey) {
        self.changed.insert(url, None);
    }

    pub(crate) fn write(&self, batch: &mut OwnedWriteBatch, hosts: &Hosts) {
        for (url, page) in &self.changed {
            let bytes = page.as_ref().map(|page| page.to_bytes_without(hosts.changed_origin(url.host)));
            put(batch, &self.store.pages, url.to_bytes(), bytes);
        }
    }
}

/// Earlier attempts: those since the last answer are in the queue entry, then those in the record. A single attempt is
/// the record itself.
pub(crate) fn attempts_before(queued: Option<Attempts>, page: Option<&PageRecord>) -> Attempts {
    let queued = queued.filter(|attempts| !attempts.is_empty());
    let mut attempts = queued.or_else(|| page.map(|page| page.url_history.attempts.clone())).unwrap_or_default();
    if let Some(page) = page.filter(|_| attempts.is_empty()) {
        attempts.push(page.last_attempt());
    }
    attempts
}
