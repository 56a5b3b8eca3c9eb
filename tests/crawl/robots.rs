//! Rules of a website for crawlers: robots.txt, Crawl-delay, Retry-After.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::server::Answer;

use crate::support::program::{Place, Process};
use crate::support::{Running, links};

/// A front page with links to four others, and this answer for robots.txt.
fn site(robots: impl Fn() -> Answer + Send + Sync + 'static) -> Running {
    Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" => robots(),
            "/" => Answer::html(links(&["/1", "/2", "/3", "/4"])),
            "/sitemap.xml" => Answer::text("").status(404),
            _ => Answer::html("a page"),
        })
    })
}

fn crawl(site: &Running, place: &Place, more: &[&str]) -> String {
    Process::start(place.crawl(&[site.origin(0) + "/"], more)).wait().ok().stderr
}

fn pages_asked_for(site: &Running) -> usize {
    site.visits.all().iter().filter(|visit| visit.path != "/robots.txt").count()
}

#[test]
fn without_a_robots_txt_everything_is_allowed() {
    for status in [404, 410, 403, 401] {
        let site = site(move || Answer::text("no").status(status));
        let place = Place::new();
        crawl(&site, &place, &["--delay", "0"]);
        assert_eq!(place.kept().len(), 5, "{status}");
    }
}

#[test]
fn when_robots_txt_fails_nothing_is_fetched() {
    for status in [500, 503, 429] {
        let site = site(move || Answer::text("no").status(status));
        let place = Place::with("link_storage.scheduler.give_up_after: 300ms");
        let seed = [site.origin(0) + "/"];
        let told = Process::start(place.crawl(&seed, &["--delay", "0"])).wait().exits(3).stderr;
        assert_eq!(pages_asked_for(&site), 0, "{status}: {:?}", site.visits.all());
        assert!(told.contains("host_unreachable"), "{told}");
        assert_eq!(place.stats()["frontier"]["failed"], 1);
    }
}

/// A server that comes back: no attempt was counted for any URL.
#[test]
fn when_robots_txt_comes_back_the_crawl_goes_on() {
    let asked = AtomicUsize::new(0);
    let site = site(move || match asked.fetch_add(1, Ordering::Relaxed) {
        0..5 => Answer::text("no").status(503),
        _ => Answer::text("User-agent: *\nDisallow: /3\n"),
    });
    let place = Place::with("crawler_manager.downloader.max_retry_count: 0");
    crawl(&site, &place, &["--delay", "0"]);
    assert_eq!(place.kept().len(), 4);
}

#[test]
fn the_group_for_our_own_name_is_the_one_that_counts() {
    let site = site(|| Answer::text("User-agent: *\nDisallow: /\n\nUser-agent: seine\nDisallow: /2\nAllow: /\n"));
    let place = Place::new();
    let told = crawl(&site, &place, &["--delay", "0"]);
    assert_eq!(place.kept().len(), 4);
    assert!(told.contains("robots_denied"), "{told}");
    assert!(site.visits.all().iter().all(|visit| visit.path != "/2"));
}

#[test]
fn crawl_delay_is_honoured() {
    let site = site(|| Answer::text("User-agent: *\nCrawl-delay: 0.3\n"));
    let place = Place::new();
    crawl(&site, &place, &["--delay", "10"]);
    assert_eq!(place.kept().len(), 5);
    let gap = site.visits.min_gap(|_| true).unwrap();
    assert!(gap >= Duration::from_millis(300), "{gap:?}");
}

#[test]
fn crawl_delay_is_honoured_across_a_restart() {
    let site = site(|| Answer::text("User-agent: *\nCrawl-delay: 0.5\n"));
    let place = Place::new();
    for visits in [2, 3, 4] {
        let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "10"]));
        crate::support::program::eventually("it goes on", || site.visits.len() >= visits);
        assert!(process.kill());
    }
    crawl(&site, &place, &["--delay", "10"]);
    assert_eq!(place.kept().len(), 5);
    let gap = site.visits.min_gap(|_| true).unwrap();
    assert!(gap >= Duration::from_millis(500), "{gap:?}");
}

#[test]
fn an_excessive_crawl_delay_is_capped() {
    let site = site(|| Answer::text("User-agent: *\nCrawl-delay: 86400\n"));
    let place = Place::with("link_storage.scheduler.max_crawl_delay: 100ms");
    let started = Instant::now();
    crawl(&site, &place, &["--delay", "10"]);
    assert_eq!(place.kept().len(), 5);
    let gap = site.visits.min_gap(|_| true).unwrap();
    assert!(gap >= Duration::from_millis(100), "{gap:?}");
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn retry_after_keeps_the_host_alone() {
    let asked = AtomicUsize::new(0);
    let busy = Running::start_with(2, |port| {
        let other: Vec<String> = (0..20).map(|number| format!("http://127.0.0.12:{port}/{number}")).collect();
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(links(&other.iter().map(String::as_str).chain(["/a", "/b", "/c"]).collect::<Vec<_>>())),
            "/a" if asked.fetch_add(1, Ordering::Relaxed) == 0 => {
                Answer::text("busy").status(503).header("retry-after", "2")
            }
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            _ => Answer::html("a page"),
        })
    });
    let place = Place::new();
    let seeds = [busy.origin(0) + "/", busy.origin(1) + "/0"];
    Process::start(place.crawl(&seeds, &["--delay", "50"])).wait().ok();
    assert_eq!(place.kept().len(), 24);

    let visits = busy.visits.all();
    let refused = visits.iter().position(|visit| visit.path == "/a").unwrap();
    let until = visits[refused].at + Duration::from_secs(2);
    let meanwhile = visits[refused + 1..].iter().filter(|visit| visit.at < until);
    let hosts: Vec<&str> = meanwhile.map(|visit| visit.host.as_str()).collect();
    assert!(!hosts.contains(&"127.0.0.11"), "visited while it rests: {:?}", &visits[refused..]);
    assert!(hosts.len() > 10, "the other host goes on meanwhile: {}", hosts.len());
}

/// A host that was given up must not delay the crawl, however many links lead to it.
#[test]
fn a_dead_host_is_given_up_in_time() {
    let port = crate::support::program::free_port();
    let dead: Vec<String> = (0..40).map(|number| format!("http://127.0.0.1:{port}/{number}")).collect();
    let site = Running::start_with(1, |_| {
        let dead = dead.clone();
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(links(&dead.iter().map(String::as_str).collect::<Vec<_>>())),
            _ => Answer::text("").status(404),
        })
    });
    let place = Place::with("link_storage.scheduler.give_up_after: 1s");
    let started = Instant::now();
    let told = crawl(&site, &place, &["--delay", "0", "--scope", "any"]);
    println!("40 URLs of a dead host: {:?}", started.elapsed());
    assert!(told.contains("host_unreachable"), "{told}");
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["failed"]), (&1.into(), &40.into()));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
