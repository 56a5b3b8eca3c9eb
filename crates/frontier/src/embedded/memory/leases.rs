//! Leases: the schedule chooses the host, the store has its URLs. The schedule's lock is never held while the store is
//! read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;

use crate::embedded::disk::records::QueuedUrl;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::embedded::disk::store::Store;
use crate::keys::{Keys, Rank, UrlKey, later_key, part, ready_key};
use crate::lease::LATER_WINDOW;
use crate::schedule::{Candidate, ChosenHost, Found, HostRecord, NEVER, Queue, Schedule};
use crate::{Attempts, FrontierError, Host, Lease, LeaseLimits, Robots, WHEN_LINKED_AGAIN, Work};
use seine_parse::page::EpochMs;

/// Maximum number of hosts without due URLs per call. Their due time was an estimate, which is then corrected.
const SPARE_TRIES: usize = 64;
/// Pause of a host whose queue cannot be read.
const UNREADABLE_REST_MS: EpochMs = 600_000;
/// URLs per lease of a host with deferred URLs, so that results are judged before many more are fetched.
const BESIDE_DEFERRED: usize = 8;

/// The host of a lease.
pub(crate) fn host_of(record: HostRecord, robots: Option<Robots>) -> Host {
    Host {
        origin: record.origin.into(),
        robots,
        trouble: record.trouble,
        ordered_delay: record.ordered_delay_ms.map(Duration::from_millis),
    }
}

/// Makes leases.
pub(crate) struct Leases {
    store_handle: Arc<ReopenableStore>,
    keys: Keys,
    schedule: Arc<Mutex<Schedule>>,
    /// Attempts of leased URLs, so that their verdicts need not read the queues.
    attempts: Mutex<HashMap<UrlKey, Attempts>>,
}

impl Leases {
    pub(crate) fn new(store_handle: Arc<ReopenableStore>, keys: Keys, schedule: Arc<Mutex<Schedule>>) -> Leases {
        Leases { store_handle, keys, schedule, attempts: Mutex::default() }
    }

    /// The attempts of a URL in flight since its last answer; none if there were none.
    pub(crate) fn attempts_of(&self, url: UrlKey) -> Option<Attempts> {
        self.attempts.lock().get(&url).cloned()
    }

    /// The URLs are no longer in flight.
    pub(crate) fn end(&self, urls: &[UrlKey]) {
        let mut attempts = self.attempts.lock();
        urls.iter().for_each(|url| drop(attempts.remove(url)));
    }

    /// Implements [`crate::Scheduler::lease`].
    pub(crate) fn lease(
        &self,
        now: EpochMs,
        LeaseLimits { hosts: max_hosts, urls: max_urls, spared }: LeaseLimits,
    ) -> Result<Vec<Lease>, FrontierError> {
        // Kept until the end, so that the lease is settled with the store it was read from.
        let store = self.store_handle.store()?;
        let mut leases = Vec::new();
        let mut tries = if max_urls == 0 { 0 } else { max_hosts.saturating_add(SPARE_TRIES) };
        while leases.len() < max_hosts && tries > 0 {
            tries -= 1;
            let claim = self.schedule.lock().choose(now, max_hosts - leases.len(), spared);
            let Some(claim) = claim else { break };
            match self.fill(&store, &claim, now, max_urls) {
                Ok(lease) => leases.extend(lease),
                Err(error) if !error.is_waiting() => self.put_aside(&claim, &error, now),
                Err(error) => {
                    let mut schedule = self.schedule.lock();
                    schedule.give_back(claim.lease);
                    leases.iter().for_each(|lease| schedule.give_back(lease.id));
                    return Err(error);
                }
            }
        }
        Ok(leases)
    }

    /// A damaged part of the store affects only the host whose queue it contains.
    fn put_aside(&self, claim: &ChosenHost, error: &FrontierError, now: EpochMs) {
        let mut schedule = self.schedule.lock();
        let origin = schedule.record(claim.host).map(|record| record.origin);
        schedule.give_back(claim.lease);
        schedule.put_aside(claim.host, now + UNREADABLE_REST_MS);
        let host = origin.as_deref();
        tracing::error!(
            host,
            %error,
            "the queue of this host cannot be read; Seine tries it again in ten minutes, and fetches from other \
            hosts meanwhile; check this disk"
        );
    }

