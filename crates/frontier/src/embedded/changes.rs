//! A batch of changes to URLs, queues, hosts and totals, collected here and then written atomically.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use super::found::Met;
use super::known::Known;
use super::ledger::AccountKey;
use super::memory::Memory;
use super::records::{self, Source, UrlState};
use super::store::Store;
use super::targets::TargetChanges;
use crate::keys::{DomainKey, HostKey, Rank, UrlKey, later_key, part};
use crate::schedule::{HostRecord, NEVER, Totals};
use crate::{FrontierError, HostPause, Learned, PageRecord, Robots, Trouble};
use seine_parse::page::EpochMs;
use seine_policies::budgets::Account;

/// Key of the latest time: [`crate::CLOCK_NOTE`] as stored by [`crate::Notes::note`].
pub const CLOCK: &str = "note:clock";

/// Collected changes. Reads include them: the batch comes before the store.
pub struct Changes<'a> {
    pub memory: &'a Memory,
    /// The same store from the first read to the commit.
    pub store: &'a Store,
    pub now: EpochMs,
    pub totals: Totals,
    /// The queue state of URLs; none: deleted.
    pub states: HashMap<UrlKey, Option<UrlState>>,
    /// The hosts' counts of URLs change while changes are collected; the rest of each record is set at the end.
    pub hosts: HashMap<HostKey, HostChange>,
    /// Records put into `pages`, or (none) deleted.
    pub pages: HashMap<UrlKey, Option<PageRecord>>,
    /// Queue entries by key: put, or (none) deleted.
    pub(super) ready: BTreeMap<(HostKey, Rank), Option<Vec<u8>>>,
    pub(super) later: BTreeMap<(HostKey, EpochMs, Rank), Option<Vec<u8>>>,
    /// If links have scores: the best priority added to `ready`, by host, once it is written.
    pub(super) best_added: HashMap<HostKey, u8>,
    pub learned: Learned,
    /// Accounts of budgets after this batch, and the URLs whose events are counted in them.
    pub accounts: BTreeMap<AccountKey, Account>,
    pub counted: Vec<UrlKey>,
    /// Number of hosts of domains with new hosts. See [`super::domains`].
    pub(super) domains: HashMap<DomainKey, u64>,
    /// See [`super::targets`].
    pub targets: TargetChanges,
    /// See [`super::copies`].
    pub copies: TargetChanges,
    pub near: BTreeMap<[u8; 9], bool>,
    /// Known URLs to remember once the batch is written.
    pub seen: Vec<UrlKey>,
    /// See [`super::found`]: by the number of the first URL of each.
    pub sources: BTreeMap<u64, Source>,
    pub met: Met,
    /// Trap statistics of hosts, by the keys of their notes.
    pub traps: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Changes of one host.
#[derive(Debug)]
pub struct HostChange {
    pub record: HostRecord,
    pub pause: Option<HostPause>,
    /// A link or a seed leads to it, so a host that was given up gets another chance.
    pub is_met: bool,
    /// The operator wants it to be tried again.
    pub is_wanted: bool,
    /// Its robots.txt must be fetched again.
    pub wants_robots: bool,
    /// It had no work, so its earlier trouble is outdated.
    pub was_idle: bool,
    /// URLs with a verdict.
    pub finished: Vec<UrlKey>,
}

