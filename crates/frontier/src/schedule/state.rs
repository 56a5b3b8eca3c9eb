//! The state of the schedule: hosts by due time, and counters of what waits.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::due::Due;
use super::host::HostState;
use super::queue::Queue;
use super::record::{Counted, HostRecord};
use super::totals::Totals;
use crate::deferred::DEFERRED;
use crate::keys::{DomainKey, HostKey, Keys, UrlKey};
use crate::{Cause, Counts, Spent, Trouble, Troubled, WHEN_LINKED_AGAIN, Waiting, WaitingHost};
use seine_parse::page::EpochMs;
use seine_policies::budgets::Budget;

#[derive(Debug)]
pub(super) struct Leased {
    pub(super) host: HostKey,
    pub(super) domain: DomainKey,
    pub(super) urls: Vec<UrlKey>,
    pub(super) began: EpochMs,
    /// A remote worker visits the host, until the time in its record.
    pub(super) is_lent: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub totals: Totals,
    pub(super) keys: Keys,
    /// See [`crate::FrontierOptions::revisit_share`].
    pub revisit_share: f64,
    /// Boxed, because the map has room for as many again, and moves its values when it grows.
    pub(super) hosts: HashMap<HostKey, Box<HostState>>,
    pub(super) due: Due,
    pub(super) in_flight: HashMap<UrlKey, Queue>,
    pub(super) leases: HashMap<u64, Leased>,
    pub(super) hosts_with_work: u64,
    /// See [`Counts::hosts_fresh`].
    pub(super) hosts_fresh: u64,
    /// See [`Counts::given_up`].
    pub(super) urls_given_up: u64,
    /// Hosts in trouble with queued URLs, and the number of these.
    pub(super) troubled: BTreeMap<Cause, (u64, u64)>,
    pub(super) given_up: BTreeSet<HostKey>,
    /// Blocked hosts with queued URLs.
    pub(super) blocked: BTreeSet<HostKey>,
    /// Hosts with deferred URLs.
    pub deferred: BTreeSet<HostKey>,
    /// Hosts that are not leased for the time being.
    pub(super) recalled: HashSet<HostKey>,
    /// Hosts that are not leased before the results of their last visit are written.
    pub(super) unwritten: HashSet<HostKey>,
    /// Number of hosts that a used-up budget has stopped, by budget.
    pub(super) resting: HashMap<Budget, u64>,
    pub(super) last_lease: u64,
    /// The time when a host was last chosen: about now, for callers without a time.
    pub(super) last_choice: EpochMs,
}

impl Schedule {
    /// `ranks`: links have scores, so hosts come by their best queued URL.
    pub(crate) fn new(totals: Totals, keys: Keys, revisit_share: f64, ranks: bool) -> Schedule {
        Schedule { totals, keys, revisit_share, due: Due::new(ranks), ..Schedule::default() }
    }

    pub(crate) fn record(&self, host: HostKey) -> Option<HostRecord> {
        self.hosts.get(&host).map(|state| state.record.record())
    }

    pub(crate) fn is_in_flight(&self, url: UrlKey) -> bool {
        self.in_flight.contains_key(&url)
    }

    pub(crate) fn next_due(&self) -> Option<EpochMs> {
        self.due.first().filter(|due| *due < DEFERRED)
    }

    /// Implements [`crate::EmbeddedFrontier::next_due_well`]. Reads the hosts in trouble that come first.
    pub(crate) fn next_due_well(&self) -> Option<EpochMs> {
        let is_well = |host| self.hosts.get(&host).is_some_and(|state| state.record.counted().waits_for().is_none());
        self.due.first_of(is_well).filter(|due| *due < DEFERRED)
    }

    /// Implements [`crate::EmbeddedFrontier::has_work`]. Reads hosts only if all that is left are rechecks, and only
    /// up to the first one with a due recheck.
    pub(crate) fn has_work(&self, now: EpochMs) -> bool {
        let is_due = |state: &HostState| state.has_ready() || state.next_later <= now;
        let is_busy =
            self.totals.first_time > self.totals.deferred || !self.leases.is_empty() || !self.in_flight.is_empty();
        // Its due URLs are found when it is listed again.
        let is_busy = is_busy || self.has_unwritten();
        let mut open = self.due.hosts().chain(self.blocked.iter().copied());
        is_busy || open.any(|host| self.hosts.get(&host).is_some_and(|state| is_due(state)))
    }

