//! Leases: a host is taken, its URLs are in flight, and it is released.

use std::collections::HashSet;

use super::due::{WorkerSupply, band};
use super::host::HostState;
use super::queue::{Candidate, ChosenHost, Found, Queue};
use super::record::HostRecord;
use super::state::{Leased, Schedule};
use crate::Release;
use crate::keys::{HostKey, UrlKey};
use crate::lease::LATER_WINDOW;
use crate::share::shared;
use seine_parse::page::EpochMs;

/// Pause (ms) before a redirect to a blocked host is tried again. The operator's order ends it.
pub const BLOCKED_REST_MS: EpochMs = 3_600_000;

/// The result of asking for one host by its key.
#[derive(Debug)]
pub(crate) enum HostChoice {
    Leased(u64, Box<HostRecord>),
    /// It must wait until then.
    At {
        at: EpochMs,
        is_in_trouble: bool,
    },
    Taken,
}

impl Schedule {
    /// Takes the most urgent due host, if there is one. `free` workers are available, `spared` of them reserved.
    pub(crate) fn choose(&mut self, now: EpochMs, free: usize, spared: usize) -> Option<ChosenHost> {
        self.last_choice = self.last_choice.max(now);
        let room = WorkerSupply { workers: self.leases.len().saturating_add(free), is_spared: free <= spared };
        let taken = self.take_next(now, room)?;
        let host = taken.host;
        self.rest_for(host, None);
        let lease = self.begin_lease(host);
        let state = self.hosts.get_mut(&host)?;
        let busy = state.busy_mut();
        (busy.lease, busy.finished_meanwhile) = (Some(lease), Some(Vec::new()));
        Some(ChosenHost {
            lease,
            host,
            head: state.record.head,
            later_first: state.record.later_first,
            reads_ready: state.has_ready(),
            reads_later: state.record.later > 0 && state.next_later <= now,
            reads_parked: state.record.parked_due() <= now,
            is_tried_again: state.record.is_tried_again(now),
            in_flight_ready: state.busy().in_flight_ready,
            in_flight_later: state.busy().in_flight_later,
            epoch: state.epoch,
            taken,
            spare: usize::from(self.due.ranks()),
            has_deferred: state.record.deferred() > 0,
        })
    }

    /// Takes one host by its key, without URLs. `stored` is used if the schedule does not know it.
    pub(crate) fn choose_host(
        &mut self,
        host: HostKey,
        stored: Option<HostRecord>,
        now: EpochMs,
    ) -> Option<HostChoice> {
        if let (Some(record), false) = (stored, self.hosts.contains_key(&host)) {
            self.count(host, Some(record.counted()));
            self.hosts.insert(host, Box::new(HostState::new(record)));
        }
        let is_recalled = self.recalled.contains(&host);
        let state = self.hosts.get_mut(&host)?;
        let claim = if state.busy().lease.is_some() || is_recalled || self.unwritten.contains(&host) {
            HostChoice::Taken
        } else if state.record.is_blocked() {
            HostChoice::At { at: now + BLOCKED_REST_MS, is_in_trouble: true }
        } else if state.record.not_before > now {
            HostChoice::At { at: state.record.not_before, is_in_trouble: state.record.counted().waits_for().is_some() }
        } else {
            let record = Box::new(state.record.record());
            let lease = self.begin_lease(host);
            self.hosts.get_mut(&host)?.busy_mut().lease = Some(lease);
            HostChoice::Leased(lease, record)
        };
        self.list(host);
        Some(claim)
    }

