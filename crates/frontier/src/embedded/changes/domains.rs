//! Counts the known hosts of each registrable domain, because a domain can have endless subdomains.

use std::collections::HashMap;

use fjall::OwnedWriteBatch;

use crate::FrontierError;
use crate::embedded::disk::store::Store;
use crate::keys::{DomainKey, part, tagged};

/// In `accounts`: the kind of key for a domain's number of hosts, besides those of `AccountKey`.
const HOSTS: u8 = 3;

/// The number of known hosts of a domain.
pub(crate) fn known(store: &Store, domain: DomainKey) -> Result<u64, FrontierError> {
    let bytes = store.get(&store.accounts, &tagged(HOSTS, domain))?;
    bytes.map_or(Ok(0), |bytes| part(&bytes, 0).ok_or_else(|| store.unreadable("accounts")))
}

/// Numbers of hosts of domains with new hosts.
pub(crate) struct Domains<'a> {
    store: &'a Store,
    changed: HashMap<DomainKey, u64>,
}

impl<'a> Domains<'a> {
    pub(crate) fn new(store: &'a Store) -> Domains<'a> {
        Domains { store, changed: HashMap::new() }
    }

    /// Counts a new host of this origin.
    pub(crate) fn count_host(&mut self, origin: &str) -> Result<(), FrontierError> {
        let hosts = self.hosts_of(origin)?;
        self.changed.insert(self.store.keys.domain(origin), hosts + 1);
        Ok(())
    }

    /// The number of known hosts of this origin's domain, including this batch.
    pub(crate) fn hosts_of(&self, origin: &str) -> Result<u64, FrontierError> {
        let domain = self.store.keys.domain(origin);
        self.changed.get(&domain).map_or_else(|| known(self.store, domain), |hosts| Ok(*hosts))
    }

    pub(crate) fn write(&self, batch: &mut OwnedWriteBatch) {
        for (domain, hosts) in &self.changed {
            batch.insert(&self.store.accounts, tagged(HOSTS, *domain), hosts.to_be_bytes());
        }
    }
}
