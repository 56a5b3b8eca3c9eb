//! The queues that a batch changes: which queue each URL is in, and the entries of the queues. Counts of queued URLs are
//! elsewhere ([`super::urls`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fjall::OwnedWriteBatch;

use crate::deferred::{DEFERRED, deferred_under};
use crate::embedded::disk::records::{self, QueuedUrl, UrlState};
use crate::embedded::disk::store::{Store, put};
use crate::embedded::memory::deferred_starts::DeferredStarts;
use crate::embedded::memory::known::Known;
use crate::keys::{HostKey, Rank, UrlKey, later_key, part, ready_key};
use crate::schedule::NEVER;
use crate::{FrontierError, WHEN_LINKED_AGAIN};
use seine_parse::page::EpochMs;

/// Queue states, and queue entries by key: put, or (none) deleted. Reads include them.
pub(crate) struct Queues<'a> {
    store: &'a Store,
    states: HashMap<UrlKey, Option<UrlState>>,
    ready: BTreeMap<(HostKey, Rank), Option<Vec<u8>>>,
    later: BTreeMap<(HostKey, EpochMs, Rank), Option<Vec<u8>>>,
    deferred: &'a mut DeferredStarts,
}

/// An entry of the queue `later`.
pub(crate) struct LaterUrl {
    pub due: EpochMs,
    pub rank: Rank,
    pub item: QueuedUrl,
}

/// The URLs that were added to a host's queues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Added {
    /// The first due time in `later`.
    pub due: EpochMs,
    /// The best priority in `ready`, if links have scores.
    pub best: u8,
}

pub(crate) type AddedByHost = HashMap<HostKey, Added>;

impl Default for Added {
    fn default() -> Self {
        Added { due: NEVER, best: u8::MAX }
    }
}

