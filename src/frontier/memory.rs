//! The twin for tests: the same promises, kept naively in maps behind one lock, so that it is easy to see that they are.
//! Everything is looked through for every question.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::addresses::Addresses;
use super::keys::split;
use super::{
    Applied, Batch, Change, Counts, Frontier, FrontierError, FrontierOptions, Health, Host, HostPause, HostTurn,
    LATER_WINDOW, Lease, PRIORITY_UNKNOWN, PageRecord, PageState, Proposal, Proposed, Release, Robots, Trouble,
    Troubled, Turn, Verdict, WHEN_MET_AGAIN, Waiting, WaitingHost, Work,
};
use crate::delivery::Position;
use crate::page::{EpochMs, Kind};

/// A frontier that lives as long as its process.
pub struct MemoryFrontier {
    options: FrontierOptions,
    kept: Mutex<Kept>,
    volatile: Mutex<Volatile>,
}

/// What a store would keep.
#[derive(Debug, Clone, Default)]
struct Kept {
    urls: BTreeMap<String, Url>,
    hosts: BTreeMap<String, KeptHost>,
    notes: BTreeMap<String, String>,
    cursor: Position,
    links_seen: u64,
    sequence: u64,
}

/// What ends with the process.
#[derive(Debug, Default)]
struct Volatile {
    /// Lease by URL in flight.
    in_flight: BTreeMap<String, u64>,
    /// Origin and URLs by lease.
    leases: BTreeMap<u64, (String, Vec<String>)>,
    last_lease: u64,
    addresses: Addresses,
}

#[derive(Debug, Clone)]
struct Url {
    origin: String,
    kind: Kind,
    depth: u16,
    attempt: u16,
    was_put_off: bool,
    rank: (u8, u64),
    queue: Queue,
    page: Option<PageRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Ready,
    Later(EpochMs),
    None,
}

#[derive(Debug, Clone, Default)]
struct KeptHost {
    number: usize,
    not_before: EpochMs,
    trouble: Option<Trouble>,
    delay_ms: u64,
    pages: u64,
    robots: Option<Robots>,
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
            leases.push(volatile.lease(&kept, &origin, now, max_urls));
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

impl Kept {
    fn propose(&mut self, work: &[Proposal], limit: Option<u64>, now: EpochMs) -> Result<Proposed, FrontierError> {
        for proposal in work {
            split(&proposal.url)?;
        }
        let mut proposed = Proposed::default();
        for Proposal { url, kind, depth, priority } in work {
            let origin = split(url)?.0.to_owned();
            // Counted only where it matters: it looks at every URL there is.
            let is_troubled = self.hosts.get(&origin).is_some_and(|host| host.trouble.is_some());
            let works = is_troubled && self.work_of(&origin) > 0;
            if let Some(host) = self.hosts.get_mut(&origin).filter(|host| works && host.is_given_up()) {
                host.trouble = None;
            }
            if self.urls.contains_key(url) {
                proposed.known += 1;
                continue;
            }
            let host = self.host(&origin, now);
            if *kind == Kind::Page && limit.is_some_and(|limit| host.pages >= limit) {
                proposed.over_limit += 1;
                continue;
            }
            host.pages += u64::from(*kind == Kind::Page);
            if !works {
                host.trouble = None;
            }
            let rank = self.next_rank(*priority);
            let (kind, depth, queue) = (*kind, *depth, Queue::Ready);
            let new = Url { origin, kind, depth, attempt: 0, was_put_off: false, rank, queue, page: None };
            self.urls.insert(url.clone(), new);
            proposed.added += 1;
        }
        Ok(proposed)
    }

    /// URLs of the host that are queued.
    fn work_of(&self, origin: &str) -> usize {
        self.urls.values().filter(|url| url.origin == origin && url.queue != Queue::None).count()
    }

    fn host(&mut self, origin: &str, now: EpochMs) -> &mut KeptHost {
        let number = self.hosts.len();
        let new = || KeptHost { number, not_before: now, ..KeptHost::default() };
        self.hosts.entry(origin.to_owned()).or_insert_with(new)
    }

    fn next_rank(&mut self, priority: u8) -> (u8, u64) {
        self.sequence += 1;
        (priority, self.sequence)
    }

