//! State that ends with the process: leases, URLs in flight.

use std::collections::{BTreeMap, BTreeSet};

use seine_frontier::{Host, Lease, WHEN_LINKED_AGAIN};
use seine_parse::page::EpochMs;
use seine_parse::url;

use super::kept::{Kept, KeptHost, Queue, Url};
use super::share::shared;

/// Maximum number of due retries and rechecks of a host that are considered for a lease.
const LATER_WINDOW: usize = 256;
/// For this long a due retry comes after URLs that were never fetched.
const RETRY_WAITS_MS: u64 = 600_000;

#[derive(Debug, Default)]
pub(super) struct Volatile {
    /// Lease by URL in flight.
    pub in_flight: BTreeMap<String, u64>,
    /// Origin, URLs and begin by lease.
    pub leases: BTreeMap<u64, (String, Vec<String>, EpochMs)>,
    pub last_lease: u64,
    /// When each host's last visit began. Each host in these tests has a domain of its own.
    pub visited: BTreeMap<String, EpochMs>,
    /// When a host was last asked for.
    pub last_claim: EpochMs,
}

impl Volatile {
    /// When each host with free URLs is due.
    pub fn hosts<'k>(&self, kept: &'k Kept) -> impl Iterator<Item = (EpochMs, &'k String, &'k KeptHost)> {
        let due = |(origin, host): (&'k String, &'k KeptHost)| {
            Some((self.due(kept, origin)?.max(host.not_before), origin, host))
        };
        kept.hosts.iter().filter_map(due)
    }

    /// The due host whose last visit began longest ago; if it had none, its due time counts. `is_spared`: only of a
    /// domain without a lease, if more than one domain has work.
    pub fn next_host(&self, kept: &Kept, now: EpochMs, is_spared: bool) -> Option<String> {
        let domains: BTreeSet<&str> = self.hosts(kept).map(|(_, origin, _)| domain(origin)).collect();
        let leased: BTreeSet<&str> = self.leases.values().map(|(origin, ..)| domain(origin)).collect();
        let may_be = |origin: &str| !is_spared || domains.len() < 2 || !leased.contains(domain(origin));
        let due = self.hosts(kept).filter(|(due, origin, _)| *due <= now && may_be(origin));
        let waited = |(due, origin, host): &(EpochMs, &String, &KeptHost)| {
            (self.visited.get(*origin).copied().unwrap_or(*due), host.number)
        };
        due.min_by_key(waited).map(|(_, origin, _)| origin.clone())
    }

    /// When the first URL of a host that is not leased is due.
    pub fn due(&self, kept: &Kept, origin: &str) -> Option<EpochMs> {
        let is_leased =
            self.leases.values().any(|(leased, ..)| leased == origin) || kept.unwritten.contains_key(origin);
        self.free(kept, origin).map(|(_, url)| url.due(kept)).min().filter(|_| !is_leased)
    }

    /// The host's queued URLs that are not in flight.
    pub fn free<'k>(&self, kept: &'k Kept, origin: &str) -> impl Iterator<Item = (&'k String, &'k Url)> {
        kept.urls.iter().filter(move |(name, url)| {
            url.origin == origin && url.queue != Queue::None && !self.in_flight.contains_key(*name)
        })
    }

    pub fn lease(&mut self, kept: &Kept, origin: &str, now: EpochMs, (max_urls, share): (usize, f64)) -> Lease {
        let trouble = kept.hosts.get(origin).and_then(|host| host.trouble);
        let is_tried_again = trouble.is_some_and(|trouble| trouble.is_tried_again(now));
        let max_urls = if is_tried_again { 1 } else { max_urls };
        let (ready, mut later): (Vec<_>, Vec<_>) = self
            .free(kept, origin)
            .filter(|(_, url)| url.due(kept) <= now)
            .partition(|(_, url)| url.queue == Queue::Ready);
        later.sort_by_key(|(_, url)| (url.due(kept), url.rank));
        later.truncate(LATER_WINDOW);
        let mut due = [ready, later].concat();
        let waits = |url: &Url| url.queue != Queue::Ready && url.page.is_none() && now - url.due(kept) < RETRY_WAITS_MS;
        due.sort_by_key(|(_, url)| (waits(url), url.rank));
        let (mut again, new): (Vec<_>, Vec<_>) = due.into_iter().partition(|(_, url)| url.page.is_some());
        again.sort_by_key(|(_, url)| if url.queue == Queue::Later(WHEN_LINKED_AGAIN) { 0 } else { url.due(kept) });
        let chosen = shared(new, again, max_urls, share, now);

        self.last_lease += 1;
        let id = self.last_lease;
        let names: Vec<String> = chosen.iter().map(|(name, _)| (*name).clone()).collect();
        self.in_flight.extend(names.iter().map(|name| (name.clone(), id)));
        self.leases.insert(id, (origin.to_owned(), names, now));
        let host = kept.hosts.get(origin).cloned().unwrap_or_default();
        let host = Host { origin: origin.to_owned(), robots: host.robots, trouble: host.trouble, ordered_delay: None };
        Lease { id, host, work: chosen.into_iter().map(|(name, url)| url.work(name)).collect() }
    }
}

/// The registrable domain of a host.
fn domain(origin: &str) -> &str {
    url::registrable_domain(url::host(origin).unwrap_or(origin))
}
