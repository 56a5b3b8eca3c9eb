//! The twin for tests: the same promises, kept naively in maps behind one lock, so that it is easy to see that they are.
//! Everything is looked through for every question.

mod kept;
mod volatile;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::keys::split;
use super::{
    Applied, Batch, Change, Counts, Frontier, FrontierError, FrontierOptions, Health, Host, HostPause, HostTurn, Lease,
    PageRecord, PageState, Proposal, Proposed, Release, Trouble, Troubled, Turn, WHEN_MET_AGAIN, Waiting, WaitingHost,
};
use crate::delivery::Position;
use crate::page::{EpochMs, Kind};
use kept::{Kept, Queue};
use volatile::Volatile;

/// A frontier that lives as long as its process.
pub struct MemoryFrontier {
    options: FrontierOptions,
    kept: Mutex<Kept>,
    volatile: Mutex<Volatile>,
}

impl MemoryFrontier {
    pub fn new(options: FrontierOptions) -> MemoryFrontier {
        MemoryFrontier { options, kept: Mutex::default(), volatile: Mutex::default() }
    }

    /// What a process finds that starts after this one was killed.
    pub fn reopened(&self, options: FrontierOptions, now: EpochMs) -> MemoryFrontier {
        let mut kept = self.kept.lock().clone();
        let default_delay = options.default_delay.as_millis() as u64;
        for host in kept.hosts.values_mut() {
            if let Some(trouble) = host.trouble.filter(|trouble| trouble.last < now && !trouble.given_up) {
                host.not_before = trouble.asked_until.unwrap_or(0);
            }
            host.not_before = host.not_before.max(now + default_delay.max(host.delay_ms));
        }
        MemoryFrontier { options, kept: Mutex::new(kept), volatile: Mutex::default() }
    }
}