    pub(crate) fn counts(&self) -> Counts {
        let Totals { live, gone, refused, failed, withheld, alias, duplicates, truncated: half, .. } = self.totals;
        Counts {
            work_proposed: self.totals.work,
            first_time: self.totals.first_time,
            deferred: self.totals.deferred,
            deferred_elsewhere: self.totals.deferred_elsewhere,
            given_up: self.urls_given_up,
            page: live + gone + refused + failed + withheld + alias,
            live,
            gone,
            refused,
            failed,
            withheld,
            alias,
            duplicates,
            truncated: half,
            hosts: self.totals.next_host,
            over_hosts: self.totals.over_hosts,
            hosts_with_work: self.hosts_with_work,
            hosts_fresh: self.hosts_fresh,
            hosts_leased: self.leases.len() as u64,
            in_flight: self.in_flight.len() as u64,
            links_seen: self.totals.links_seen,
            judged: self.totals.judged,
            relevant: self.totals.relevant,
        }
    }

    /// Puts the stored record of a host. `finished`: its URLs with a verdict, which are no longer in flight.
    /// `later_added`: the first due time put into `later`, or [`super::NEVER`]. `best_added`: the best priority put
    /// into `ready`; 255: none.
    pub(crate) fn update(
        &mut self,
        host: HostKey,
        record: HostRecord,
        finished: &[UrlKey],
        (later_added, best_added): (EpochMs, u8),
    ) {
        self.count(host, Some(record.counted()));
        let state = self.hosts.entry(host).or_insert_with(|| Box::new(HostState::new(record.clone())));
        let was_met_again = record.parked_due() < state.record.parked_due();
        let later_added = if later_added == WHEN_LINKED_AGAIN { record.first_later() } else { later_added };
        state.record = record.into();
        state.best = state.best.min(best_added);
        state.epoch = state.epoch.wrapping_add(1);
        state.finish(finished);
        let mut all_were_in_flight = true;
        for url in finished {
            match self.in_flight.remove(url) {
                Some(queue) => state.landed(queue),
                None => all_were_in_flight = false,
            }
        }
        state.next_later = if all_were_in_flight && state.busy().in_flight_later > 0 && !was_met_again {
            state.next_later.min(later_added)
        } else {
            // The former first URL may be gone or in flight. Then the time is too early, and a lease corrects it.
            state.record.first_later()
        };
        self.list(host);
    }