impl<'a> Changes<'a> {
    /// The caller holds the writer's lock while the changes exist.
    pub fn new(memory: &'a Memory, store: &'a Store, now: EpochMs) -> Changes<'a> {
        Changes {
            memory,
            store,
            now,
            totals: memory.schedule.lock().totals,
            states: HashMap::new(),
            hosts: HashMap::new(),
            pages: HashMap::new(),
            ready: BTreeMap::new(),
            later: BTreeMap::new(),
            best_added: HashMap::new(),
            learned: Learned::default(),
            accounts: BTreeMap::new(),
            counted: Vec::new(),
            domains: HashMap::new(),
            targets: TargetChanges::new(),
            copies: TargetChanges::new(),
            near: BTreeMap::new(),
            seen: Vec::new(),
            sources: BTreeMap::new(),
            met: Met::default(),
            traps: Vec::new(),
        }
    }

    /// The queue state of a URL, including this batch.
    pub fn state_of(&self, url: UrlKey) -> Result<Option<UrlState>, FrontierError> {
        match self.states.get(&url) {
            Some(state) => Ok(*state),
            None => self.store.state_of(url),
        }
    }

    pub fn page(&self, url: UrlKey, origin: &str) -> Result<Option<PageRecord>, FrontierError> {
        match self.pages.get(&url) {
            Some(page) => Ok(page.clone()),
            None => self.store.page(url, origin),
        }
    }

    /// Leased, or fetched without a verdict, including this batch.
    pub fn is_in_flight(&self, url: UrlKey) -> bool {
        !self.has_verdict(url) && self.memory.schedule.lock().is_in_flight(url)
    }

    /// In this batch.
    pub fn has_verdict(&self, url: UrlKey) -> bool {
        self.hosts.get(&url.host).is_some_and(|host| host.finished.contains(&url))
    }

    /// The host's changes so far; an unknown host is created.
    pub fn host(&mut self, host: HostKey, origin: &str) -> Result<&mut HostChange, FrontierError> {
        // Two lookups, because the borrow checker does not accept `if let Some(…) = get_mut() { return }` yet.
        if !self.hosts.contains_key(&host) {
            let record = match self.stored_host(host)? {
                Some(record) => record,
                None => {
                    self.count_host(origin)?;
                    self.totals.next_host += 1;
                    HostRecord::new(self.totals.next_host - 1, origin.into(), self.now)
                }
            };
            let change = HostChange {
                record,
                pause: None,
                is_met: false,
                is_wanted: false,
                wants_robots: false,
                was_idle: false,
                finished: Vec::new(),
            };
            self.hosts.insert(host, change);
        }
        self.hosts.get_mut(&host).ok_or_else(|| self.store.unreadable("hosts"))
    }

    /// None for an unknown host.
    pub fn origin_of(&self, host: HostKey) -> Result<Option<String>, FrontierError> {
        if let Some(change) = self.hosts.get(&host) {
            return Ok(Some(change.record.origin.to_string()));
        }
        Ok(self.stored_host(host)?.map(|record| record.origin.into()))
    }

    pub(super) fn stored_host(&self, host: HostKey) -> Result<Option<HostRecord>, FrontierError> {
        if let Some(record) = self.memory.schedule.lock().record(host) {
            return Ok(Some(record));
        }
        let stored = self.store.host(host)?.map(|record| self.memory.opening.after(record));
        Ok(match (stored, self.memory.visits.owed.lock().get(&host)) {
            (Some(mut record), Some(owed)) => {
                record.take_visits_from(owed.record());
                Some(record)
            }
            (stored, owed) => stored.or_else(|| owed.map(|owed| owed.record().clone())),
        })
    }

    /// Writes everything, then updates the schedule.
    pub fn commit(mut self, known: &mut Known) -> Result<(), FrontierError> {
        if !self.is_empty() {
            self.write()?;
        }
        self.met.remember(&mut self.memory.last_links.lock());
        for (url, state) in self.states {
            match state {
                Some(_) => known.insert(url),
                None => known.remove(url),
            }
        }
        self.seen.into_iter().for_each(|url| known.insert(url));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.states.is_empty() && self.hosts.is_empty() && self.totals == self.memory.schedule.lock().totals
    }

    fn write(&mut self) -> Result<(), FrontierError> {
        let with_changed_later: BTreeSet<HostKey> = self.later.keys().map(|(host, ..)| *host).collect();
        for host in with_changed_later {
            let first = self.first_later(host)?;
            if let Some(change) = self.hosts.get_mut(&host) {
                change.record.later_first = first;
            }
        }
        let mut batch = self.store.db.batch();
        self.write_queues(&mut batch);
        let store = self.store;
        self.learned.write(store, &mut batch, self.totals.cursor.index)?;
        for (url, state) in &self.states {
            put(&mut batch, &store.urls, url.to_bytes(), state.map(UrlState::to_bytes));
        }
        for (url, page) in &self.pages {
            let origin = self.hosts.get(&url.host).map_or("", |host| &host.record.origin);
            put(&mut batch, &store.pages, url.to_bytes(), page.as_ref().map(|page| page.to_bytes_without(origin)));
        }
        for (key, account) in &self.accounts {
            batch.insert(&store.accounts, key.to_bytes(), records::to_bytes(account));
        }
        self.write_domains(&mut batch);
        for (changes, keyspace) in [(&self.targets, &store.targets), (&self.copies, &store.copies)] {
            for (key, value) in changes {
                put(&mut batch, keyspace, key.as_slice(), value.as_deref());
            }
        }
        for (key, is_there) in &self.near {
            put(&mut batch, &store.near, key, is_there.then_some([]));
        }
        for (key, record) in self.traps.drain(..) {
            batch.insert(&store.notes, key, record);
        }
        for (number, source) in &self.sources {
            batch.insert(&store.sources, number.to_be_bytes(), records::to_bytes(source));
        }
        batch.insert(&store.notes, "totals", records::to_bytes(&self.totals));
        let latest = self.memory.clock.fetch_max(self.now, Ordering::Relaxed).max(self.now);
        batch.insert(&store.notes, CLOCK, latest.to_string());
        self.finish(batch)
    }

    /// Completes the host records, under the lock of their writer.
    fn finish(&mut self, mut batch: fjall::OwnedWriteBatch) -> Result<(), FrontierError> {
        let memory = self.memory;
        let _in_order = memory.visits.host_writes.lock();
        let hosts: Vec<HostKey> = self.hosts.keys().copied().collect();
        for host in hosts {
            // A host that is not in the schedule may have been released while this batch was collected, without queued
            // URLs: a redirect led to it.
            let scheduled = memory.schedule.lock().record(host);
            let visited = match scheduled {
                Some(visited) => Some(visited),
                None => self.stored_host(host)?,
            };
            let Some(change) = self.hosts.get_mut(&host) else { continue };
            change.complete(visited.as_ref(), memory.opening.at, self.now);
            batch.insert(&self.store.hosts, host.to_be_bytes(), records::to_bytes(&change.record));
            let robots = if change.wants_robots { self.store.robots_of(host)? } else { None };
            if let Some(robots) = robots {
                let expired = Robots { expires_ms: 0, ..robots };
                batch.insert(&self.store.robots, host.to_be_bytes(), records::to_bytes(&expired));
            }
        }
        self.store.commit(batch)?;
        self.tell_ledger();
        let mut later_added = HashMap::new();
        for ((host, due, _), _) in self.later.iter().filter(|(_, item)| item.is_some()) {
            later_added.entry(*host).or_insert(*due);
        }
        let (mut owed, mut schedule) = (memory.visits.owed.lock(), memory.schedule.lock());
        schedule.totals = self.totals;
        for (host, mut change) in self.hosts.drain() {
            // It was released while the batch was written; that change is written next.
            if let Some(owed) = owed.get_mut(&host) {
                if change.wants_robots {
                    owed.expire_robots();
                }
                change.complete(schedule.record(host).as_ref(), memory.opening.at, self.now);
            }
            let added = later_added.get(&host).copied().unwrap_or(NEVER);
            let best = self.best_added.get(&host).copied().unwrap_or(u8::MAX);
            schedule.update(host, change.record, &change.finished, (added, best));
        }
        Ok(())
    }

    /// The first due time in the host's `later`, after this batch.
    fn first_later(&self, host: HostKey) -> Result<EpochMs, FrontierError> {
        let all = (host, 0, Rank(0))..=(host, NEVER, Rank(u64::MAX));
        let added = self.later.range(all).find(|(_, item)| item.is_some()).map(|((_, due, _), _)| *due);
        let from = self.hosts.get(&host).map_or(NEVER, |change| change.record.later_first);
        let added = added.unwrap_or(NEVER);
        if from == NEVER {
            return Ok(added);
        }
        let store = self.store;
        let range = later_key(host, from, Rank(0))..=later_key(host, NEVER, Rank(u64::MAX));
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
}

