//! The embedded frontier's twin: the contract of [`seine_frontier::HostLeases`], [`seine_frontier::Scheduler`],
//! [`seine_frontier::Verdicts`] and [`seine_frontier::Notes`], implemented naively with maps behind one lock, so that
//! its correctness is easy to see. Every question reads everything.

mod kept;
/// The twin does not implement how new URLs and rechecks share a lease; it uses the store's own arithmetic.
#[path = "../../../src/share.rs"]
mod share;
mod volatile;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use seine_delivery::Offset;
use seine_frontier::deferred::DEFERRED;
use seine_frontier::{
    Applied, Batch, Change, Counts, FrontierError, FrontierOptions, Health, Host, HostLeases, HostPause, Lease,
    LeaseAnswer, LeaseLimits, Notes, PageRecord, PageState, Proposal, Proposed, Release, Scheduler, Trouble, Troubled,
    Verdicts, WHEN_LINKED_AGAIN, Waiting, WaitingHost,
};
use seine_parse::page::{EpochMs, Kind};
use seine_policies::revisit::Trust;

use crate::support::Model;
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

    /// The state that a process finds after this one was killed.
    pub fn reopened(&self, options: FrontierOptions, now: EpochMs) -> MemoryFrontier {
        let mut kept = self.kept.lock().clone();
        let unwritten = std::mem::take(&mut kept.unwritten);
        kept.hosts.extend(unwritten);
        kept.opened_at = now;
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

impl HostLeases for MemoryFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        let mut kept = self.kept.lock();
        kept.unwritten.clear();
        kept.propose(work, &[], &self.options, &|url| self.volatile.lock().in_flight.contains_key(url), now)
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<LeaseAnswer, FrontierError> {
        let (mut kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        let is_leased = volatile.leases.values().any(|(leased, ..)| leased == origin);
        if is_leased || kept.unwritten.contains_key(origin) {
            return Ok(LeaseAnswer::Taken);
        }
        let host = kept.host(origin, now).clone();
        if host.not_before > now {
            let is_in_trouble = host.trouble.is_some_and(|trouble| trouble.is_the_hosts());
            return Ok(LeaseAnswer::At { at: host.not_before, is_in_trouble });
        }
        volatile.last_lease += 1;
        let id = volatile.last_lease;
        let began = volatile.last_claim;
        volatile.leases.insert(id, (origin.to_owned(), Vec::new(), began));
        let host = Host { origin: origin.to_owned(), robots: host.robots, trouble: host.trouble, ordered_delay: None };
        Ok(LeaseAnswer::Leased(Box::new(Lease { id, host, work: Vec::new() })))
    }

    fn give_back(&self, lease: Lease, release: Release) {
        let (mut kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        let Some((origin, urls, began)) = volatile.leases.remove(&lease.id) else { return };
        if !urls.is_empty() {
            volatile.visited.insert(origin.clone(), began);
        }
        for url in urls.iter().filter(|url| !release.fetched.contains(url)) {
            if volatile.in_flight.get(url) == Some(&lease.id) {
                volatile.in_flight.remove(url);
            }
        }
        let before = kept.hosts.get(&origin).cloned();
        if let Some(host) = kept.hosts.get_mut(&origin) {
            host.not_before = host.not_before.max(release.not_before);
            host.trouble = release.health.map_or(host.trouble, Health::trouble);
            host.delay_ms = release.delay.as_millis() as u64;
            host.robots = release.robots.or(host.robots.take());
        }
        if let Some(before) = before {
            kept.unwritten.entry(origin).or_insert(before);
        }
    }

    fn write_visits(&self) -> Result<(), FrontierError> {
        self.kept.lock().unwritten.clear();
        Ok(())
    }
}

impl Scheduler for MemoryFrontier {
    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        let (mut kept, volatile) = (self.kept.lock(), self.volatile.lock());
        kept.unwritten.clear();
        let mut count = 0;
        for name in urls {
            origin_of(name)?;
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
            let was_forbidden = url.page.as_ref().is_some_and(PageRecord::was_forbidden);
            url.page = url.page.take().filter(|page| page.state.is_found());
            url.queue = if url.page.is_some() { Queue::Later(now) } else { Queue::Ready };
            if was_forbidden && let Some(robots) = &mut kept.host(&origin_of(name)?, now).robots {
                robots.expires_ms = 0;
            }
            count += 1;
        }
        Ok(count)
    }

    fn lease(&self, now: EpochMs, limits: LeaseLimits) -> Result<Vec<Lease>, FrontierError> {
        let (kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        let mut leases = Vec::new();
        while leases.len() < limits.hosts && limits.urls > 0 {
            volatile.last_claim = volatile.last_claim.max(now);
            let is_spared = limits.hosts - leases.len() <= limits.spared;
            let Some(origin) = volatile.next_host(&kept, now, is_spared) else { break };
            leases.push(volatile.lease(&kept, &origin, now, (limits.urls, self.options.revisit_share)));
        }
        Ok(leases)
    }

    fn next_due(&self) -> Option<EpochMs> {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        volatile.hosts(&kept).map(|(due, ..)| due).min().filter(|due| *due < DEFERRED)
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
            let later = due.filter(|due| (now + 1..WHEN_LINKED_AGAIN).contains(due));
            let is_visited =
                volatile.leases.values().any(|(visited, ..)| visited == origin) || kept.unwritten.contains_key(origin);
            if let Some(until) = later.or((is_visited && trouble.is_some() && urls > 0).then_some(now)) {
                let number = if until == now { 0 } else { host.number };
                next.push((number, WaitingHost { origin: origin.clone(), until, urls, trouble }));
            }
        }
        waiting.troubled.sort_by_key(|troubled| troubled.cause);
        next.sort_by_key(|(number, host)| (host.until, *number));
        waiting.next = next.into_iter().map(|(_, host)| host).take(at_most).collect();
        waiting
    }
}

impl Verdicts for MemoryFrontier {
    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let (mut kept, mut volatile) = (self.kept.lock(), self.volatile.lock());
        if batch.cursor <= kept.cursor {
            return Ok(Applied::default());
        }
        for url in batch.verdicts.iter().map(|verdict| &verdict.url) {
            origin_of(url)?;
        }
        let mut next = kept.clone();
        let mut applied = Applied::default();
        let mut finished = BTreeSet::new();
        let mut pauses: BTreeMap<String, HostPause> = BTreeMap::new();
        for verdict in &batch.verdicts {
            if next.apply(verdict, &volatile.in_flight, self.options.lowers_depths, now)? {
                applied.verdicts += 1;
                finished.insert(&verdict.url);
                if let Change::Retry { host, .. } = verdict.change {
                    let pause = pauses.entry(origin_of(&verdict.url)?).or_default();
                    pause.not_before = pause.not_before.max(host.not_before);
                    pause.trouble = both(pause.trouble, host.trouble);
                }
            }
        }
        for (origin, HostPause { not_before, trouble }) in pauses {
            let host = next.host(&origin, now);
            if not_before > host.not_before {
                host.not_before = not_before;
                host.trouble = both(host.trouble, trouble);
            }
        }
        for hint in &batch.hints {
            origin_of(&hint.url)?;
            next.hint(hint, finished.contains(&hint.url) || !volatile.in_flight.contains_key(&hint.url));
        }
        let is_in_flight = |url: &str| volatile.in_flight.contains_key(url) && !finished.contains(&url.to_owned());
        applied.proposed = next.propose(&batch.proposals, &batch.traps.deferred, &self.options, &is_in_flight, now)?;
        next.links_seen += batch.proposals.len() as u64;
        next.harvest.judged += batch.harvest.judged;
        next.harvest.relevant += batch.harvest.relevant;
        next.cursor = batch.cursor;
        next.unwritten.clear();
        *kept = next;
        volatile.in_flight.retain(|url, _| !finished.contains(url));
        Ok(applied)
    }

    fn cursor(&self) -> Result<Offset, FrontierError> {
        Ok(self.kept.lock().cursor)
    }

    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        origin_of(url)?;
        Ok(self.kept.lock().urls.get(url).and_then(|url| url.page.clone()))
    }

    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError> {
        Ok(self.kept.lock().hosts.get(&origin_of(url)?).and_then(|host| host.trust))
    }

    fn counts(&self) -> Counts {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        let queued = || kept.urls.values().filter(|url| url.queue != Queue::None);
        let pages = || kept.urls.values().filter(|url| url.kind == Kind::Page).filter_map(|url| url.page.as_ref());
        let in_state = |wanted: fn(PageState) -> bool| pages().filter(|page| wanted(page.state)).count() as u64;
        Counts {
            deferred: queued().filter(|url| url.is_deferred()).count() as u64,
            given_up: queued().filter(|url| kept.waits_for_given_up(url)).count() as u64,
            work_proposed: queued().count() as u64,
            first_time: queued().filter(|url| url.page.is_none()).count() as u64,
            page: pages().count() as u64,
            live: in_state(PageState::is_live),
            gone: in_state(|state| state == PageState::Gone),
            refused: in_state(|state| state == PageState::Refused),
            failed: in_state(|state| matches!(state, PageState::Failed(_))),
            withheld: in_state(|state| state == PageState::Withheld),
            alias: in_state(|state| state == PageState::Alias),
            duplicates: pages().filter(|page| is_duplicate(page)).count() as u64,
            truncated: pages().filter(|page| page.is_truncated()).count() as u64,
            hosts: kept.hosts.len() as u64,
            hosts_fresh: fresh_hosts(&kept),
            hosts_with_work: queued().map(|url| &url.origin).collect::<BTreeSet<_>>().len() as u64,
            hosts_leased: volatile.leases.len() as u64,
            in_flight: volatile.in_flight.len() as u64,
            links_seen: kept.links_seen,
            over_hosts: kept.over_hosts,
            deferred_elsewhere: 0,
            judged: kept.harvest.judged,
            relevant: kept.harvest.relevant,
        }
    }
}

