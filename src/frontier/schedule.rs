//! The embedded frontier's memory: hosts with work by the time they may be visited, leases, and URLs in flight.
//!
//! All of it is rebuilt from the host records at the opening. Nothing here touches the disk, so its lock is held for
//! microseconds only.

mod rebuilt;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use minicbor::{Decode, Encode};

use super::keys::{HostKey, Rank, UrlKey};
use super::trouble::{Cause, Trouble, Troubled, Waiting, WaitingHost};
use super::{Counts, PageState, Release, WHEN_MET_AGAIN};
use crate::delivery::Position;
use crate::page::EpochMs;

/// Later than every time.
pub const NEVER: EpochMs = EpochMs::MAX;

/// What the store keeps of a host.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HostRecord {
    /// Counts up in the order hosts are first seen; settles who is first among hosts that are due at the same time.
    #[n(0)]
    pub number: u64,
    #[n(1)]
    pub origin: Box<str>,
    #[n(2)]
    pub not_before: EpochMs,
    #[n(11)]
    pub trouble: Option<Trouble>,
    /// The host's own delay between visits (ms), as last released.
    #[n(3)]
    pub delay_ms: u64,
    /// URLs to fetch that may be fetched any time, and those that wait for a retry or a revisit.
    #[n(4)]
    pub ready: u64,
    #[n(5)]
    pub later: u64,
    /// Pages ever admitted, for the limit.
    #[n(6)]
    pub pages: u64,
    /// No URL in `ready` has a lower rank. Reading begins here, so as not to step over all that were deleted before.
    #[n(7)]
    pub head: Rank,
    /// The first due time in `later`; [`NEVER`] when it is empty.
    #[n(8)]
    pub later_first: EpochMs,
    /// Of `later`: due as soon as the host is not given up any more ([`WHEN_MET_AGAIN`]).
    #[n(9)]
    pub parked: u64,
    #[n(10)]
    pub has_robots: bool,
}

/// What the store keeps of itself, written with every change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Totals {
    #[n(0)]
    pub cursor: Position,
    #[n(1)]
    pub next_sequence: u64,
    #[n(2)]
    pub next_host: u64,
    #[n(3)]
    pub work: u64,
    #[n(4)]
    pub first_time: u64,
    #[n(5)]
    pub live: u64,
    #[n(6)]
    pub gone: u64,
    #[n(7)]
    pub refused: u64,
    #[n(8)]
    pub failed: u64,
    #[n(9)]
    pub links_seen: u64,
}

/// A host with work, or leased.
#[derive(Debug)]
pub struct HostState {
    pub record: HostRecord,
    in_flight_ready: usize,
    in_flight_later: usize,
    /// The first due time in `later` that is not in flight. May be too early (a lease sets it right), never too late.
    next_later: EpochMs,
    /// Grows with every change of the host's queues in the store: who read them before does not know of it.
    epoch: u64,
    lease: Option<u64>,
    /// While a lease reads the host's queues: URLs that got a verdict meanwhile. It may have read them still.
    finished_meanwhile: Option<Vec<UrlKey>>,
    /// The host's entry in `Schedule::due`.
    listed: Option<EpochMs>,
}

/// Which queue a URL in flight lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    Ready,
    Later(EpochMs),
}

#[derive(Debug)]
struct Leased {
    host: HostKey,
    urls: Vec<UrlKey>,
}

/// A host taken out for a lease, and where to read its queues.
#[derive(Debug)]
pub struct Claim {
    pub lease: u64,
    pub host: HostKey,
    pub head: Rank,
    pub later_first: EpochMs,
    /// Whether there is anything to read in each queue; of `later`, whether what is parked is due.
    pub reads_ready: bool,
    pub reads_later: bool,
    pub reads_parked: bool,
    pub in_flight_ready: usize,
    pub in_flight_later: usize,
    epoch: u64,
}

/// One host asked for by its key.
#[derive(Debug)]
pub enum HostClaim {
    Leased(u64, HostRecord),
    At(EpochMs),
    Taken,
}

