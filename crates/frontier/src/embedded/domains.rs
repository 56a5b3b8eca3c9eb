//! Counts the known hosts of each registrable domain and applies their limit, because a domain can have endless
//! subdomains.

use super::changes::Changes;
use super::store::Store;
use crate::FrontierError;
use crate::keys::{DomainKey, HostKey, part, tagged};

/// In `accounts`: the kind of key for a domain's number of hosts, besides those of [`super::ledger::AccountKey`].
const HOSTS: u8 = 3;

/// The number of known hosts of a domain.
pub fn known(store: &Store, domain: DomainKey) -> Result<u64, FrontierError> {
    let bytes = store.get(&store.accounts, &tagged(HOSTS, domain))?;
    bytes.map_or(Ok(0), |bytes| part(&bytes, 0).ok_or_else(|| store.unreadable("accounts")))
}

impl Changes<'_> {
    /// Counts a new host.
    pub(super) fn count_host(&mut self, origin: &str) -> Result<(), FrontierError> {
        let domain = self.memory.keys.domain(origin);
        let hosts = self.hosts_of(domain)?;
        self.domains.insert(domain, hosts + 1);
        Ok(())
    }

    fn hosts_of(&self, domain: DomainKey) -> Result<u64, FrontierError> {
        self.domains.get(&domain).map_or_else(|| known(self.store, domain), |hosts| Ok(*hosts))
    }

    /// Whether a host is new and its domain has reached its limit.
    pub(super) fn is_one_too_many(&self, host: HostKey, origin: &str) -> Result<bool, FrontierError> {
        let most = self.memory.limits.hosts_per_domain();
        if most == u64::MAX || self.hosts.contains_key(&host) {
            return Ok(false);
        }
        Ok(self.stored_host(host)?.is_none() && self.hosts_of(self.memory.keys.domain(origin))? >= most)
    }

    pub(super) fn write_domains(&self, batch: &mut fjall::OwnedWriteBatch) {
        for (domain, hosts) in &self.domains {
            batch.insert(&self.store.accounts, tagged(HOSTS, *domain), hosts.to_be_bytes());
        }
    }
}
