//! Redirects need two hosts at once. Nothing waits for ever, no host is blamed for another, and nothing is lost.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use seine_delivery::Offset;
use seine_frontier::deferred::StoredTraps;
use seine_frontier::{
    AddressLimit, Applied, Batch, ChooseRecheck, Counts, EmbeddedFrontier, Fetching, FrontierError, HostLeases, Lease,
    LeaseAnswer, LeaseLimits, NoBudget, Notes, PageRecord, PolitenessSlot, Proposal, Proposed, QueuePosition, Ranked,
    Release, Remembered, Reservation, Scheduler, Unjudged, Validation, Verdicts, Work,
};
use seine_parse::page::{EpochMs, FailureReason, Kind};
use seine_policies::focus::Lead;
use seine_policies::revisit::Trust;
use seine_system::clock::now_ms;

use crate::sites::server::{Answer, Ask};

use crate::redirects::site;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_redirect_to_each_other_do_not_block_each_other() {
    let site = site(3, |ask, port| {
        let to = |host: &str| Answer::redirect(302, &format!("http://{host}:{port}/end"));
        // Slow enough that every host is leased before the first redirect is followed.
        match (ask.host.as_str(), ask.path()) {
            ("a.test", "/") => to("b.test").after(Duration::from_millis(100)),
            ("b.test", "/") => to("c.test").after(Duration::from_millis(100)),
            ("c.test", "/") => to("a.test").after(Duration::from_millis(100)),
            _ => Answer::html("end"),
        }
    });
    let seeds = ["a", "b", "c"].map(|host| format!("http://{host}.test:{}/", site.port));
    let mut config = config_for(&site);
    config.frontier.max_retries = 3;
    let crawl = MiniCrawl::new(config, &seeds.each_ref().map(String::as_str));
    let events = crawl.run(Duration::from_secs(10)).await;
    assert_eq!(events.len(), seeds.len());
    for seed in &seeds {
        assert_eq!(status_of(event_of(&events, seed)), 200, "{seed}");
    }
    for host in ["a.test", "b.test", "c.test"] {
        let asks = site.visits.all().into_iter().filter(|visit| visit.host == host && visit.path == "/").count();
        assert_eq!(asks, 1, "the redirect of {host} is asked for once");
    }
    assert_eq!(crawl.frontier.counts().hosts_leased, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_a_host_that_rests_for_long_does_not_hold_up_its_own() {
    let site = site(2, |ask, port| match (ask.host.as_str(), ask.path()) {
        ("a.test", "/1") => Answer::redirect(302, &format!("http://b.test:{port}/")),
        ("b.test", _) => Answer::new(503, "").header("retry-after", "3600"),
        _ => Answer::html("page"),
    });
    let seeds = ["/1", "/2", "/3"].map(|path| format!("http://a.test:{}{path}", site.port));
    let crawl = MiniCrawl::new(config_for(&site), &seeds.each_ref().map(String::as_str));
    let is_fetched = |events: &[Arc<seine_parse::page::PageEvent>], path: &str| {
        events.iter().any(|event| event.url.ends_with(path) && status_of(event) == 200)
    };
    let enough = |events: &[_]| is_fetched(events, "/2") && is_fetched(events, "/3");
    crawl.run_until(Duration::from_secs(5), enough).await;
    assert_eq!(site.visits.all().iter().filter(|visit| visit.host == "b.test" && visit.path == "/").count(), 1);
    // The host that asked for a pause is the one that gets it.
    let now = now_ms();
    match crawl.frontier.lease_host(&format!("http://b.test:{}", site.port), now).unwrap() {
        LeaseAnswer::At { at, .. } => assert!(at > now + 3_000_000, "b.test rests for {} ms only", at - now),
        other => panic!("{other:?}"),
    }
}

/// Ten URLs that redirect come before ten good pages. The good ones are not delayed, whatever is wrong with the other host.
#[tokio::test(flavor = "multi_thread")]
async fn many_redirects_to_a_slow_or_broken_host_do_not_hold_up_their_own() {
    for is_down in [false, true] {
        let site = site(2, move |ask, port| match (ask.host.as_str(), ask.path()) {
            ("b.test", _) if is_down => Answer::close(),
            ("b.test", "/robots.txt") => Answer::text("User-agent: *\nCrawl-delay: 20\n"),
            ("a.test", path) if path.starts_with("/r") && path != "/robots.txt" => {
                Answer::redirect(302, &format!("http://b.test:{port}{path}"))
            }
            _ => Answer::html("page"),
        });
        let paths = (0..10).map(|n| format!("/r{n}")).chain((0..10).map(|n| format!("/p{n}")));
        let seeds: Vec<String> = paths.map(|path| format!("http://a.test:{}{path}", site.port)).collect();
        let mut config = config_for(&site);
        config.frontier.backoff_base = Duration::from_secs(5);
        let crawl = MiniCrawl::new(config, &seeds.iter().map(String::as_str).collect::<Vec<_>>());
        let good = |events: &[Arc<seine_parse::page::PageEvent>]| {
            events.iter().filter(|event| event.url.contains("/p") && status_of(event) == 200).count()
        };
        crawl.run_until(Duration::from_secs(10), |events| good(events) == 10).await;
        let asked = |start: &str| site.visits.all().iter().filter(|visit| visit.path.starts_with(start)).count();
        assert!(asked("/p") == 10, "down: {is_down}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_a_host_that_is_down_is_tried_again_and_given_up() {
    let site = site(2, |ask, port| match (ask.host.as_str(), ask.path()) {
        ("a.test", "/1") => Answer::redirect(302, &format!("http://b.test:{port}/")),
        ("b.test", _) => Answer::close(),
        _ => Answer::html("page"),
    });
    let seeds = ["/1", "/2"].map(|path| format!("http://a.test:{}{path}", site.port));
    let mut config = config_for(&site);
    config.frontier.max_retries = 0;
    config.frontier.give_up_after = Duration::from_millis(300);
    let crawl = MiniCrawl::new(config, &seeds.each_ref().map(String::as_str));
    let events = crawl.run(Duration::from_secs(10)).await;
    assert_eq!(status_of(event_of(&events, &seeds[1])), 200);
    assert_eq!(failure_of(event_of(&events, &seeds[0])).reason, FailureReason::HostUnreachable);
    let tries: Vec<_> = events.iter().filter(|event| event.url == seeds[0]).collect();
    assert!(
        tries.len() >= 2 && tries.iter().all(|event| event.attempt == 0),
        "it waits for the other host, and pays nothing"
    );
    match crawl.frontier.lease_host(&format!("http://a.test:{}", site.port), now_ms()).unwrap() {
        LeaseAnswer::Leased(lease) => assert_eq!(lease.host.trouble, None, "a.test answered all the time"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_is_not_begun_again_because_of_a_long_delay() {
    let site = crate::sites::Running::start_with(1, |_| {
        Arc::new(|ask: &Ask| match ask.path() {
            "/robots.txt" => Answer::redirect(301, "/moved-robots.txt"),
            "/moved-robots.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
            "/1" => Answer::redirect(301, "/2"),
            _ => Answer::html("page"),
        })
    });
    let mut config = config_for(&site);
    config.frontier.host_delay = Duration::from_millis(2300);
    let seed = format!("http://a.test:{}/1", site.port);
    let started = Instant::now();
    let events = MiniCrawl::new(config, &[&seed]).run(Duration::from_secs(20)).await;
    assert_eq!(status_of(event_of(&events, &seed)), 200);
    let paths: Vec<String> = site.visits.all().into_iter().map(|visit| visit.path).collect();
    assert_eq!(paths, ["/robots.txt", "/moved-robots.txt", "/1", "/2"]);
    assert!(site.visits.min_gap(|_| true).unwrap() >= Duration::from_millis(2299));
    assert!(started.elapsed() < Duration::from_secs(12));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_the_middle_leaves_no_host_leased() {
    let site = site(2, |ask, port| match (ask.host.as_str(), ask.path()) {
        ("a.test", "/1") => Answer::redirect(302, &format!("http://b.test:{port}/2")),
        _ => Answer::html("page"),
    });
    let seeds = [format!("http://a.test:{}/1", site.port)];
    let mut config = config_for(&site);
    config.fetch.obey_robots = false;
    let broke = Arc::new(AtomicBool::new(false));
    let crawl = MiniCrawl::with_frontier(config, &[&seeds[0]], |inner| {
        Arc::new(Brittle { inner, broke: broke.clone(), panics: AtomicU32::new(0) })
    });
    let lease = crawl.frontier.lease(now_ms(), LeaseLimits::new(1, 1)).unwrap().remove(0);
    let visitor = crawl.visitor.clone();
    assert!(tokio::spawn(async move { visitor.visit(lease).await }).await.unwrap_err().is_panic());
    assert!(broke.load(Ordering::SeqCst));
    assert_eq!(crawl.frontier.counts().hosts_leased, 1, "only the lease that the dispatcher gives back itself");
}

/// Panics at the first visit of `b.test`, and for URLs with this ending.
pub struct Brittle {
    pub inner: Arc<EmbeddedFrontier>,
    pub broke: Arc<AtomicBool>,
    /// Number of panics in the validator.
    pub panics: AtomicU32,
}

/// Methods that call those of the inner frontier.
macro_rules! as_inner {
    ($(fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        $(fn $name(&self $(, $arg: $type)*) $(-> $result)? {
            self.inner.$name($($arg),*)
        })*
    };
}

impl HostLeases for Brittle {
    as_inner! {
        fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError>;
        fn lease_host(&self, origin: &str, now: EpochMs) -> Result<LeaseAnswer, FrontierError>;
        fn give_back(&self, lease: Lease, release: Release);
        fn write_visits(&self) -> Result<(), FrontierError>;
    }
}

impl Fetching for Brittle {
    fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<Reservation, NoBudget>, FrontierError> {
        assert!(!url.ends_with("/panics-worker"), "as the test wants it");
        self.inner.reserve(url, kind, now)
    }

    fn take_politeness_slot(&self, lease: &Lease, ip: IpAddr, limit: AddressLimit, now: EpochMs) -> PolitenessSlot {
        if lease.host.origin.contains("b.test") && !self.broke.swap(true, Ordering::SeqCst) {
            panic!("as the test wants it");
        }
        self.inner.take_politeness_slot(lease, ip, limit, now)
    }

    as_inner! {
        fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError>;
        fn end_politeness_slot(&self, ip: IpAddr, limit: AddressLimit, began: EpochMs, now: EpochMs);
        fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs);
        fn is_recalled(&self, origin: &str) -> bool;
        fn control_page(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError>;
        fn recheck(&self, of: Option<&str>, now: EpochMs, look: ChooseRecheck) -> Result<u64, FrontierError>;
    }
}

impl Verdicts for Brittle {
    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        if url.ends_with("/panics-validator") {
            let is_over =
                self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err();
            assert!(is_over, "as the test wants it");
        }
        self.inner.page(url)
    }

    as_inner! {
        fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError>;
        fn cursor(&self) -> Result<Offset, FrontierError>;
        fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError>;
        fn counts(&self) -> Counts;
    }
}

impl Validation for Brittle {
    as_inner! {
        fn durable_cursor(&self) -> Result<Offset, FrontierError>;
        fn unjudged(&self) -> Unjudged;
        fn fetch_again(&self, lost: &Unjudged) -> u64;
        fn traps(&self, origin: &str) -> Result<StoredTraps, FrontierError>;
        fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError>;
        fn learned(&self) -> Result<Remembered, FrontierError>;
        fn rank_again(&self, after: Option<QueuePosition>, at_most: usize, rank: &dyn Fn(&Ranked) -> u8, now: EpochMs) -> Result<Option<QueuePosition>, FrontierError>;
    }
}

impl Notes for Brittle {
    as_inner! {
        fn note(&self, name: &str) -> Result<Option<String>, FrontierError>;
        fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError>;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_hosts_that_redirect_to_each_other_are_asked_once_a_page_and_politely() {
    const HOSTS: usize = 5;
    let site = site(HOSTS, |ask, port| {
        let number = |text: &str| text.parse::<usize>().unwrap_or(0);
        let host = usize::from(ask.host.as_bytes()[0] - b'a');
        match ask.path().strip_prefix("/to/").map(number) {
            // Each page of each host leads to a page of another.
            Some(page) => {
                let other = (b'a' + ((host + 1 + page % (HOSTS - 1)) % HOSTS) as u8) as char;
                Answer::redirect(302, &format!("http://{other}.test:{port}/end/{host}/{page}"))
            }
            None => Answer::html("end"),
        }
    });
    let urls: Vec<String> = (0..HOSTS * 8)
        .map(|n| format!("http://{}.test:{}/to/{}", (b'a' + (n % HOSTS) as u8) as char, site.port, n / HOSTS))
        .collect();
    let mut config = config_for(&site);
    config.frontier.host_delay = Duration::from_millis(30);
    let crawl = MiniCrawl::new(config, &urls.iter().map(String::as_str).collect::<Vec<_>>());
    let events = crawl.run(Duration::from_secs(15)).await;
    assert_eq!(events.len(), urls.len());
    assert!(urls.iter().all(|url| status_of(event_of(&events, url)) == 200));
    let mut asked: Vec<String> =
        site.visits.all().iter().map(|visit| format!("{}{}", visit.host, visit.path)).collect();
    let visits = asked.len();
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), visits, "nothing was asked for twice");
    for host in 0..HOSTS {
        let gap = site.visits.min_gap(|visit| visit.address == site.addresses[host]).unwrap();
        assert!(gap >= Duration::from_millis(30), "{gap:?}");
    }
    assert_eq!(crawl.frontier.counts().hosts_leased, 0);
}