/// What a lease found in the store, to be settled against what is in flight.
#[derive(Debug, Default)]
pub struct Found<T> {
    /// From the head on.
    pub ready: Vec<Candidate<T>>,
    /// In order of due time; those that are due, and one more if there is one.
    pub later: Vec<Candidate<T>>,
    /// The due time from which `later` was not read; [`NEVER`] when it was read to its end.
    pub later_unread_from: EpochMs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<T> {
    pub url: UrlKey,
    pub rank: Rank,
    pub queue: Queue,
    pub item: T,
}

#[derive(Debug, Default)]
pub struct Schedule {
    pub totals: Totals,
    hosts: HashMap<HostKey, HostState>,
    due: BTreeSet<(EpochMs, u64, HostKey)>,
    in_flight: HashMap<UrlKey, Queue>,
    leases: HashMap<u64, Leased>,
    hosts_with_work: u64,
    /// Hosts in trouble that have work, and their URLs.
    troubled: BTreeMap<Cause, (u64, u64)>,
    given_up: HashSet<HostKey>,
    last_lease: u64,
}

impl HostRecord {
    pub fn work(&self) -> u64 {
        self.ready + self.later
    }

    /// What leases and releases changed, which only the schedule knows at once; the rest is the store's.
    pub fn take_visits_from(&mut self, now: &HostRecord) {
        self.not_before = now.not_before;
        self.trouble = now.trouble;
        self.delay_ms = now.delay_ms;
        self.has_robots = now.has_robots;
    }

    pub fn is_given_up(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.given_up)
    }

    /// When the first of `later` is due, as far as the store knows.
    fn first_later(&self) -> EpochMs {
        if self.reads_parked() { 0 } else { self.later_first }
    }

    fn reads_parked(&self) -> bool {
        self.parked > 0 && !self.is_given_up()
    }
}

impl Totals {
    /// Adds `by` (1 or -1) to the number of pages in `state`.
    pub fn count_page(&mut self, state: PageState, by: i64) {
        let slot = match state {
            PageState::New | PageState::Unchanged | PageState::Changed => &mut self.live,
            PageState::Gone => &mut self.gone,
            PageState::Refused => &mut self.refused,
            PageState::Failed(_) => &mut self.failed,
        };
        *slot = slot.saturating_add_signed(by);
    }
}

impl HostState {
    fn new(record: HostRecord) -> HostState {
        let next_later = record.first_later();
        HostState {
            record,
            in_flight_ready: 0,
            in_flight_later: 0,
            next_later,
            epoch: 0,
            lease: None,
            finished_meanwhile: None,
            listed: None,
        }
    }

    fn has_ready(&self) -> bool {
        self.record.ready > self.in_flight_ready as u64
    }

    fn due(&self) -> Option<EpochMs> {
        if self.lease.is_some() {
            None
        } else if self.has_ready() {
            Some(self.record.not_before)
        } else if self.next_later != NEVER {
            Some(self.record.not_before.max(self.next_later))
        } else {
            None
        }
    }

    fn is_idle(&self) -> bool {
        self.record.work() == 0 && self.lease.is_none() && self.in_flight_ready + self.in_flight_later == 0
    }
}

impl Schedule {
    pub fn new(totals: Totals) -> Schedule {
        Schedule { totals, ..Schedule::default() }
    }

    pub fn record(&self, host: HostKey) -> Option<&HostRecord> {
        self.hosts.get(&host).map(|state| &state.record)
    }

    pub fn is_in_flight(&self, url: UrlKey) -> bool {
        self.in_flight.contains_key(&url)
    }

    pub fn next_due(&self) -> Option<EpochMs> {
        self.due.first().map(|(due, ..)| *due).filter(|due| *due < WHEN_MET_AGAIN)
    }

    /// The contract is that of [`super::Frontier::has_work`]. Looks at hosts only when all that is left are revisits, and
    /// no further than the first that has one due.
    pub fn has_work(&self, now: EpochMs) -> bool {
        let is_due = |state: &HostState| state.has_ready() || state.next_later <= now;
        let is_busy = self.totals.first_time > 0 || !self.leases.is_empty() || !self.in_flight.is_empty();
        is_busy || self.due.iter().any(|(.., host)| self.hosts.get(host).is_some_and(is_due))
    }