/// Puts a value, or (none) deletes it.
pub(super) fn put(
    batch: &mut fjall::OwnedWriteBatch,
    keyspace: &fjall::Keyspace,
    key: impl Into<fjall::UserKey>,
    value: Option<impl Into<fjall::UserValue>>,
) {
    match value {
        Some(value) => batch.insert(keyspace, key, value),
        None => batch.remove(keyspace, key),
    }
}

impl HostChange {
    /// Of several pauses, the longest and the one with the most failures count.
    pub fn pause(&mut self, pause: HostPause) {
        self.pause = Some(self.pause.unwrap_or_default().and(pause));
    }

    /// Adds the results of visits so far, and the changes of this batch.
    fn complete(&mut self, visited: Option<&HostRecord>, opened_at: EpochMs, now: EpochMs) {
        if let Some(visited) = visited {
            self.record.take_visits_from(visited);
        }
        self.apply_pause();
        let is_over = match &self.record.trouble {
            Some(trouble) if trouble.is_known_to_be_unknown(opened_at, now) => self.is_wanted,
            _ => self.was_idle || ((self.is_met || self.is_wanted) && self.record.is_given_up()),
        };
        if is_over {
            self.record.trouble = None;
        }
    }

    fn apply_pause(&mut self) {
        let Some(HostPause { not_before, trouble }) = self.pause else { return };
        if not_before > self.record.not_before {
            self.record.not_before = not_before;
            self.record.trouble = Trouble::both(self.record.trouble, trouble);
        }
    }
}
