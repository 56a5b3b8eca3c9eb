//! Budgets: nothing is fetched beyond them, over restarts and `kill -9`, and the rest stays queued.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{EmbeddedFrontier, FrontierOptions, Notes};
use seine_system::clock;

use crate::support::server::{Answer, Handler};
use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::program::{Place, Process, Ran, eventually, free_port, get};
use crate::support::{Plan, Running, TestSite, links};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn site(pages: usize, hosts: usize) -> TestSite {
    TestSite::start(Plan { pages, hosts, failing_every: 0, redirect_every: 0, missing_every: 0, ..Plan::default() })
}

/// The same command with another configuration.
fn with_rules(place: &Place, rules: &str) {
    let config = std::fs::read_to_string(place.config()).unwrap();
    let others = config.lines().filter(|line| !line.starts_with("budget.rules"));
    let lines: Vec<String> = others.map(str::to_owned).chain([format!("budget.rules: {rules}")]).collect();
    std::fs::write(place.config(), lines.join("\n") + "\n").unwrap();
}

#[track_caller]
fn crawl(place: &Place, seeds: &[String], more: &[&str]) -> Ran {
    Process::start(place.crawl(seeds, &[&["--delay", "0"], more].concat())).wait().ok()
}

/// Sets the crawl's clock to at least this time.
fn set_clock(place: &Place, time: u64) {
    let folder = place.data().join("frontier");
    std::fs::create_dir_all(&folder).unwrap();
    let frontier = EmbeddedFrontier::open(&folder, FrontierOptions::default(), 0).unwrap();
    frontier.set_note("clock", &time.to_string()).unwrap();
}

/// Some hours from midnight, and ahead of any machine's clock.
fn noon() -> u64 {
    (clock::wall_ms() / DAY + 2) * DAY + DAY / 2
}

/// Pages by host, from the FILES sink.
fn kept_by_host(place: &Place) -> BTreeMap<String, usize> {
    let mut hosts = BTreeMap::new();
    for (url, times) in place.kept() {
        let host = url.split('/').nth(2).unwrap().split(':').next().unwrap();
        *hosts.entry(host.to_owned()).or_insert(0) += times;
    }
    hosts
}