    pub fn counts(&self) -> Counts {
        let Totals { live, gone, refused, failed, .. } = self.totals;
        Counts {
            work_proposed: self.totals.work,
            first_time: self.totals.first_time,
            page: live + gone + refused + failed,
            live,
            gone,
            refused,
            failed,
            hosts: self.totals.next_host,
            hosts_with_work: self.hosts_with_work,
            hosts_leased: self.leases.len() as u64,
            in_flight: self.in_flight.len() as u64,
            links_seen: self.totals.links_seen,
        }
    }

    /// Puts in what the store now says of a host. `finished` are its URLs that got a verdict: no longer in flight.
    /// `later_added`: the first due time put into `later`, or [`NEVER`].
    pub fn update(&mut self, host: HostKey, record: HostRecord, finished: &[UrlKey], later_added: EpochMs) {
        self.count(host, Some(&record));
        let state = self.hosts.entry(host).or_insert_with(|| HostState::new(record.clone()));
        let was_met_again = record.reads_parked() && !state.record.reads_parked();
        let later_added = if later_added == WHEN_MET_AGAIN { record.first_later() } else { later_added };
        state.record = record;
        state.epoch += 1;
        if let Some(meanwhile) = &mut state.finished_meanwhile {
            meanwhile.extend_from_slice(finished);
        }
        let mut all_were_in_flight = true;
        for url in finished {
            match self.in_flight.remove(url) {
                Some(queue) => state.landed(queue),
                None => all_were_in_flight = false,
            }
        }
        state.next_later = if all_were_in_flight && state.in_flight_later > 0 && !was_met_again {
            state.next_later.min(later_added)
        } else {
            // What was first may be gone, or be in flight: too early at worst, and a lease sets it right.
            state.record.first_later()
        };
        self.list(host);
    }

    /// Replaces what the counters say of a host by what its record is to be; none: nothing.
    fn count(&mut self, host: HostKey, record: Option<&HostRecord>) {
        let before = self.hosts.get(&host).map(|state| &state.record).filter(|record| record.work() > 0);
        let now = record.filter(|record| record.work() > 0);
        self.hosts_with_work += u64::from(now.is_some());
        self.hosts_with_work -= u64::from(before.is_some());
        let troubled = |record: &HostRecord| {
            let trouble = record.trouble.filter(Trouble::is_the_hosts)?;
            Some((trouble.cause, record.work()))
        };
        let (before, after) = (before.and_then(troubled), now.and_then(troubled));
        if before != after {
            if let Some((cause, urls)) = after {
                let (hosts, all) = self.troubled.entry(cause).or_default();
                (*hosts, *all) = (*hosts + 1, *all + urls);
            }
            if let Some((cause, urls)) = before
                && let Some((hosts, all)) = self.troubled.get_mut(&cause)
            {
                (*hosts, *all) = (hosts.saturating_sub(1), all.saturating_sub(urls));
            }
            self.troubled.retain(|_, (hosts, _)| *hosts > 0);
        }
        match record.is_some_and(HostRecord::is_given_up) {
            true => self.given_up.insert(host),
            false => self.given_up.remove(&host),
        };
    }

    /// Those of `hosts` that are given up.
    pub fn given_up_among(&self, hosts: impl Iterator<Item = HostKey>) -> Vec<HostKey> {
        if self.given_up.is_empty() {
            return Vec::new();
        }
        hosts.filter(|host| self.given_up.contains(host)).collect()
    }

    /// Hosts whose trouble is of before `opened_at`, and whose server did not ask to be left alone for longer.
    pub fn resting_of_old(&self, opened_at: EpochMs) -> Vec<(HostKey, Box<str>)> {
        let is_old = |trouble: &Trouble| {
            trouble.is_the_hosts()
                && trouble.last < opened_at
                && trouble.asked_until.is_none_or(|until| until <= opened_at)
        };
        let old = self.hosts.iter().filter(|(_, state)| state.record.trouble.as_ref().is_some_and(is_old));
        old.map(|(host, state)| (*host, state.record.origin.clone())).collect()
    }