impl Frontier for MemoryFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        self.kept.lock().propose(work, self.options.max_pages_per_host, now)
    }

    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        let (mut kept, volatile) = (self.kept.lock(), self.volatile.lock());
        let mut count = 0;
        for name in urls {
            split(name)?;
            let rank = kept.next_rank(1);
            let Some(url) = kept.urls.get_mut(name).filter(|_| !volatile.in_flight.contains_key(name)) else {
                continue;
            };
            match url.queue {
                Queue::Ready => continue,
                Queue::Later(due) if due <= now => continue,
                Queue::Later(_) => {}
                Queue::None => url.rank = rank,
            }
            url.attempt = 0;
            url.page = url.page.take().filter(|page| page.state.is_live());
            url.queue = if url.page.is_some() { Queue::Later(now) } else { Queue::Ready };
            count += 1;
        }
        Ok(count)
    }

    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError> {
        let (kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        let mut leases = Vec::new();
        while leases.len() < max_hosts && max_urls > 0 {
            let Some((_, origin)) = volatile.next_host(&kept).filter(|((due, _), _)| *due <= now) else { break };
            leases.push(volatile.lease(&kept, &origin, now, (max_urls, self.options.revisit_share)));
        }
        Ok(leases)
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError> {
        let (mut kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        if volatile.leases.values().any(|(leased, _)| leased == origin) {
            return Ok(HostTurn::Taken);
        }
        let host = kept.host(origin, now).clone();
        if host.not_before > now {
            return Ok(HostTurn::At(host.not_before));
        }
        volatile.last_lease += 1;
        let id = volatile.last_lease;
        volatile.leases.insert(id, (origin.to_owned(), Vec::new()));
        let host = Host { origin: origin.to_owned(), robots: host.robots, trouble: host.trouble };
        Ok(HostTurn::Leased(Lease { id, host, work: Vec::new() }))
    }

    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn {
        self.volatile.lock().addresses.claim(xxh3_64(lease.host.origin.as_bytes()), ip, delay, now)
    }

    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        let (mut kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        let Some((origin, urls)) = volatile.leases.remove(&lease.id) else { return Ok(()) };
        for url in urls.iter().filter(|url| !release.fetched.contains(url)) {
            if volatile.in_flight.get(url) == Some(&lease.id) {
                volatile.in_flight.remove(url);
            }
        }
        if let Some(host) = kept.hosts.get_mut(&origin) {
            host.not_before = host.not_before.max(release.not_before);
            host.trouble = release.health.map_or(host.trouble, Health::trouble);
            host.delay_ms = release.delay.as_millis() as u64;
            host.robots = release.robots.or(host.robots.take());
        }
        Ok(())
    }

    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let (mut kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        if batch.cursor <= kept.cursor {
            return Ok(Applied::default());
        }
        for url in batch.verdicts.iter().map(|verdict| &verdict.url) {
            split(url)?;
        }
        let mut next = kept.clone();
        let mut applied = Applied::default();
        let mut finished = BTreeSet::new();
        let mut pauses: BTreeMap<&str, HostPause> = BTreeMap::new();
        for verdict in &batch.verdicts {
            if next.apply(verdict, &volatile.in_flight, now)? {
                applied.verdicts += 1;
                finished.insert(&verdict.url);
                if let Change::Retry { host, .. } = verdict.change {
                    let pause = pauses.entry(split(&verdict.url)?.0).or_default();
                    *pause = pause.and(host);
                }
            }
        }
        for (origin, HostPause { not_before, trouble }) in pauses {
            let host = next.host(origin, now);
            if not_before > host.not_before {
                host.not_before = not_before;
                host.trouble = Trouble::both(host.trouble, trouble);
            }
        }
        applied.proposed = next.propose(&batch.proposals, self.options.max_pages_per_host, now)?;
        next.links_seen += batch.proposals.len() as u64;
        next.cursor = batch.cursor;
        *kept = next;
        volatile.in_flight.retain(|url, _| !finished.contains(url));
        Ok(applied)
    }

    fn cursor(&self) -> Result<Position, FrontierError> {
        Ok(self.kept.lock().cursor)
    }

    fn durable_cursor(&self) -> Result<Position, FrontierError> {
        self.cursor()
    }

    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        split(url)?;
        Ok(self.kept.lock().urls.get(url).and_then(|url| url.page.clone()))
    }

    fn counts(&self) -> Counts {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        let queued = || kept.urls.values().filter(|url| url.queue != Queue::None);
        let pages = || kept.urls.values().filter(|url| url.kind == Kind::Page).filter_map(|url| url.page.as_ref());
        let in_state = |wanted: fn(PageState) -> bool| pages().filter(|page| wanted(page.state)).count() as u64;
        Counts {
            work_proposed: queued().count() as u64,
            first_time: queued().filter(|url| url.page.is_none()).count() as u64,
            page: pages().count() as u64,
            live: in_state(PageState::is_live),
            gone: in_state(|state| state == PageState::Gone),
            refused: in_state(|state| state == PageState::Refused),
            failed: in_state(|state| matches!(state, PageState::Failed(_))),
            hosts: kept.hosts.len() as u64,
            hosts_with_work: queued().map(|url| &url.origin).collect::<BTreeSet<_>>().len() as u64,
            hosts_leased: volatile.leases.len() as u64,
            in_flight: volatile.in_flight.len() as u64,
            links_seen: kept.links_seen,
        }
    }

    fn next_due(&self) -> Option<EpochMs> {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        volatile.next_host(&kept).map(|((due, _), _)| due).filter(|due| *due < WHEN_MET_AGAIN)
    }

    fn has_work(&self, now: EpochMs) -> bool {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        let mut queued = kept.urls.values().filter(|url| url.queue != Queue::None);
        let is_busy = !volatile.leases.is_empty() || !volatile.in_flight.is_empty();
        is_busy || queued.any(|url| url.page.is_none() || url.due(&kept) <= now)
    }

    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        let mut waiting = Waiting::default();
        let mut next = Vec::new();
        for (origin, host) in &kept.hosts {
            let urls = kept.work_of(origin) as u64;
            let trouble = host.trouble.filter(Trouble::is_the_hosts);
            if let (Some(Trouble { cause, .. }), 1..) = (trouble, urls) {
                match waiting.troubled.iter_mut().find(|troubled| troubled.cause == cause) {
                    Some(troubled) => (troubled.hosts, troubled.urls) = (troubled.hosts + 1, troubled.urls + urls),
                    None => waiting.troubled.push(Troubled { cause, hosts: 1, urls }),
                }
            }
            let due = volatile.due(&kept, origin).map(|due| due.max(host.not_before));
            if let Some(until) = due.filter(|due| (now + 1..WHEN_MET_AGAIN).contains(due)) {
                next.push((host.number, WaitingHost { origin: origin.clone(), until, urls, trouble }));
            }
        }
        waiting.troubled.sort_by_key(|troubled| troubled.cause);
        next.sort_by_key(|(number, host)| (host.until, *number));
        waiting.next = next.into_iter().map(|(_, host)| host).take(at_most).collect();
        waiting
    }

    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        Ok(self.kept.lock().notes.get(name).cloned())
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        self.kept.lock().notes.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    fn flush(&self) -> Result<(), FrontierError> {
        Ok(())
    }
}