impl Notes for MemoryFrontier {
    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        Ok(self.kept.lock().notes.get(name).cloned())
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        self.kept.lock().notes.insert(name.to_owned(), value.to_owned());
        Ok(())
    }
}

fn is_duplicate(page: &PageRecord) -> bool {
    page.state.is_live() && page.likeness.as_ref().is_some_and(|likeness| likeness.of.is_some())
}

/// Hosts with URLs that were never requested, and not in trouble.
fn fresh_hosts(kept: &Kept) -> u64 {
    let is_well = |origin: &String| {
        let trouble = kept.hosts.get(origin).and_then(|host| host.trouble);
        trouble.is_none_or(|trouble| !trouble.is_the_hosts())
    };
    let ready = kept.urls.values().filter(|url| url.queue == Queue::Ready).map(|url| &url.origin);
    ready.filter(|origin| is_well(origin)).collect::<BTreeSet<_>>().len() as u64
}

/// Scheme, name and port of a URL that may be fetched and is in normal form.
fn origin_of(url: &str) -> Result<String, FrontierError> {
    let origin = url::Url::parse(url).ok().filter(|parsed| matches!(parsed.scheme(), "http" | "https"));
    let origin = origin.map(|parsed| parsed.origin().ascii_serialization());
    let is_good = |origin: &String| url.strip_prefix(origin.as_str()).is_some_and(|rest| rest.starts_with('/'));
    origin.filter(is_good).ok_or_else(|| FrontierError::BadUrl(url.to_owned()))
}

/// Joins two accounts of the same trouble: the earlier start, and the longer row of failures.
fn both(one: Option<Trouble>, other: Option<Trouble>) -> Option<Trouble> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let more = if one.failures >= other.failures { one } else { other };
    Some(Trouble {
        since: one.since.min(other.since),
        given_up: one.given_up || other.given_up,
        asked_until: one.asked_until.max(other.asked_until),
        ..more
    })
}

impl Model for MemoryFrontier {
    fn has_work(&self, now: EpochMs) -> bool {
        let (kept, volatile) = (self.kept.lock(), self.volatile.lock());
        let mut queued = kept.urls.values().filter(|url| url.queue != Queue::None);
        let is_busy = !volatile.leases.is_empty() || !volatile.in_flight.is_empty();
        is_busy || queued.any(|url| (url.page.is_none() && !url.is_deferred()) || url.due(&kept) <= now)
    }
}