    /// The contract is that of [`super::Frontier::waiting`].
    pub fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting {
        let troubled =
            self.troubled.iter().map(|(cause, (hosts, urls))| Troubled { cause: *cause, hosts: *hosts, urls: *urls });
        let later = self.due.range((now + 1, 0, 0)..(WHEN_MET_AGAIN, 0, 0)).take(at_most);
        let next = later.filter_map(|(until, _, host)| {
            let record = self.record(*host)?;
            let (origin, trouble) = (record.origin.to_string(), record.trouble.filter(Trouble::is_the_hosts));
            Some(WaitingHost { origin, until: *until, urls: record.work(), trouble })
        });
        Waiting { troubled: troubled.collect(), next: next.collect() }
    }

    /// Takes the most urgent host that is due, if there is one.
    pub fn claim(&mut self, now: EpochMs) -> Option<Claim> {
        let (due, number, host) = *self.due.first()?;
        if due > now {
            return None;
        }
        self.due.remove(&(due, number, host));
        let state = self.hosts.get_mut(&host)?;
        self.last_lease += 1;
        state.listed = None;
        state.lease = Some(self.last_lease);
        state.finished_meanwhile = Some(Vec::new());
        self.leases.insert(self.last_lease, Leased { host, urls: Vec::new() });
        Some(Claim {
            lease: self.last_lease,
            host,
            head: state.record.head,
            later_first: state.record.later_first,
            reads_ready: state.has_ready(),
            reads_later: state.record.later > 0,
            reads_parked: state.record.reads_parked(),
            in_flight_ready: state.in_flight_ready,
            in_flight_later: state.in_flight_later,
            epoch: state.epoch,
        })
    }

    /// Takes one host out by its key, without URLs. `stored` is used when the schedule does not know it.
    pub fn claim_host(&mut self, host: HostKey, stored: Option<HostRecord>, now: EpochMs) -> Option<HostClaim> {
        if let (Some(record), false) = (stored, self.hosts.contains_key(&host)) {
            self.count(host, Some(&record));
            self.hosts.insert(host, HostState::new(record));
        }
        let state = self.hosts.get_mut(&host)?;
        let claim = if state.lease.is_some() {
            HostClaim::Taken
        } else if state.record.not_before > now {
            HostClaim::At(state.record.not_before)
        } else {
            self.last_lease += 1;
            state.lease = Some(self.last_lease);
            self.leases.insert(self.last_lease, Leased { host, urls: Vec::new() });
            HostClaim::Leased(self.last_lease, state.record.clone())
        };
        self.list(host);
        Some(claim)
    }

    /// Puts up to `max_urls` of what was found in flight and returns them, in order of rank. With none, the host is not
    /// leased after all.
    pub fn settle<T: Copy>(
        &mut self,
        claim: &Claim,
        found: &Found<T>,
        now: EpochMs,
        max_urls: usize,
    ) -> Vec<Candidate<T>> {
        let meanwhile = self.hosts.get_mut(&claim.host).and_then(|state| state.finished_meanwhile.take());
        let meanwhile = meanwhile.unwrap_or_default();
        let free = |candidate: &&Candidate<T>| {
            !self.in_flight.contains_key(&candidate.url) && !meanwhile.contains(&candidate.url)
        };
        let is_due = |candidate: &&Candidate<T>| matches!(candidate.queue, Queue::Later(due) if due <= now);
        let mut chosen: Vec<Candidate<T>> = found.ready.iter().filter(free).take(max_urls).copied().collect();
        chosen.extend(found.later.iter().filter(is_due).filter(free).take(super::LATER_WINDOW).copied());
        chosen.sort_by_key(|candidate| candidate.rank);
        chosen.dedup_by_key(|candidate| candidate.url);
        chosen.truncate(max_urls);
        let taken: HashSet<UrlKey> = chosen.iter().map(|candidate| candidate.url).collect();
        let next_later = found
            .later
            .iter()
            .filter(free)
            .find(|candidate| !taken.contains(&candidate.url))
            .map_or(found.later_unread_from, |candidate| candidate.queue.due());
        self.take(claim, &chosen);
        if let Some(state) = self.hosts.get_mut(&claim.host) {
            let is_current = state.epoch == claim.epoch;
            if claim.reads_later {
                state.next_later = if is_current { next_later } else { next_later.min(state.next_later) };
            }
            if let (true, Some(first)) = (is_current, found.ready.first()) {
                state.record.head = first.rank;
            }
        }
        if chosen.is_empty() {
            self.give_back(claim.lease);
        }
        chosen
    }

