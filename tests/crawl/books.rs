//! One crawl of a website with known URLs, and the expected result for each.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::program::{Place, Process};
use crate::support::{Final, Plan, TestSite};

#[test]
fn a_crawl_finds_exactly_what_is_there_and_is_polite() {
    let site = TestSite::start(Plan { pages: 160, ..Plan::default() });
    let place = Place::new();
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "40"])).wait().ok();
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);

    // Pages: exactly the existing ones, once each, redirects with their target.
    let kept = place.kept();
    assert_eq!(kept.keys().cloned().collect::<BTreeSet<_>>(), site.pages());
    assert!(kept.values().all(|times| *times == 1), "a page is in the files twice");
    let oracle = site.oracle();
    let mut leave_host = 0;
    for page in place.cat() {
        let url = page["url"].as_str().unwrap();
        match &oracle[url] {
            Final::Redirected(to) => {
                assert_eq!(page["redirected_url"].as_str(), Some(to.as_str()), "{url}");
                leave_host += usize::from(host_of(to) != host_of(url));
            }
            _ => assert!(page["redirected_url"].is_null(), "{page}"),
        }
    }
    assert!(leave_host > 0, "the site has redirects between hosts");

    // Requests: nothing forbidden, and nothing twice except first failures and targets of redirects.
    let asked = site.visited_urls();
    for (url, state) in &oracle {
        let redirects = oracle.values().filter(|other| **other == Final::Redirected(url.clone())).count();
        let asks = site.asks(url);
        match state {
            Final::Forbidden => assert_eq!(asks, 0, "{url} is forbidden by robots.txt"),
            Final::Fetched if failed_at_first(&site, url) => assert_eq!(asks, 2 + redirects, "{url}"),
            _ => assert_eq!(asks, 1 + redirects, "{url}"),
        }
    }
    assert!(asked.iter().all(|url| oracle.contains_key(url)), "{asked:?}");
    for host in 0..site.plan.hosts {
        assert_eq!(site.asks(&format!("{}/robots.txt", site.running.origin(host))), 1);
    }
    assert!(site.shortest_gap() >= Duration::from_millis(40), "{:?}", site.shortest_gap());
    assert!(site.visits().iter().all(|visit| visit.user_agent.contains("Seine/")));

    // The counters.
    let stats = place.stats();
    let frontier = &stats["frontier"];
    assert_eq!(frontier["live"], site.pages().len());
    assert_eq!(frontier["refused"], site.count(|state| *state == Final::Missing));
    assert_eq!(frontier["failed"], site.count(|state| *state == Final::Forbidden));
    assert_eq!(stats["page"], oracle.len());
    assert_eq!(stats["processed"], oracle.len());
    assert_eq!((&stats["work_proposed"], &stats["page_proposed"]), (&0.into(), &0.into()));
    let files = &stats["sinks"][0];
    assert_eq!((&files["name"], &files["pending"]), (&"files".into(), &0.into()));
    assert_eq!(files["delivered"], site.pages().len());
}

fn host_of(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

fn failed_at_first(site: &TestSite, url: &str) -> bool {
    let number: usize = url.rsplit('/').next().unwrap().parse().unwrap();
    number % site.plan.failing_every == site.plan.failing_every - 1
}

/// The crawl contains no unnecessary waits.
#[test]
fn without_a_delay_a_crawl_takes_no_longer_than_its_work() {
    let site = TestSite::start(Plan { pages: 200, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let started = std::time::Instant::now();
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    let took = started.elapsed();
    assert_eq!(place.kept().len(), site.pages().len());
    let visits = site.visits();
    let fetching = visits.last().unwrap().at - visits[0].at;
    let before = visits[0].at - started;
    println!("200 pages: {took:?}; before the first request {before:?}, first to last {fetching:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(took - before - fetching < Duration::from_secs(3), "idle at the end: {:?}", took - before - fetching);
}
