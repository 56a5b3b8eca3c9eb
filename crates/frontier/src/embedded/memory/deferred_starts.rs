//! Where the deferred URLs of a host begin in `later`. The store keeps deleted entries for some time, so without this
//! each portion would pass all URLs that were released before.

use std::collections::{BTreeMap, HashMap};

use crate::keys::{HostKey, Rank};
use seine_parse::page::EpochMs;

/// Hosts in memory. When they are more, all are read again from the store.
const HOSTS: usize = 2048;

/// For a host that was read: each due time under which the store has deferred URLs, and a rank that none of these is
/// before. The ranks may be too low, and the URLs of a due time may all be gone. They are never too high, whether the
/// present batch is written or not.
#[derive(Debug, Default)]
pub(crate) struct DeferredStarts {
    hosts: HashMap<HostKey, BTreeMap<EpochMs, Rank>>,
}

impl DeferredStarts {
    /// None: the host was not read yet.
    pub(crate) fn of(&self, host: HostKey) -> Option<&BTreeMap<EpochMs, Rank>> {
        self.hosts.get(&host)
    }

    /// The host was read from the store.
    pub(crate) fn put(&mut self, host: HostKey, starts: BTreeMap<EpochMs, Rank>) {
        if self.hosts.len() >= HOSTS {
            self.hosts.clear();
        }
        self.hosts.insert(host, starts);
    }

    /// The store was read from the start on: this is the first entry, or (none) there is none.
    pub(crate) fn found(&mut self, host: HostKey, due: EpochMs, first: Option<Rank>) {
        let Some(starts) = self.hosts.get_mut(&host) else { return };
        match first {
            Some(first) => starts.insert(due, first),
            None => starts.remove(&due),
        };
    }

    /// A batch adds this entry.
    pub(crate) fn add(&mut self, host: HostKey, due: EpochMs, rank: Rank) {
        let Some(starts) = self.hosts.get_mut(&host) else { return };
        let start = starts.entry(due).or_insert(rank);
        *start = rank.min(*start);
    }
}