    fn take<T>(&mut self, claim: &Claim, chosen: &[Candidate<T>]) {
        let (Some(state), Some(leased)) = (self.hosts.get_mut(&claim.host), self.leases.get_mut(&claim.lease)) else {
            return;
        };
        for Candidate { url, queue, .. } in chosen {
            match queue {
                Queue::Ready => state.in_flight_ready += 1,
                Queue::Later(_) => state.in_flight_later += 1,
            }
            self.in_flight.insert(*url, *queue);
            leased.urls.push(*url);
        }
    }

    /// Ends a lease of which nothing was handed out.
    pub fn give_back(&mut self, lease: u64) {
        self.end(lease, &HashSet::new());
    }

    /// Ends a lease; its URLs that are not in `fetched` and got no verdict meanwhile can be leased again. Returns the host
    /// and its changed record; none when there is no such lease.
    pub fn release(
        &mut self,
        lease: u64,
        fetched: &HashSet<UrlKey>,
        release: &Release,
    ) -> Option<(HostKey, HostRecord)> {
        let host = self.leases.get(&lease)?.host;
        let mut record = self.hosts.get(&host)?.record.clone();
        record.not_before = record.not_before.max(release.not_before);
        if let Some(health) = release.health {
            record.trouble = health.trouble();
        }
        record.delay_ms = u64::try_from(release.delay.as_millis()).unwrap_or(u64::MAX);
        record.has_robots |= release.robots.is_some();
        self.count(host, Some(&record));
        let state = self.hosts.get_mut(&host)?;
        if record.reads_parked() != state.record.reads_parked() {
            state.next_later = record.first_later();
        }
        state.record = record.clone();
        self.end(lease, fetched);
        Some((host, record))
    }

    fn end(&mut self, lease: u64, fetched: &HashSet<UrlKey>) {
        let Some(Leased { host, urls }) = self.leases.remove(&lease) else { return };
        let Some(state) = self.hosts.get_mut(&host) else { return };
        (state.lease, state.finished_meanwhile) = (None, None);
        for url in urls.iter().filter(|url| !fetched.contains(url)) {
            // None when its verdict came before the release.
            let Some(queue) = self.in_flight.remove(url) else { continue };
            state.landed(queue);
            if let Queue::Later(due) = queue {
                state.next_later = state.next_later.min(due);
            }
        }
        self.list(host);
    }

    /// Brings the host's entry in `due` up to date; a host without anything to do is forgotten, the store has it.
    fn list(&mut self, host: HostKey) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let due = state.due();
        if due != state.listed {
            if let Some(old) = state.listed {
                self.due.remove(&(old, state.record.number, host));
            }
            if let Some(new) = due {
                self.due.insert((new, state.record.number, host));
            }
            state.listed = due;
        }
        if state.is_idle() {
            self.hosts.remove(&host);
            self.given_up.remove(&host);
        }
    }
}

impl HostState {
    fn landed(&mut self, queue: Queue) {
        match queue {
            Queue::Ready => self.in_flight_ready -= 1,
            Queue::Later(_) => self.in_flight_later -= 1,
        }
    }
}

impl Queue {
    pub fn due(self) -> EpochMs {
        match self {
            Queue::Ready => 0,
            Queue::Later(due) => due,
        }
    }
}