    /// False when the verdict changes nothing.
    fn apply(
        &mut self,
        verdict: &Verdict,
        in_flight: &BTreeMap<String, u64>,
        now: EpochMs,
    ) -> Result<bool, FrontierError> {
        if let Some(url) = self.urls.get(&verdict.url)
            && is_old(url, verdict, in_flight.contains_key(&verdict.url))
        {
            return Ok(false);
        }
        let origin = split(&verdict.url)?.0.to_owned();
        let is_unknown = !self.urls.contains_key(&verdict.url);
        let rank = match self.urls.get(&verdict.url) {
            Some(url) if url.queue != Queue::None => url.rank,
            _ => self.next_rank(PRIORITY_UNKNOWN),
        };
        let host = self.host(&origin, now);
        host.pages += u64::from(is_unknown && verdict.kind == Kind::Page);
        let (kind, queue) = (verdict.kind, Queue::None);
        let new = Url { origin, kind, depth: 0, attempt: 0, was_put_off: false, rank, queue, page: None };
        let url = self.urls.entry(verdict.url.clone()).or_insert(new);
        (url.rank, url.kind) = (rank, verdict.kind);
        match &verdict.change {
            Change::Page { record, due_again } => {
                (url.depth, url.attempt, url.was_put_off) = (record.depth, 0, false);
                url.queue = due_again.map_or(Queue::None, Queue::Later);
                url.page = Some(record.clone());
            }
            Change::Retry { at, attempt, put_off, .. } => {
                (url.attempt, url.was_put_off) = (*attempt, *put_off);
                url.queue = Queue::Later(*at);
            }
        }
        Ok(true)
    }
}

/// Whether the verdict was applied before.
fn is_old(url: &Url, verdict: &Verdict, is_in_flight: bool) -> bool {
    let applied = url.page.as_ref().map(|page| &page.event_id);
    let is_old_event = applied.is_some_and(|id| verdict.event_id == *id || verdict.event_id < *id && !is_in_flight);
    let is_old_retry = match verdict.change {
        Change::Retry { at, attempt, .. } if url.queue != Queue::None => {
            url.attempt > attempt || url.attempt == attempt && url.queue == Queue::Later(at)
        }
        _ => false,
    };
    is_old_event || is_old_retry
}

impl Volatile {
    /// The host that is due first, with when and its number.
    fn next_host(&self, kept: &Kept) -> Option<((EpochMs, usize), String)> {
        let due = |(origin, host): (&String, &KeptHost)| {
            let due = self.due(kept, origin)?;
            Some(((due.max(host.not_before), host.number), origin.clone()))
        };
        kept.hosts.iter().filter_map(due).min()
    }

    /// When the first URL of a host is due that nobody has leased.
    fn due(&self, kept: &Kept, origin: &str) -> Option<EpochMs> {
        let is_leased = self.leases.values().any(|(leased, _)| leased == origin);
        self.free(kept, origin).map(|(_, url)| url.due(kept)).min().filter(|_| !is_leased)
    }

    /// The host's URLs to fetch that are not in flight.
    fn free<'k>(&self, kept: &'k Kept, origin: &str) -> impl Iterator<Item = (&'k String, &'k Url)> {
        kept.urls.iter().filter(move |(name, url)| {
            url.origin == origin && url.queue != Queue::None && !self.in_flight.contains_key(*name)
        })
    }

    fn lease(&mut self, kept: &Kept, origin: &str, now: EpochMs, max_urls: usize) -> Lease {
        let (ready, mut later): (Vec<_>, Vec<_>) = self
            .free(kept, origin)
            .filter(|(_, url)| url.due(kept) <= now)
            .partition(|(_, url)| url.queue == Queue::Ready);
        later.sort_by_key(|(_, url)| (url.due(kept), url.rank));
        later.truncate(LATER_WINDOW);
        let mut chosen = [ready, later].concat();
        chosen.sort_by_key(|(_, url)| url.rank);
        chosen.truncate(max_urls);

        self.last_lease += 1;
        let id = self.last_lease;
        let names: Vec<String> = chosen.iter().map(|(name, _)| (*name).clone()).collect();
        self.in_flight.extend(names.iter().map(|name| (name.clone(), id)));
        self.leases.insert(id, (origin.to_owned(), names));
        let host = kept.hosts.get(origin).cloned().unwrap_or_default();
        let host = Host { origin: origin.to_owned(), robots: host.robots, trouble: host.trouble };
        Lease { id, host, work: chosen.into_iter().map(|(name, url)| url.work(name)).collect() }
    }
}

impl KeptHost {
    fn is_given_up(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.given_up)
    }
}

impl Url {
    /// 0 for what may be fetched any time.
    fn due(&self, kept: &Kept) -> EpochMs {
        match self.queue {
            Queue::Later(WHEN_MET_AGAIN) if !kept.hosts.get(&self.origin).is_some_and(KeptHost::is_given_up) => 0,
            Queue::Later(due) => due,
            Queue::Ready | Queue::None => 0,
        }
    }

    fn work(&self, name: &str) -> Work {
        let known = Work::new(name.to_owned(), self.kind, self.depth, self.attempt, self.page.clone());
        Work { was_put_off: self.was_put_off, ..known }
    }
}