impl<'a> Queues<'a> {
    pub(crate) fn new(store: &'a Store, deferred: &'a mut DeferredStarts) -> Queues<'a> {
        Queues { store, states: HashMap::new(), ready: BTreeMap::new(), later: BTreeMap::new(), deferred }
    }

    /// None for an unknown URL.
    pub(crate) fn state_of(&self, url: UrlKey) -> Result<Option<UrlState>, FrontierError> {
        match self.states.get(&url) {
            Some(state) => Ok(*state),
            None => self.store.state_of(url),
        }
    }

    /// Whether the batch has changed a URL's state.
    pub(crate) fn has_changed(&self, url: UrlKey) -> bool {
        self.states.contains_key(&url)
    }

    pub(crate) fn are_unchanged(&self) -> bool {
        self.states.is_empty()
    }

    /// The queue entry of a URL.
    pub(crate) fn entry(&self, url: UrlKey, state: UrlState) -> Result<Option<QueuedUrl>, FrontierError> {
        let change = match state {
            UrlState::Done => return Ok(None),
            UrlState::Ready(rank) => self.ready.get(&(url.host, rank)),
            UrlState::Later { due, rank } => self.later.get(&(url.host, due, rank)),
        };
        match change {
            Some(change) => Ok(change.as_deref().and_then(records::from_bytes)),
            None => self.store.queued(url, state),
        }
    }

    pub(crate) fn put_ready(&mut self, url: UrlKey, rank: Rank, item: Vec<u8>) {
        self.states.insert(url, Some(UrlState::Ready(rank)));
        self.ready.insert((url.host, rank), Some(item));
    }

    pub(crate) fn put_later(&mut self, url: UrlKey, due: EpochMs, rank: Rank, item: &QueuedUrl) {
        self.states.insert(url, Some(UrlState::Later { due, rank }));
        self.later.insert((url.host, due, rank), Some(records::to_bytes(item)));
    }

    /// Deletes the queue entry of a URL, which must get another state.
    pub(crate) fn delete_entry(&mut self, url: UrlKey, state: UrlState) {
        match state {
            UrlState::Done => {}
            UrlState::Ready(rank) => drop(self.ready.insert((url.host, rank), None)),
            UrlState::Later { due, rank } => drop(self.later.insert((url.host, due, rank), None)),
        }
    }

    /// The URL is in no queue.
    pub(crate) fn set_done(&mut self, url: UrlKey) {
        self.states.insert(url, Some(UrlState::Done));
    }

    /// The URL is unknown.
    pub(crate) fn delete_state(&mut self, url: UrlKey) {
        self.states.insert(url, None);
    }

    /// The due times of the host's deferred URLs in ascending order, perhaps with some whose URLs are all gone.
    pub(crate) fn deferred_times(&mut self, host: HostKey) -> Result<BTreeSet<EpochMs>, FrontierError> {
        self.find_deferred(host)?;
        let stored = self.deferred.of(host).into_iter().flat_map(|starts| starts.keys().copied());
        let all = (host, DEFERRED, Rank(0))..(host, WHEN_LINKED_AGAIN, Rank(0));
        let added = self.later.range(all).filter(|(_, item)| item.is_some()).map(|((_, due, _), _)| *due);
        Ok(stored.chain(added).collect())
    }

    /// Up to `at_most` of the host's deferred URLs with this due time.
    pub(crate) fn deferred_at(
        &mut self,
        host: HostKey,
        due: EpochMs,
        at_most: usize,
    ) -> Result<Vec<LaterUrl>, FrontierError> {
        self.find_deferred(host)?;
        let mut found = Vec::new();
        if let Some(start) = self.deferred.of(host).and_then(|starts| starts.get(&due).copied()) {
            let mut first = None;
            for entry in self.store.later.range(later_key(host, due, start)..later_key(host, due + 1, Rank(0))) {
                let (key, item) = self.store.read(&self.store.later, entry)?;
                let rank = Rank(part(&key, 2).ok_or_else(|| self.store.unreadable("later"))?);
                first = first.or(Some(rank));
                if found.len() == at_most {
                    break;
                }
                // This entry was changed by the batch.
                if !self.later.contains_key(&(host, due, rank)) {
                    found.push(LaterUrl { due, rank, item });
                }
            }
            self.deferred.found(host, due, first);
        }
        let added = self.later.range((host, due, Rank(0))..(host, due + 1, Rank(0)));
        found.extend(added.filter_map(|((_, due, rank), item)| {
            Some(LaterUrl { due: *due, rank: *rank, item: records::from_bytes(item.as_ref()?)? })
        }));
        found.sort_by_key(|entry| entry.rank);
        found.truncate(at_most);
        Ok(found)
    }

    /// Reads from the store which deferred URLs the host has, unless this is in memory.
    fn find_deferred(&mut self, host: HostKey) -> Result<(), FrontierError> {
        if self.deferred.of(host).is_some() {
            return Ok(());
        }
        let (mut starts, mut from) = (BTreeMap::new(), DEFERRED);
        let range = |from| later_key(host, from, Rank(0))..later_key(host, WHEN_LINKED_AGAIN, Rank(0));
        while let Some(entry) = self.store.later.range(range(from)).next() {
            let key = entry.key().map_err(|source| self.store.failed(source))?;
            let (due, rank) = part(&key, 1).zip(part(&key, 2)).ok_or_else(|| self.store.unreadable("later"))?;
            starts.insert(due, Rank(rank));
            from = due + 1;
        }
        self.deferred.put(host, starts);
        Ok(())
    }

    /// Hosts whose queue `later` has changed.
    pub(crate) fn hosts_with_changed_later(&self) -> BTreeSet<HostKey> {
        self.later.keys().map(|(host, ..)| *host).collect()
    }

    /// The first due time in the host's `later`. `from`: the first one before this batch.
    pub(crate) fn first_later(&self, host: HostKey, from: EpochMs) -> Result<EpochMs, FrontierError> {
        let all = (host, 0, Rank(0))..=(host, NEVER, Rank(u64::MAX));
        let added = self.later.range(all).find(|(_, item)| item.is_some()).map_or(NEVER, |((_, due, _), _)| *due);
        if from == NEVER {
            return Ok(added);
        }
        let store = self.store;
        let range = later_key(host, from, self.start_of(host, from))..=later_key(host, NEVER, Rank(u64::MAX));
        for entry in store.later.range(range) {
            let key = entry.key().map_err(|source| store.failed(source))?;
            let (Some(due), Some(rank)) = (part(&key, 1), part(&key, 2)) else {
                return Err(store.unreadable("later"));
            };
            if due >= added {
                break;
            }
            if self.later.get(&(host, due, Rank(rank))).is_none_or(Option::is_some) {
                return Ok(due);
            }
        }
        Ok(added)
    }

    /// A rank that no stored entry with this due time is before.
    fn start_of(&self, host: HostKey, due: EpochMs) -> Rank {
        match self.deferred.of(host).filter(|_| deferred_under(due).is_some()) {
            Some(starts) => starts.get(&due).copied().unwrap_or(Rank(u64::MAX)),
            None => Rank(0),
        }
    }

    /// Returns what was added. `ranks`: links have scores. Deletes the entries here, but not the states.
    pub(crate) fn write(&mut self, batch: &mut OwnedWriteBatch, ranks: bool) -> AddedByHost {
        let store = self.store;
        let mut added = AddedByHost::new();
        for (url, state) in &self.states {
            put(batch, &store.urls, url.to_bytes(), state.map(UrlState::to_bytes));
        }
        for ((host, rank), item) in std::mem::take(&mut self.ready) {
            if item.is_some() && ranks {
                let added = added.entry(host).or_default();
                added.best = added.best.min(rank.priority());
            }
            put(batch, &store.ready, ready_key(host, rank), item);
        }
        for ((host, due, rank), item) in std::mem::take(&mut self.later) {
            if item.is_some() {
                let added = added.entry(host).or_default();
                added.due = added.due.min(due);
                if deferred_under(due).is_some() {
                    self.deferred.add(host, due, rank);
                }
            }
            put(batch, &store.later, later_key(host, due, rank), item);
        }
        added
    }

    /// Updates the cache of known URLs when the batch is written.
    pub(crate) fn remember(&self, known: &mut Known) {
        for (url, state) in &self.states {
            match state {
                Some(_) => known.insert(*url),
                None => known.remove(*url),
            }
        }
    }
}
