//! Which host is leased, with many domains, and with domains of many hosts. The test controls the time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use seine_frontier::*;
use seine_parse::page::EpochMs;

use crate::support::*;

on_every_frontier!(keeps_to_the_limit_of_hosts_of_a_domain);

const WORKERS: usize = 32;
const SPARED: usize = WORKERS / 8;
/// Delay of a host.
const DELAY: EpochMs = 1_000;

/// Workers in virtual time. A visit of a subdomain takes `slow`, of any other host 50 ms.
struct Crawl {
    frontier: Disk,
    now: EpochMs,
    slow: EpochMs,
    /// By their end.
    visits: BTreeMap<(EpochMs, u64), Lease>,
    /// Pages fetched from each origin that is not a subdomain, and from all subdomains.
    pages: BTreeMap<String, u64>,
    subdomains: u64,
    events: u64,
    /// Number of new subdomains found per visit of a subdomain.
    spawns: u64,
    next: u64,
}

fn is_subdomain(origin: &str) -> bool {
    origin.contains(".wildcard")
}

impl Crawl {
    fn new(good: u64, spawns: u64, slow: EpochMs) -> Crawl {
        let frontier = embedded(plain());
        let work: Vec<_> = (0..good)
            .flat_map(|host| (0..200).map(move |n| page(&format!("https://www.good-{host}.com/{n}"))))
            .collect();
        frontier.propose(&work, 0).unwrap();
        let (pages, visits) = (BTreeMap::new(), BTreeMap::new());
        Crawl { frontier, now: 0, slow, visits, pages, subdomains: 0, events: 0, spawns, next: 0 }
    }

    /// New subdomains of a number of wildcard domains.
    fn spawn(&mut self, count: u64, domains: u64) {
        let urls: Vec<_> = (self.next..self.next + count)
            .map(|n| page(&format!("https://s{n}.wildcard-{}.com/", n % domains)))
            .collect();
        self.next += count;
        self.frontier.propose(&urls, self.now).unwrap();
    }

    /// Every visit ends with a verdict on its URL.
    fn run(&mut self, until: EpochMs, domains: u64) {
        while self.now < until {
            while let Some(entry) = self.visits.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let lease = entry.remove();
                self.end(lease);
                self.spawn(self.spawns, domains);
            }
            let free = WORKERS - self.visits.len();
            for lease in self.frontier.lease(self.now, LeaseLimits { hosts: free, urls: 1, spared: SPARED }).unwrap() {
                let takes = if is_subdomain(&lease.host.origin) { self.slow } else { 50 };
                self.visits.insert((self.now + takes, lease.id), lease);
            }
            self.now += 10;
        }
    }

    fn end(&mut self, lease: Lease) {
        let url = lease.work[0].url.clone();
        match is_subdomain(&url) {
            true => self.subdomains += 1,
            false => *self.pages.entry(lease.host.origin.clone()).or_default() += 1,
        }
        self.events += 1;
        let release = Release { fetched: vec![url.clone()], not_before: self.now + DELAY, ..Release::default() };
        self.frontier.release(lease, release).unwrap();
        let verdicts = vec![fetched(&url, self.events, None)];
        self.frontier.apply(&batch(self.events, verdicts, Vec::new()), self.now).unwrap();
    }

    fn good_pages(&self) -> u64 {
        self.pages.values().sum()
    }
}

/// Compares ten hosts alone with the same hosts beside domains of endless subdomains.
fn share_of_good(domains: u64, slow: EpochMs) -> f64 {
    let mut alone = Crawl::new(10, 0, slow);
    alone.run(20_000, 1);
    let mut beside = Crawl::new(10, 10, slow);
    beside.spawn(2_000, domains);
    beside.run(20_000, domains);
    assert!(slow > 10_000 || beside.subdomains > 200, "what is free is used: {}", beside.subdomains);
    beside.good_pages() as f64 / alone.good_pages() as f64
}

#[test]
fn a_domain_with_endless_subdomains_starves_nobody() {
    for slow in [200, 2_000, 30_000] {
        let share = share_of_good(1, slow);
        assert!(share >= 0.9, "good hosts keep {share:.2} of their rate beside visits of {slow} ms");
    }
}

#[test]
fn nor_do_twenty_such_domains() {
    let share = share_of_good(20, 200);
    assert!(share >= 0.9, "good hosts keep {share:.2} of their rate");
}

/// All workers are busy with them.
#[test]
fn nor_do_more_such_domains_than_workers() {
    let share = share_of_good(40, 200);
    assert!(share >= 0.95, "good hosts keep {share:.2} of their rate");
}

/// Each domain is leased once before any is leased twice.
#[test]
fn domains_take_turns() {
    let frontier = embedded(plain());
    let many = (0..50).map(|n| format!("https://s{n}.many.com/"));
    let few = (0..5).map(|n| format!("https://www.few-{n}.com/"));
    frontier.propose(&many.chain(few).map(|url| page(&url)).collect::<Vec<_>>(), 0).unwrap();
    let leases = frontier.lease(1, LeaseLimits::new(7, 1)).unwrap();
    let domains: Vec<&str> = leases.iter().map(|lease| lease.host.origin.split_once('.').unwrap().1).collect();
    assert_eq!(domains.iter().filter(|domain| **domain == "many.com").count(), 2, "{domains:?}");
    assert_eq!(domains.iter().collect::<BTreeSet<_>>().len(), 6, "{domains:?}");
}