#[test]
fn a_budget_of_the_crawl_is_for_all_runs_and_may_be_raised_or_dropped_later() {
    let site = site(80, 3);
    let place = Place::new();
    // Pages count from the first one, even while there is no budget.
    crawl(&place, &site.seeds(), &["--max-pages", "10"]);
    for (rules, most) in [("[{of: crawl, pages: 30}]", 30), ("[{of: crawl, pages: 30, bytes_received: 1GiB}]", 30)] {
        with_rules(&place, rules);
        let ran = crawl(&place, &site.seeds(), &[]);
        assert!(ran.stderr.contains("Ended: budget spent"), "{}", ran.stderr);
        assert!(ran.stderr.contains("30 pages per crawl"), "{}", ran.stderr);
        assert_eq!(place.kept().values().sum::<usize>(), most);
    }
    let visits = site.visits().len();
    crawl(&place, &[], &[]);
    assert_eq!(site.visits().len(), visits, "nothing is asked for, robots.txt neither");
    with_rules(&place, "[{of: crawl, pages: 45}]");
    crawl(&place, &[], &[]);
    assert_eq!(place.kept().values().sum::<usize>(), 45);
    with_rules(&place, "[]");
    let ran = crawl(&place, &[], &[]);
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// Refetched pages count again: with `--stay` and a recrawl interval, the limit still ends the crawl.
#[test]
fn max_pages_counts_what_the_crawl_brings_and_ends_it() {
    let site = Running::start(
        1,
        Arc::new(|ask| match ask.path() {
            "/" => Answer::html(links(&["/1", "/2"])),
            "/1" | "/2" => Answer::html(format!("{:?} {}", ask.path(), fastrand::u64(..))),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with("link_storage.recrawl: {interval: 50ms, min_interval: 1ms}");
    let seeds = [site.origin(0) + "/"];
    for (limit, stay) in [("7", true), ("7", false), ("11", true)] {
        let stay: &[&str] = if stay { &["--stay"] } else { &[] };
        let ran = crawl(&place, &seeds, &[&["--max-pages", limit], stay].concat());
        assert!(ran.stderr.contains("Done: the page limit is reached."), "{}", ran.stderr);
        let answered = site.visits.all().iter().filter(|visit| ["/", "/1", "/2"].contains(&&*visit.path)).count();
        assert_eq!(answered.to_string(), limit);
    }
}

#[test]
fn a_budget_of_hosts_holds_for_each_of_them_and_of_a_day_begins_anew() {
    let site = site(60, 3);
    let place = Place::with("budget.rules: [{of: host, per: day, pages: 5}]");
    let noon = noon();
    for days in 0..3 {
        set_clock(&place, noon + days as u64 * DAY);
        let ran = crawl(&place, &site.seeds(), &[]);
        assert!(ran.stderr.contains("3 hosts with a spent budget: 5 pages per host and day"), "{}", ran.stderr);
        assert_eq!(kept_by_host(&place).into_values().collect::<Vec<_>>(), [5 * (days + 1); 3]);
        let visits = site.visits().len();
        crawl(&place, &site.seeds(), &[]);
        assert_eq!(site.visits().len(), visits, "the day's budget is spent for every run of the day");
    }
    // Raised on the same day.
    with_rules(&place, "[{of: host, per: day, pages: 100}]");
    let ran = crawl(&place, &[], &[]);
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

#[test]
fn a_budget_of_a_run_begins_anew_with_every_start() {
    let site = site(60, 3);
    let place = Place::with("budget.rules: [{of: host, per: run, pages: 4}, {of: crawl, per: run, pages: 10}]");
    for runs in 1..=3 {
        crawl(&place, &site.seeds(), &[]);
        assert_eq!(place.kept().values().sum::<usize>(), 10 * runs);
        assert!(kept_by_host(&place).into_values().all(|pages| pages <= 4 * runs));
    }
}

#[test]
fn hosts_of_a_domain_share_its_budget() {
    let names = ["www.saltmere-shop.co.uk", "blog.saltmere-shop.co.uk", "saltmere-news.co.uk"];
    let site = Running::start(
        3,
        Arc::new(|ask| match ask.path().trim_start_matches('/').parse::<u64>() {
            Ok(number) => {
                Answer::html(links(&[1, 2].map(|more| format!("/{}", number * 2 + more)).each_ref().map(|it| &**it)))
            }
            Err(_) => Answer::text("").status(404),
        }),
    );
    let seeds = names.map(|name| format!("http://{name}:{}/0", site.port));
    let resolve: Vec<String> =
        names.iter().zip(&site.addresses).flat_map(|(name, ip)| ["--resolve".into(), format!("{name}={ip}")]).collect();
    let place = Place::with("budget.rules: [{of: domain, pages: 9}]");
    let ran = crawl(&place, &seeds, &resolve.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(ran.stderr.contains("9 pages per domain"), "{}", ran.stderr);
    let kept = kept_by_host(&place);
    assert_eq!(kept[names[0]] + kept[names[1]], 9, "{kept:?}");
    assert_eq!(kept[names[2]], 9, "{kept:?}");
}

/// `/0` links to `/1` … `/99`, each of which is `answer`.
fn hundred(hosts: usize, answer: Answer) -> Running {
    let paths: Vec<String> = (1..100).map(|number| format!("/{number}")).collect();
    let handler: Handler = Arc::new(move |ask| match ask.path() {
        "/0" => Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>())),
        "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
        _ => answer.clone(),
    });
    Running::start(hosts, handler)
}

/// The size of a page is known only after the fetch, so each worker may fetch one page too many.
#[test]
fn bytes_are_counted_as_received_and_as_decoded() {
    const WORKERS: usize = 4;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![b' '; 2_000_000]).unwrap();
    let bomb = Answer::html(gzip.finish().unwrap()).header("content-encoding", "gzip");
    let plain = Answer::html("x".repeat(20_000));
    for (answer, rules, most) in [
        (bomb, "[{of: crawl, bytes_decoded: 20MB, bytes_received: 1GB}]", 10),
        (plain, "[{of: crawl, bytes_received: 400KB, bytes_decoded: 1GB}]", 20),
    ] {
        let site = hundred(WORKERS, answer);
        let seeds: Vec<String> = (0..WORKERS).map(|host| site.origin(host) + "/0").collect();
        let place =
            Place::with(&format!("budget.rules: {rules}\ncrawler_manager.downloader.download_thread_pool_size: 4"));
        let ran = crawl(&place, &seeds, &[]);
        assert!(ran.stderr.contains("Ended: budget spent"), "{}", ran.stderr);
        let large = place.kept().into_iter().filter(|(url, _)| !url.ends_with("/0")).count();
        assert!((most - 1..=most + WORKERS).contains(&large), "{large} of {most}");
    }
}

/// With `--stay` the crawl waits for the next day when the day's budget is used up; metrics and log say so.
#[test]
fn with_stay_the_next_day_is_waited_for() {
    let site = site(40, 2);
    let place = Place::with("budget.rules: [{of: crawl, per: day, pages: 6}, {of: host, per: life, pages: 8}]");
    let midnight = noon() + DAY / 2;
    // Longer than a busy machine takes to fetch six pages.
    set_clock(&place, midnight - 15_000);

    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let said = place.write("said", "");
    let process = Process::start_saying(place.crawl(&site.seeds(), &more), &said);
    let value = |name: &str| {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.map(|value| value.parse::<u64>().unwrap())
    };
    let day = "{of=\"crawl\",per=\"day\",what=\"pages\"}";
    let live = || value("seine_frontier_urls{state=\"live\"}").unwrap_or_default();
    eventually("the next day has begun, and is spent too", || live() == 12);
    assert_eq!(value(&format!("seine_budget_limit{day}")), Some(6));
    assert_eq!(value(&format!("seine_budget_spent{day}")), Some(6));
    let told =
        || std::fs::read_to_string(&said).unwrap().matches("a budget of the crawl is used up: fetching stops").count();
    eventually("the log says so of each day", || told() == 2);
    process.signal("TERM");
    process.wait().ok();
    assert_eq!((told(), place.kept().values().sum::<usize>()), (2, 12));
}

/// Requests at the same time: one page of each host.
const HOSTS: usize = 4;

#[test]
fn killed_again_and_again_no_budget_is_spent_twice() {
    let kills = std::env::var("SEINE_BUDGET_KILLS").map_or(24, |kills| kills.parse().expect("a number of kills"));
    let seed = fastrand::u64(..);
    println!("kill moments from seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let site = site(kills * 60, HOSTS);
    // Used up after about two thirds of the kills; the other runs have nothing to fetch.
    let most = kills * 12;
    let of_host = most / 3;
    let rules = format!("budget.rules: [{{of: crawl, pages: {most}}}, {{of: host, per: life, pages: {of_host}}}]\n");
    let place = Place::with(&format!("{rules}page_log.segment_size: 64KiB\npage_log.max_size: 1MiB"));
    let command = || place.crawl(&site.seeds(), &["--delay", "5", "--stay"]);
    for _ in 0..kills {
        let process = Process::start(command());
        if rng.bool() {
            std::thread::sleep(Duration::from_millis(rng.u64(20..400)));
        } else {
            let visits = site.running.visits.len() + rng.usize(1..40);
            let patience = std::time::Instant::now() + Duration::from_millis(1000);
            eventually("visits, or none any more", || {
                site.running.visits.len() >= visits || std::time::Instant::now() > patience
            });
        }
        assert!(process.kill(), "it stays");
    }
    crawl(&place, &[], &[]);
    let kept = place.kept();
    let accepted: usize = kept.values().sum();
    let asked = site.visits().iter().filter(|visit| visit.path.starts_with("/p/")).count();
    println!("{kills} kills, budget of {most} pages: {accepted} accepted, {asked} asked for");
    assert!((most..=most + HOSTS).contains(&accepted), "{accepted} accepted of {most} (seed {seed})");
    for (host, pages) in kept_by_host(&place) {
        assert!(pages <= of_host + 1, "{pages} accepted of {host}'s {of_host} (seed {seed})");
    }
    assert!(asked <= most + (kills + 1) * HOSTS, "a kill costs at most what was being asked for: {asked}");
    assert_eq!(place.stats()["frontier"]["live"], accepted);
}
