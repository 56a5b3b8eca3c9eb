//! The hosts that a batch changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fjall::OwnedWriteBatch;
use locks::Mutex;

use super::domains::Domains;
use super::queues::AddedByHost;
use crate::embedded::disk::records;
use crate::embedded::disk::store::Store;
use crate::embedded::memory::opening::Opening;
use crate::embedded::memory::visits::Visits;
use crate::keys::{HostKey, UrlKey};
use crate::schedule::{HostRecord, Schedule, Totals};
use crate::{FrontierError, HostPause, Robots, Trouble};
use seine_parse::page::EpochMs;

/// Changed and new hosts.
pub(crate) struct Hosts<'a> {
    before: HostsBefore<'a>,
    now: EpochMs,
    changed: HashMap<HostKey, HostChange>,
    domains: Domains<'a>,
    /// The number of the next new host.
    next_number: u64,
}

/// The hosts without the changes of this batch.
pub(crate) struct HostsBefore<'a> {
    pub store: &'a Store,
    pub schedule: &'a Mutex<Schedule>,
    pub visits: &'a Visits,
    pub opening: Opening,
}

impl HostsBefore<'_> {
    /// None for an unknown host. The schedule comes before the store, and has all hosts with queued URLs.
    fn get(&self, host: HostKey) -> Result<Option<HostRecord>, FrontierError> {
        if let Some(record) = self.schedule.lock().record(host) {
            return Ok(Some(record));
        }
        let stored = self.store.host(host)?.map(|record| self.opening.after(record));
        Ok(match (stored, self.visits.unwritten.lock().get(&host)) {
            (Some(mut record), Some(unwritten)) => {
                record.take_visits_from(unwritten.record());
                Some(record)
            }
            (stored, unwritten) => stored.or_else(|| unwritten.map(|unwritten| unwritten.record().clone())),
        })
    }
}

/// Changes of one host.
#[derive(Debug, Default)]
pub(crate) struct HostChange {
    /// Its counts of URLs change while changes are collected; the rest is set at the end.
    pub record: HostRecord,
    pause: Option<HostPause>,
    /// A link or a seed leads to it, so a host that was given up gets another chance.
    pub is_linked_again: bool,
    /// The operator wants it to be tried again.
    pub is_wanted: bool,
    /// Its robots.txt must be fetched again.
    pub wants_robots: bool,
    /// It had no work, so its earlier trouble is outdated.
    pub was_idle: bool,
    /// URLs with a verdict. A lease that has already read its queue does not take them.
    pub finished: Vec<UrlKey>,
}

