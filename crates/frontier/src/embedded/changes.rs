//! A batch of changes, collected in parts and then written atomically.

use std::sync::atomic::Ordering;

use super::again::wake;
use super::answer::Answer;
use super::copies::Copies;
use super::found::Sources;
use super::hosts::{Hosts, HostsBefore};
use super::known::Known;
use super::leases::Leases;
use super::memory::Memory;
use super::pages::Pages;
use super::queues::Queues;
use super::records;
use super::spending::Accounts;
use super::store::Store;
use super::targets::Targets;
use super::urls::Urls;
use crate::schedule::Totals;
use crate::{FrontierError, Learned};
use seine_parse::page::EpochMs;

/// Key of the latest time: [`crate::CLOCK_NOTE`] as stored by [`crate::Notes::note`].
pub const CLOCK: &str = "note:clock";

/// Collected changes. Each part has its own, and its reads include them: the batch comes before the store.
pub struct Changes<'a> {
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
    /// The caller holds the writer's lock (`known`) while the changes exist. `store`: the same store from the first read
    /// to the commit.
    pub fn new(memory: &'a Memory, store: &'a Store, known: &'a mut Known, now: EpochMs) -> Changes<'a> {
        let totals = memory.schedule.lock().totals;
        let (schedule, visits, opening) = (&*memory.schedule, &memory.visits, memory.opening);
        let before = HostsBefore { store, schedule, visits, opening };
        let urls = Urls {
            store,
            keys: memory.keys,
            now,
            limits: &memory.limits,
            standings: &memory.standings,
            totals,
            hosts: Hosts::new(before, totals.next_host, now),
            queues: Queues::new(store),
            pages: Pages::new(store),
            sources: Sources::new(store),
            known,
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
    pub fn add_answer(&mut self, answer: Answer, reached: Option<&str>) -> Result<bool, FrontierError> {
        let of_target = self.targets.turn_to(&self.urls.pages, answer, reached)?;
        let of_content = self.copies.compare(answer)?;
        for heirs in of_target.heirs.iter().chain(&of_content.heirs) {
            wake(&mut self.urls, heirs)?;
        }
        Ok(of_target.is_rechecked || of_content.is_rechecked)
    }

    /// Writes everything, then updates memory.
    pub fn commit(mut self) -> Result<(), FrontierError> {
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
