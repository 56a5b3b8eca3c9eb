//! Changes of a keyspace in which the keys of other URLs follow a key ([`super::targets`], [`super::copies`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use fjall::{Keyspace, OwnedWriteBatch};

use crate::FrontierError;
use crate::embedded::disk::store::{Store, put};
use crate::keys::UrlKey;

/// Maximum number of stored entries read for a list of URLs.
const MAX_READ: usize = 64;

/// Entries of a keyspace by key, put or (none) deleted.
#[derive(Default)]
pub(super) struct Entries(BTreeMap<Vec<u8>, Option<Vec<u8>>>);

impl Entries {
    /// The change of a key; none: it is unchanged.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.0.get(key).map(Option::as_deref)
    }

    pub(super) fn put(&mut self, key: impl Into<Vec<u8>>, value: Vec<u8>) {
        self.0.insert(key.into(), Some(value));
    }

    pub(super) fn delete(&mut self, key: impl Into<Vec<u8>>) {
        self.0.insert(key.into(), None);
    }

    /// The URLs at the end of the keys of a range: the first in the store, and all added here.
    pub(super) fn urls(
        &self,
        store: &Store,
        keyspace: &Keyspace,
        range: RangeInclusive<Vec<u8>>,
    ) -> Result<Vec<UrlKey>, FrontierError> {
        let mut keys = BTreeSet::new();
        for entry in keyspace.range(range.clone()) {
            let key = entry.key().map_err(|source| store.failed(source))?;
            if self.get(&key).is_none_or(|change| change.is_some()) {
                keys.insert(key.to_vec());
            }
            if keys.len() >= MAX_READ {
                break;
            }
        }
        keys.extend(self.0.range(range).filter(|(_, value)| value.is_some()).map(|(key, _)| key.clone()));
        let unreadable = || store.unreadable(keyspace.name());
        keys.iter().map(|key| UrlKey::at_end_of(key).ok_or_else(unreadable)).collect()
    }

    pub(super) fn write(&self, batch: &mut OwnedWriteBatch, keyspace: &Keyspace) {
        for (key, value) in &self.0 {
            put(batch, keyspace, key.as_slice(), value.as_deref());
        }
    }
}