    /// Puts up to `max_urls` of the URLs found in flight, and returns them. Without any, the host is not leased.
    pub(crate) fn settle<'f, T>(
        &mut self,
        chosen_host: &ChosenHost,
        found: &'f Found<T>,
        now: EpochMs,
        max_urls: usize,
    ) -> Vec<&'f Candidate<T>> {
        let meanwhile =
            self.hosts.get_mut(&chosen_host.host).and_then(|state| state.busy_mut().finished_meanwhile.take());
        let meanwhile = meanwhile.unwrap_or_default();
        let free = |candidate: &&Candidate<T>| {
            !self.in_flight.contains_key(&candidate.url) && !meanwhile.contains(&candidate.url)
        };
        let is_due = |candidate: &&Candidate<T>| matches!(candidate.queue, Queue::Later(due) if due <= now);
        let best = found.ready.iter().find(free).map(|best| best.rank.priority());
        if best.is_some_and(|best| self.due.has_better(chosen_host.taken, best, now)) {
            // The host has less to offer than expected, and others have more: it is listed again.
            if let Some(state) = self.hosts.get_mut(&chosen_host.host).filter(|state| state.epoch == chosen_host.epoch)
            {
                state.best = best.unwrap_or(state.best);
            }
            self.give_back(chosen_host.lease);
            return Vec::new();
        }
        let max_urls = if chosen_host.taken.from.is_some() { 1 } else { max_urls };
        let ranks = self.due.ranks();
        // URLs below the expected band wait.
        let is_as_good = |it: &&Candidate<T>| !ranks || best.map(band) == Some(band(it.rank.priority()));
        let ready = found.ready.iter().filter(free).filter(is_as_good);
        let mut due: Vec<&Candidate<T>> = ready.take(max_urls).collect();
        due.extend(found.later.iter().filter(is_due).filter(free).take(LATER_WINDOW));
        due.sort_by_key(|candidate| (candidate.waits_for_fresh(now), candidate.rank));
        due.dedup_by_key(|candidate| candidate.url);
        let (mut again, new): (Vec<_>, Vec<_>) = due.into_iter().partition(|candidate| candidate.is_revisit);
        // By rank, the last ones would never be rechecked on a host that has more due rechecks than requests.
        again.sort_by_key(|candidate| candidate.queue.due());
        let chosen = shared(new, again, max_urls, self.revisit_share, now);
        let taken: HashSet<UrlKey> = chosen.iter().map(|candidate| candidate.url).collect();
        let is_left = |candidate: &&Candidate<T>| free(candidate) && !taken.contains(&candidate.url);
        let next_later =
            found.later.iter().find(is_left).map_or(found.later_unread_from, |candidate| candidate.queue.due());
        let left = found.ready.iter().find(is_left).or(found.ready.last()).map(|left| left.rank.priority());
        self.take(chosen_host, &chosen);
        if let Some(state) = self.hosts.get_mut(&chosen_host.host) {
            let is_current = state.epoch == chosen_host.epoch;
            let next_later =
                if chosen_host.reads_parked { next_later } else { next_later.min(state.record.parked_due()) };
            if chosen_host.reads_later {
                state.next_later = if is_current { next_later } else { next_later.min(state.next_later) };
            }
            if let (true, Some(first), None) = (is_current, found.ready.first(), chosen_host.taken.from) {
                state.record.head = first.rank;
                state.best = left.unwrap_or(state.best);
            }
        }
        if chosen.is_empty() {
            self.give_back(chosen_host.lease);
        }
        chosen
    }

    fn take<T>(&mut self, claim: &ChosenHost, chosen: &[&Candidate<T>]) {
        let (Some(state), Some(leased)) = (self.hosts.get_mut(&claim.host), self.leases.get_mut(&claim.lease)) else {
            return;
        };
        for Candidate { url, queue, .. } in chosen {
            state.took_off(*queue);
            self.in_flight.insert(*url, *queue);
            leased.urls.push(*url);
        }
    }

    /// Records how long a remote worker may visit the host. None if the lease does not exist.
    pub(crate) fn lend(&mut self, lease: u64, until: EpochMs) -> Option<(HostKey, HostRecord)> {
        let leased = self.leases.get_mut(&lease)?;
        let state = self.hosts.get_mut(&leased.host)?;
        leased.is_lent = true;
        state.record.not_before = state.record.not_before.max(until);
        Some((leased.host, state.record.record()))
    }

    /// Ends a lease whose URLs were not handed out.
    pub(crate) fn give_back(&mut self, lease: u64) {
        self.end(lease, &HashSet::new());
    }

    /// Ends a lease. Its URLs that are not in `fetched` and have no verdict become available again. Returns the host
    /// and its changed record; none if the lease does not exist.
    pub(crate) fn release(
        &mut self,
        lease: u64,
        fetched: &HashSet<UrlKey>,
        release: &Release,
    ) -> Option<(HostKey, HostRecord)> {
        let leased = self.leases.get(&lease)?;
        let (host, is_lent) = (leased.host, leased.is_lent);
        let mut record = self.record(host)?;
        let before = if is_lent && release.client_is_done { 0 } else { record.not_before };
        record.not_before = before.max(release.not_before);
        if let Some(health) = release.health {
            record.trouble = health.trouble();
        }
        record.delay_ms = u64::try_from(release.delay.as_millis()).unwrap_or(u64::MAX);
        record.has_robots |= release.robots.is_some();
        record.waits_for = release.waits_for.as_deref().map(Into::into);
        self.count(host, Some(record.counted()));
        let state = self.hosts.get_mut(&host)?;
        if record.parked_due() != state.record.parked_due() {
            state.next_later = record.first_later();
        }
        state.record = record.clone().into();
        if release.spent.is_some() {
            self.rest_for(host, release.spent);
        }
        self.unwritten.insert(host);
        self.end(lease, fetched);
        Some((host, record))
    }

    fn end(&mut self, lease: u64, fetched: &HashSet<UrlKey>) {
        let Some(Leased { host, domain, urls, began, .. }) = self.leases.remove(&lease) else { return };
        self.due.domains.lease_ends(domain, (!urls.is_empty()).then_some(began));
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let busy = state.busy_mut();
        (busy.lease, busy.finished_meanwhile) = (None, None);
        for url in urls.iter().filter(|url| !fetched.contains(url)) {
            // None if its verdict came before the release.
            let Some(queue) = self.in_flight.remove(url) else { continue };
            state.landed(queue);
            match queue {
                Queue::Later(due) => state.next_later = state.next_later.min(due),
                Queue::Ready => state.best = state.best.min(state.record.head.priority()),
            }
        }
        self.list(host);
    }
}