    /// None if no URL of the host is due after all.
    fn fill(
        &self,
        store: &Store,
        chosen_host: &ChosenHost,
        now: EpochMs,
        max_urls: usize,
    ) -> Result<Option<Lease>, FrontierError> {
        let max_urls = match chosen_host {
            ChosenHost { is_tried_again: true, .. } => 1,
            ChosenHost { has_deferred: true, .. } => max_urls.min(BESIDE_DEFERRED),
            _ => max_urls,
        };
        let found = self.read_queues(store, chosen_host, now, max_urls)?;
        let (chosen, record) = {
            let mut schedule = self.schedule.lock();
            let chosen = schedule.settle(chosen_host, &found, now, max_urls);
            (chosen, schedule.record(chosen_host.host))
        };
        let Some(record) = record.filter(|_| !chosen.is_empty()) else { return Ok(None) };
        let robots = if record.has_robots { store.robots_of(chosen_host.host)? } else { None };
        let mut work = Vec::with_capacity(chosen.len());
        for Candidate { url, rank, item, .. } in chosen {
            if !item.attempts.is_empty() {
                self.attempts.lock().insert(*url, item.attempts.clone());
            }
            let page = if item.revisit { store.page(*url, &record.origin)? } else { None };
            let address = format!("{}{}", record.origin, item.path);
            let known = Work::new(address, item.kind, item.depth, item.attempt, page);
            let is_orphan = store.is_orphan(&known)?;
            let attempts = item.put_off.then_some(&item.attempts);
            let put_off_since = attempts.and_then(Attempts::put_off_since);
            let redirect_waits_since = attempts.and_then(Attempts::redirect_waits_since);
            let (priority, was_put_off) = (rank.priority(), item.put_off);
            work.push(Work { priority, was_put_off, put_off_since, redirect_waits_since, is_orphan, ..known });
        }
        let host = host_of(record, robots);
        Ok(Some(Lease { id: chosen_host.lease, host, work }))
    }

    /// Reads as much of the host's queues as a lease can need, with an allowance for URLs in flight.
    fn read_queues(
        &self,
        store: &Store,
        chosen_host: &ChosenHost,
        now: EpochMs,
        max_urls: usize,
    ) -> Result<Found<QueuedUrl>, FrontierError> {
        let mut found = Found { ready: Vec::new(), later: Vec::new(), later_unread_from: NEVER };
        if chosen_host.reads_ready {
            let last = ready_key(chosen_host.host, Rank(u64::MAX));
            for head in chosen_host.from().into_iter().chain([chosen_host.head]) {
                let range = store.ready.range(ready_key(chosen_host.host, head)..=last);
                for entry in range.take(max_urls.saturating_add(chosen_host.in_flight_ready + chosen_host.spare)) {
                    let (key, item) = store.read(&store.ready, entry)?;
                    let rank = part(&key, 1).ok_or_else(|| store.unreadable("ready"))?;
                    found.ready.push(self.candidate(chosen_host, rank, Queue::Ready, item));
                }
                if !found.ready.is_empty() {
                    break;
                }
            }
        }
        if chosen_host.reads_parked {
            self.read_later(store, chosen_host, WHEN_LINKED_AGAIN, now, &mut found)?;
        }
        if chosen_host.reads_later && chosen_host.later_first < WHEN_LINKED_AGAIN && found.later_unread_from == NEVER {
            self.read_later(store, chosen_host, chosen_host.later_first, now, &mut found)?;
        }
        Ok(found)
    }

    /// Reads the queue `later` from a due time on. Parked URLs are due at once, because their host was met or
    /// is tried again.
    fn read_later(
        &self,
        store: &Store,
        chosen_host: &ChosenHost,
        from: EpochMs,
        now: EpochMs,
        found: &mut Found<QueuedUrl>,
    ) -> Result<(), FrontierError> {
        let window = LATER_WINDOW + chosen_host.in_flight_later + 1;
        let last = later_key(chosen_host.host, NEVER, Rank(u64::MAX));
        for entry in store.later.range(later_key(chosen_host.host, from, Rank(0))..=last) {
            let (key, item) = store.read(&store.later, entry)?;
            let (due, rank) = part(&key, 1).zip(part(&key, 2)).ok_or_else(|| store.unreadable("later"))?;
            let due = if due == WHEN_LINKED_AGAIN && from == WHEN_LINKED_AGAIN { 0 } else { due };
            if found.later.len() >= window {
                found.later_unread_from = due;
                break;
            }
            found.later.push(self.candidate(chosen_host, rank, Queue::Later(due), item));
            if due > now {
                found.later_unread_from = due;
                break;
            }
        }
        Ok(())
    }

    fn candidate(&self, claim: &ChosenHost, rank: u64, queue: Queue, item: QueuedUrl) -> Candidate<QueuedUrl> {
        let url = self.keys.url(claim.host, &item.path);
        Candidate { url, rank: Rank(rank), queue, is_revisit: item.revisit, item }
    }
}