/// Links to further hosts are left out and counted, over restarts. Known hosts, seeds and other domains are not affected.
#[test]
fn a_domain_has_so_many_hosts_at_most() {
    let mut frontier = embedded(FrontierOptions { max_hosts_per_domain: Some(3), ..plain() });
    let link = |url: &str| Proposal { depth: 1, ..page(url) };
    let host = |n: u64| link(&format!("https://s{n}.many.co.uk/"));
    let proposed = frontier.propose(&(0..5).map(host).collect::<Vec<_>>(), 0).unwrap();
    assert_eq!(proposed, Proposed { added: 3, over_hosts: 2, ..Proposed::default() });
    frontier.reopen(0);
    let others = ["https://s0.many.co.uk/b", "https://s1.few.co.uk/", "https://a.github.io/", "https://b.github.io/"];
    assert_eq!(frontier.propose(&others.map(link), 0).unwrap().added, 4);
    assert_eq!(frontier.propose(&[host(7)], 0).unwrap(), Proposed { over_hosts: 1, ..Proposed::default() });
    assert_eq!(frontier.propose(&[page("https://seed.many.co.uk/")], 0).unwrap().added, 1);
    assert_eq!(frontier.hosts_of_domain("https://s9.many.co.uk").unwrap(), 4);
    let counts = frontier.counts();
    assert_eq!((counts.hosts, counts.over_hosts), (7, 3));
    frontier.reconfigure(FrontierOptions { max_hosts_per_domain: Some(5), ..plain() });
    assert_eq!(frontier.propose(&[host(7), host(8)], 0).unwrap().added, 1);
    frontier.check_counters();
}

/// If no other domain is due, a domain gets all workers.
#[test]
fn a_domain_alone_has_all_places() {
    let frontier = embedded(plain());
    let urls: Vec<_> = (0..100).map(|n| page(&format!("https://s{n}.many.com/"))).collect();
    frontier.propose(&urls, 0).unwrap();
    let leases = frontier.lease(1, LeaseLimits { hosts: WORKERS, urls: 1, spared: SPARED }).unwrap();
    assert_eq!(leases.len(), WORKERS);
}

fn keeps_to_the_limit_of_hosts_of_a_domain(make: Make) {
    let mut frontier = make(FrontierOptions { max_hosts_per_domain: Some(2), ..plain() });
    let link = |url: &str| Proposal { depth: 1, ..page(url) };
    let links = ["https://a.many.co.uk/", "https://b.many.co.uk/", "https://c.many.co.uk/", "https://c.few.co.uk/"];
    let proposed = frontier.propose(&links.map(link), 0).unwrap();
    assert_eq!(proposed, Proposed { added: 3, over_hosts: 1, ..Proposed::default() });
    let seed = page("https://seed.many.co.uk/");
    assert_eq!(frontier.propose(&[seed], 0).unwrap().added, 1, "a seed is always added");
    frontier.reopen(1);
    let applied = frontier.apply(&batch(1, vec![], links.map(link).to_vec()), 1).unwrap();
    assert_eq!(applied.proposed, Proposed { known: 3, over_hosts: 1, ..Proposed::default() });
    assert_eq!((frontier.counts().hosts, frontier.counts().over_hosts), (4, 2));
}

/// The address of many domains.
const SHARED: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const LIMIT: AddressLimit = AddressLimit { delay: Duration::from_millis(DELAY), at_once: 1 };
/// A visit that looks its host's address up, and must then wait for the address (`src/visit/leased_host.rs`).
const IN_LINE: EpochMs = 100;

/// Pages of ten hosts in a minute, beside so many domains of one host at one address.
fn pages_beside_an_address_of(domains: u64) -> u64 {
    let mut crawl = Crawl::new(10, 0, 200);
    let urls =
        (0..domains).flat_map(|n| (0..3).map(move |url| page(&format!("https://many-{n}.wildcard-{n}.com/{url}"))));
    crawl.frontier.propose(&urls.collect::<Vec<_>>(), 0).unwrap();
    let mut turns = BTreeMap::new();
    while crawl.now < 60_000 {
        while let Some(entry) = crawl.visits.first_entry().filter(|entry| entry.key().0 <= crawl.now) {
            let lease = entry.remove();
            match turns.remove(&lease.id) {
                // It gives its URLs back until its turn comes.
                Some(PolitenessSlot::At(turn)) => {
                    let release = Release { not_before: turn, ..Release::default() };
                    crawl.frontier.release(lease, release).unwrap();
                }
                Some(_) => {
                    crawl.frontier.end_politeness_slot(SHARED, LIMIT, crawl.now - crawl.slow, crawl.now);
                    crawl.end(lease);
                }
                None => crawl.end(lease),
            }
        }
        let limits = LeaseLimits { hosts: WORKERS - crawl.visits.len(), urls: 1, spared: SPARED };
        for lease in crawl.frontier.lease(crawl.now, limits).unwrap() {
            let takes = if is_subdomain(&lease.host.origin) {
                let slot = crawl.frontier.take_politeness_slot(&lease, SHARED, LIMIT, crawl.now);
                turns.insert(lease.id, slot);
                if slot == PolitenessSlot::Now { crawl.slow } else { IN_LINE }
            } else {
                50
            };
            crawl.visits.insert((crawl.now + takes, lease.id), lease);
        }
        crawl.now += 10;
    }
    assert!(domains == 0 || crawl.subdomains > 30, "the address is used: {}", crawl.subdomains);
    crawl.good_pages()
}

/// Each of these domains is a host that must wait for the address, which answers once a second. Only its first visit costs
/// the others something: with 3,000 domains, ten seconds.
#[test]
fn nor_do_many_domains_at_one_address() {
    let alone = pages_beside_an_address_of(0);
    for domains in [40, 1_000] {
        let beside = pages_beside_an_address_of(domains);
        assert!(beside * 10 >= alone * 9, "{domains} domains: good hosts have {beside} pages, {alone} alone");
    }
}