    /// A used-up budget stops a host, or (none) no longer does.
    pub(super) fn rest_for(&mut self, host: HostKey, spent: Option<Spent>) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        if state.busy().spent.is_none() && spent.is_none() {
            return;
        }
        let before = std::mem::replace(&mut state.busy_mut().spent, spent);
        if let Some(hosts) = before.and_then(|spent| self.resting.get_mut(&spent.budget)) {
            *hosts -= 1;
        }
        if let Some(Spent { budget, .. }) = spent {
            *self.resting.entry(budget).or_default() += 1;
        }
    }

    /// Implements [`crate::EmbeddedFrontier::recall`].
    pub(crate) fn recall(&mut self, host: HostKey, recalled: bool) {
        match recalled {
            true => self.recalled.insert(host),
            false => self.recalled.remove(&host),
        };
        self.list(host);
    }

    pub(crate) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// The results of its last visit are written, or cannot be written for now.
    pub(crate) fn written(&mut self, host: HostKey) {
        if self.unwritten.remove(&host) {
            self.list(host);
        }
    }

    /// Whether nothing more may be fetched from a leased host.
    pub(crate) fn is_recalled(&self, host: HostKey) -> bool {
        self.recalled.contains(&host) || self.hosts.get(&host).is_some_and(|state| state.record.is_blocked())
    }

    /// Whether a URL is in flight, or may be soon because its host is leased.
    pub(crate) fn is_busy(&self, url: UrlKey) -> bool {
        self.is_in_flight(url) || self.hosts.get(&url.host).is_some_and(|state| state.busy().lease.is_some())
    }

    pub(crate) fn ranks(&self) -> bool {
        self.due.ranks()
    }

    /// Switches scores on or off.
    pub(crate) fn rank(&mut self, ranks: bool) {
        if self.due.ranks() != ranks {
            self.due.rank(ranks);
            self.hosts.values_mut().for_each(|state| state.listed = None);
            let hosts: Vec<HostKey> = self.hosts.keys().copied().collect();
            hosts.into_iter().for_each(|host| self.list(host));
        }
    }

    /// Budgets have changed, so hosts stopped by one are checked again.
    pub(crate) fn wake_resting(&mut self) {
        let resting = self.hosts.iter().filter(|(_, state)| state.busy().spent.is_some()).map(|(host, _)| *host);
        for host in resting.collect::<Vec<_>>() {
            self.rest_for(host, None);
            self.list(host);
        }
        self.resting.clear();
    }

    /// Number of hosts stopped by this budget.
    pub(crate) fn resting_for(&self, budget: &Budget) -> u64 {
        self.resting.get(budget).copied().unwrap_or(0)
    }

    /// Updates the counters for a host's new record; none: it is removed.
    pub(super) fn count(&mut self, host: HostKey, record: Option<Counted>) {
        let before = self.hosts.get(&host).map(|state| state.record.counted()).filter(|record| record.work > 0);
        let now = record.filter(|record| record.work > 0);
        self.hosts_with_work += u64::from(now.is_some());
        self.hosts_with_work -= u64::from(before.is_some());
        self.hosts_fresh += u64::from(now.is_some_and(Counted::is_fresh));
        self.hosts_fresh -= u64::from(before.is_some_and(Counted::is_fresh));
        self.urls_given_up += now.map_or(0, Counted::given_up);
        self.urls_given_up -= before.map_or(0, Counted::given_up);
        let troubled = |record: Counted| {
            // A blocked host waits for the operator, whatever its trouble.
            let trouble = record.waits_for().filter(|_| !record.is_blocked)?;
            Some((trouble.cause, record.work))
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
        let is_blocked = now.is_some_and(|record| record.is_blocked);
        let is_held = now.is_some_and(|record| record.has_deferred);
        let is_given_up = record.and_then(|record| record.trouble).is_some_and(|trouble| trouble.given_up);
        for (hosts, is_one) in
            [(&mut self.blocked, is_blocked), (&mut self.deferred, is_held), (&mut self.given_up, is_given_up)]
        {
            match is_one {
                true => hosts.insert(host),
                false => hosts.remove(&host),
            };
        }
    }

    /// Hosts with URLs that wait for a retry or recheck.
    pub(crate) fn hosts_with_later(&self) -> Vec<(HostKey, Box<str>)> {
        let hosts = self.hosts.iter().filter(|(_, state)| state.record.later > 0);
        hosts.map(|(host, state)| (*host, state.record.origin.clone())).collect()
    }

    /// Those of `hosts` that are given up.
    pub(crate) fn given_up_among(&self, hosts: impl Iterator<Item = HostKey>) -> Vec<HostKey> {
        if self.given_up.is_empty() {
            return Vec::new();
        }
        hosts.filter(|host| self.given_up.contains(host)).collect()
    }

    /// Hosts whose trouble is older than `opened_at`, and whose server did not ask for a longer pause.
    pub(crate) fn resting_of_old(&self, opened_at: EpochMs) -> Vec<(HostKey, Box<str>)> {
        let is_old = |trouble: &Trouble| {
            (trouble.is_the_hosts() || trouble.errors.are_many())
                && trouble.last < opened_at
                && trouble.asked_until.is_none_or(|until| until <= opened_at)
        };
        let old = self.hosts.iter().filter(|(_, state)| state.record.trouble().as_ref().is_some_and(is_old));
        old.map(|(host, state)| (*host, state.record.origin.clone())).collect()
    }

    /// Implements [`crate::Scheduler::waiting`].
    pub(crate) fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting {
        let troubled =
            self.troubled.iter().map(|(cause, (hosts, urls))| Troubled { cause: *cause, hosts: *hosts, urls: *urls });
        let rests = |host: &HostKey| self.hosts.get(host).is_some_and(|state| state.busy().spent.is_some());
        let later = self.due.between((now + 1, DEFERRED), at_most, |host| !rests(host));
        let later = later.into_iter().filter_map(|(until, host)| self.waiting_host(host, until));
        // A host in trouble is not well because it is being visited, or because the end of its visit is not written yet.
        let visited = self.leases.values().map(|lease| &lease.host).chain(&self.unwritten);
        let visited = visited.filter_map(|host| self.waiting_host(*host, now));
        let mut next: Vec<_> = visited.filter(|host| host.trouble.is_some() && host.urls > 0).collect();
        next.sort_by(|one, other| one.origin.cmp(&other.origin));
        next.extend(later);
        next.truncate(at_most);
        Waiting { troubled: troubled.collect(), blocked: self.blocked.len() as u64, next }
    }

    fn waiting_host(&self, host: HostKey, until: EpochMs) -> Option<WaitingHost> {
        let record = self.record(host)?;
        let (origin, trouble) = (record.origin.to_string(), record.waits_for());
        Some(WaitingHost { origin, until, urls: record.work(), trouble })
    }

    /// Updates the host's entry in `due`. A host without anything to do is removed; the store has it.
    pub(super) fn list(&mut self, host: HostKey) {
        let domain = self.domain_of(host);
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let is_unwritten = self.unwritten.contains(&host);
        let due = if is_unwritten || self.recalled.contains(&host) { None } else { state.due() };
        let listed = due.map(|due| self.due.entry(due, state.has_ready().then_some(state.best), domain));
        let is_as_it_was = match (listed, state.listed) {
            (Some(new), Some(old)) => new.is_as(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        state.tidy();
        let is_idle = state.is_idle() && !is_unwritten;
        if !is_as_it_was {
            self.relist(host, listed);
        }
        if is_idle {
            self.rest_for(host, None);
            self.count(host, None);
            self.hosts.remove(&host);
        }
    }
}