impl<'a> Hosts<'a> {
    /// `next_number`: of the next new host.
    pub(crate) fn new(before: HostsBefore<'a>, next_number: u64, now: EpochMs) -> Hosts<'a> {
        let domains = Domains::new(before.store);
        Hosts { before, now, changed: HashMap::new(), domains, next_number }
    }

    /// The host's changes so far; an unknown host is created.
    pub(crate) fn change(&mut self, host: HostKey, origin: &str) -> Result<&mut HostChange, FrontierError> {
        Ok(match self.changed.entry(host) {
            Entry::Occupied(change) => change.into_mut(),
            Entry::Vacant(change) => {
                let record = match self.before.get(host)? {
                    Some(record) => record,
                    None => {
                        self.domains.count_host(origin)?;
                        self.next_number += 1;
                        HostRecord::new(self.next_number - 1, origin.into(), self.now)
                    }
                };
                change.insert(HostChange { record, ..HostChange::default() })
            }
        })
    }

    /// None for an unknown host.
    pub(crate) fn origin_of(&self, host: HostKey) -> Result<Option<String>, FrontierError> {
        if let Some(change) = self.changed.get(&host) {
            return Ok(Some(change.record.origin.to_string()));
        }
        Ok(self.before.get(host)?.map(|record| record.origin.into()))
    }

    /// The origin of a host that the batch changes.
    pub(crate) fn changed_origin(&self, host: HostKey) -> &str {
        self.changed.get(&host).map_or("", |host| &host.record.origin)
    }

    /// Whether a host is new and its domain has `most` hosts already.
    pub(crate) fn is_one_too_many(&self, host: HostKey, origin: &str, most: u64) -> Result<bool, FrontierError> {
        if most == u64::MAX || self.changed.contains_key(&host) {
            return Ok(false);
        }
        Ok(self.before.get(host)?.is_none() && self.domains.hosts_of(origin)? >= most)
    }

    /// Those that were given up before this batch.
    pub(crate) fn given_up_among(&self, hosts: impl Iterator<Item = HostKey>) -> Vec<HostKey> {
        self.before.schedule.lock().given_up_among(hosts)
    }

    /// Leased, or fetched without a verdict, including this batch.
    pub(crate) fn is_in_flight(&self, url: UrlKey) -> bool {
        !self.has_verdict(url) && self.was_in_flight(url)
    }

    /// As [`Hosts::is_in_flight`], before this batch.
    pub(crate) fn was_in_flight(&self, url: UrlKey) -> bool {
        self.before.schedule.lock().is_in_flight(url)
    }

    /// As [`Hosts::was_in_flight`], with one lock for all, because leases need it too.
    pub(crate) fn were_in_flight(&self, urls: impl Iterator<Item = UrlKey>) -> Vec<bool> {
        let schedule = self.before.schedule.lock();
        urls.map(|url| schedule.is_in_flight(url)).collect()
    }

    /// In this batch.
    pub(crate) fn has_verdict(&self, url: UrlKey) -> bool {
        self.changed.get(&url.host).is_some_and(|host| host.finished.contains(&url))
    }

    pub(crate) fn are_unchanged(&self) -> bool {
        self.changed.is_empty()
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Sets when the first URL in `later` is due, for a host that the batch changes. `find` gets the time so far.
    pub(crate) fn find_first_later(
        &mut self,
        host: HostKey,
        find: impl FnOnce(EpochMs) -> Result<EpochMs, FrontierError>,
    ) -> Result<(), FrontierError> {
        if let Some(change) = self.changed.get_mut(&host) {
            change.record.later_first = find(change.record.later_first)?;
        }
        Ok(())
    }

    /// Completes the records and adds them to the batch. The caller holds [`Visits::host_writes`] until the batch is
    /// written.
    pub(crate) fn write(&mut self, batch: &mut OwnedWriteBatch) -> Result<(), FrontierError> {
        self.domains.write(batch);
        let hosts: Vec<HostKey> = self.changed.keys().copied().collect();
        for host in hosts {
            // A host that is not in the schedule may have been released while this batch was collected, without queued
            // URLs: a redirect led to it.
            let visited = self.before.get(host)?;
            let Some(change) = self.changed.get_mut(&host) else { continue };
            change.complete(visited.as_ref(), self.before.opening.at, self.now);
            batch.insert(&self.before.store.hosts, host.to_be_bytes(), records::to_bytes(&change.record));
            let robots = if change.wants_robots { self.before.store.robots_of(host)? } else { None };
            if let Some(robots) = robots {
                let expired = Robots { expires_ms: 0, ..robots };
                batch.insert(&self.before.store.robots, host.to_be_bytes(), records::to_bytes(&expired));
            }
        }
        Ok(())
    }

    /// Updates the schedule when the batch is written. Locks: `unwritten`, and in it the schedule.
    pub(crate) fn schedule(&mut self, totals: Totals, added: &AddedByHost) {
        let (mut unwritten, mut schedule) = (self.before.visits.unwritten.lock(), self.before.schedule.lock());
        schedule.totals = totals;
        for (host, mut change) in self.changed.drain() {
            // It was released while the batch was written; that change is written next.
            if let Some(unwritten) = unwritten.get_mut(&host) {
                if change.wants_robots {
                    unwritten.expire_robots();
                }
                change.complete(schedule.record(host).as_ref(), self.before.opening.at, self.now);
            }
            let added = added.get(&host).copied().unwrap_or_default();
            schedule.update(host, change.record, &change.finished, (added.due, added.best));
        }
    }
}

impl HostChange {
    /// Of several pauses, the longest and the one with the most failures count.
    pub(crate) fn pause(&mut self, pause: HostPause) {
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
            _ => self.was_idle || ((self.is_linked_again || self.is_wanted) && self.record.is_given_up()),
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
