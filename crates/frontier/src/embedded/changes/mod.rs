//! A batch of changes, collected in parts and then written atomically.
//!
//! From the ground up: each part owns its changes and reads them before the store; [`urls`] joins the parts of known
//! URLs; the steps ([`rechecks`], [`ranks`], [`proposals`], [`deferred`]) are functions over these; [`Changes`] has all.

mod accounts;
pub(super) mod answer;
mod copies;
pub(super) mod deferred;
pub(super) mod domains;
mod entries;
mod hosts;
pub(super) mod pages;
pub(super) mod proposals;
pub(super) mod queues;
pub(super) mod ranks;
pub(super) mod rechecks;
mod sources;
mod targets;
pub(super) mod urls;

use std::sync::atomic::Ordering;

use crate::embedded::disk::records;
use crate::embedded::disk::store::Store;
use crate::embedded::memory::leases::Leases;
use crate::embedded::memory::{Memory, WriterCache};
use crate::schedule::Totals;
use crate::{FrontierError, Learned};
use accounts::Accounts;
use answer::Answer;
use copies::Copies;
use hosts::{Hosts, HostsBefore};
use pages::Pages;
use queues::Queues;
use rechecks::wake;
use seine_parse::page::EpochMs;
use sources::Sources;
use targets::Targets;
use urls::Urls;

/// Key of the latest time: [`crate::CLOCK_NOTE`] as stored by [`crate::Notes::note`].
pub(super) const CLOCK: &str = "note:clock";

/// Collected changes. Each part has its own, and its reads include them: the batch comes before the store.
pub(super) struct Changes<'a> {
    store: &'a Store,
    memory: &'a Memory,
    pub leases: &'a Leases,
    pub urls: Urls<'a>,
    targets: Targets<'a>,
    copies: Copies<'a>,
    pub accounts: Accounts<'a>,
    pub learned: Learned,
    /// Trap statistics of hosts, by the keys of their notes.
    pub traps: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Changes<'a> {
    /// The caller holds the writer's lock (`cache`) while the changes exist. `store`: the same store from the first read
    /// to the commit.
    pub(super) fn new(memory: &'a Memory, store: &'a Store, cache: &'a mut WriterCache, now: EpochMs) -> Changes<'a> {
        let totals = memory.schedule.lock().totals;
        let (schedule, visits, opening) = (&*memory.schedule, &memory.visits, memory.opening);
        let before = HostsBefore { store, schedule, visits, opening };
        let urls = Urls {
            store,
            keys: memory.keys,
            now,
            limits: &memory.limits,
            priorities: &memory.priorities,
            totals,
            hosts: Hosts::new(before, totals.next_host, now),
            queues: Queues::new(store, &mut cache.deferred),
            pages: Pages::new(store),
            sources: Sources::new(store),
            known: &mut cache.known,
            seen: Vec::new(),
        };
        Changes {
            store,
            memory,
            leases: &memory.leases,
            urls,
            targets: Targets::new(store),
            copies: Copies::new(store, memory.wakes_duplicates, totals.duplicates),
            accounts: Accounts::new(store, &memory.reservations.budgets, memory.opening.at),
            learned: Learned::default(),
            traps: Vec::new(),
        }
    }

    /// Adds the effects of an answer on redirect targets, canonical slots and duplicates. True if the URL itself must be
    /// rechecked at once. `reached`: see [`Targets::turn_to`].
    pub(super) fn add_answer(&mut self, answer: Answer, reached: Option<&str>) -> Result<bool, FrontierError> {
        let of_target = self.targets.turn_to(&self.urls.pages, answer, reached)?;
        let of_content = self.copies.compare(answer)?;
        for heirs in of_target.heirs.iter().chain(&of_content.heirs) {
            wake(&mut self.urls, heirs)?;
        }
        Ok(of_target.is_rechecked || of_content.is_rechecked)
    }

    /// Writes everything, then updates memory.
    pub(super) fn commit(mut self) -> Result<(), FrontierError> {
        let totals = self.totals();
        if !self.is_empty(totals) {
            self.write(totals)?;
        }
        let Urls { queues, sources, known, seen, .. } = self.urls;
        sources.remember(&mut self.memory.last_links.lock());
        queues.remember(known);
        seen.into_iter().for_each(|url| known.insert(url));
        Ok(())
    }

    /// With what the parts have counted.
    fn totals(&self) -> Totals {
        let (next_host, duplicates) = (self.urls.hosts.next_number(), self.copies.duplicates());
        Totals { next_host, duplicates, ..self.urls.totals }
    }

    fn is_empty(&self, totals: Totals) -> bool {
        let Urls { hosts, queues, .. } = &self.urls;
        queues.are_unchanged() && hosts.are_unchanged() && totals == self.memory.schedule.lock().totals
    }

    fn write(&mut self, totals: Totals) -> Result<(), FrontierError> {
        let Changes { store, memory, urls, .. } = self;
        for host in urls.queues.hosts_with_changed_later() {
            urls.hosts.find_first_later(host, |from| urls.queues.first_later(host, from))?;
        }
        let mut batch = store.db.batch();
        let ranks = memory.schedule.lock().ranks();
        let added = urls.queues.write(&mut batch, ranks);
        urls.pages.write(&mut batch, &urls.hosts);
        urls.sources.write(&mut batch);
        self.targets.write(&mut batch);
        self.copies.write(&mut batch);
        self.accounts.write(&mut batch);
        self.learned.write(store, &mut batch, totals.cursor.index)?;
        for (key, record) in self.traps.drain(..) {
            batch.insert(&store.notes, key, record);
        }
        batch.insert(&store.notes, "totals", records::to_bytes(&totals));
        let latest = memory.clock.fetch_max(urls.now, Ordering::Relaxed).max(urls.now);
        batch.insert(&store.notes, CLOCK, latest.to_string());
        let _in_order = memory.visits.host_writes.lock();
        urls.hosts.write(&mut batch)?;
        store.commit(batch)?;
        self.accounts.remember();
        urls.hosts.schedule(totals, &added);
        Ok(())
    }
}
