//! Rules of a website for crawlers: robots.txt, Crawl-delay, Retry-After.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::server::{Answer, Ask};

use crate::steering::{seine, status};
use crate::support::program::{Place, Process, eventually};
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
    assert!(!told.contains("still queued"), "each URL is counted once, as failed: {told}");
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["failed"]), (&1.into(), &40.into()));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// A site that forbids everything until it is opened.
fn opening() -> (Running, Arc<AtomicBool>) {
    let is_open = Arc::new(AtomicBool::new(false));
    let now = is_open.clone();
    let site = site(move || match now.load(Ordering::SeqCst) {
        true => Answer::text("User-agent: *\nDisallow:\n"),
        false => Answer::text("User-agent: *\nDisallow: /\n"),
    });
    (site, is_open)
}

fn robots_fetched(site: &Running) -> usize {
    site.visits.all().iter().filter(|visit| visit.path == "/robots.txt").count()
}

#[test]
fn a_first_contact_that_forbids_everything_is_told_and_its_seed_given_again_fetches_robots_txt_anew() {
    let ((site, is_open), place) = (opening(), Place::new());
    let seed = [site.origin(0) + "/"];
    let told = Process::start(place.crawl(&seed, &["--delay", "0"])).wait().exits(3).stderr;
    assert!(told.contains("in 60 min") && told.contains("the same command"), "{told}");
    let host = seine(&place, &["host", "127.0.0.11"]).ok().stdout;
    assert!(host.contains(&site.origin(0)) && host.contains("robots.txt forbids everything"), "{host}");
    assert!(host.contains("in 59 min"), "{host}");
    let why = seine(&place, &["why", &seed[0]]).ok().stdout;
    assert!(why.contains("to be fetched anew in 59 min"), "{why}");
    is_open.store(true, Ordering::SeqCst);
    Process::start(place.crawl(&seed, &["--delay", "0"])).wait().ok();
    assert_eq!(place.kept().len(), 5);
    let host = seine(&place, &["host", &site.origin(0)]).ok().stdout;
    assert!(!host.contains("forbids everything"), "{host}");
}

#[test]
fn retry_forget_and_seeds_add_have_robots_txt_fetched_anew_while_the_crawl_runs() {
    for order in ["retry", "forget", "seeds"] {
        let ((site, is_open), place) = (opening(), Place::new());
        let seed = site.origin(0) + "/";
        let process = Process::start(place.crawl(std::slice::from_ref(&seed), &["--delay", "0", "--stay"]));
        eventually("the seed is refused", || {
            robots_fetched(&site) == 1
                && place.data().join("api.sock").exists()
                && status(&place)["frontier"]["failed"] == 1
        });
        is_open.store(true, Ordering::SeqCst);
        match order {
            "retry" => drop(seine(&place, &["retry", "--reason", "robots_denied"]).ok()),
            "seeds" => drop(seine(&place, &["seeds", "add", &seed]).ok()),
            _ => {
                seine(&place, &["forget", "--host", &site.origin(0)]).ok();
                seine(&place, &["seeds", "add", &seed]).ok();
            }
        }
        eventually("everything is fetched", || status(&place)["frontier"]["live"] == 5);
        assert_eq!(robots_fetched(&site), 2, "{order}");
        process.signal("TERM");
        process.wait().ok();
    }
}

#[test]
fn a_host_known_with_another_port_is_found_by_its_name() {
    let (site, place) = (site(|| Answer::text("").status(404)), Place::new());
    crawl(&site, &place, &["--delay", "0"]);
    assert!(seine(&place, &["host", "127.0.0.11"]).ok().stdout.contains(&site.origin(0)));
    let other = opening().0;
    Process::start(place.crawl(&[other.origin(0) + "/"], &["--delay", "0"])).wait();
    seine(&place, &["host", "127.0.0.11"]).fails_naming(&["several hosts", &site.origin(0), &other.origin(0)]);
    seine(&place, &["host", "127.0.0.11", "block"]).fails_naming(&["several hosts"]);
    seine(&place, &["host", "127.0.0.99"]).fails_naming(&["https://127.0.0.99 is unknown"]);
}

#[test]
fn a_host_whose_robots_txt_is_at_a_blocked_host_says_so_and_comes_when_that_is_unblocked() {
    let site = Running::start_with(2, |port| {
        Arc::new(move |ask: &Ask| match (ask.host.as_str(), ask.path()) {
            (host, "/robots.txt") if host.starts_with("127.0.0.11") => {
                Answer::redirect(301, &format!("http://127.0.0.12:{port}/rules"))
            }
            (_, "/sitemap.xml") => Answer::text("").status(404),
            _ => Answer::html("a page"),
        })
    });
    let (place, [seed, other]) = (Place::new(), [0, 1].map(|at| site.origin(at)));
    Process::start(place.crawl(&[other.clone() + "/"], &["--delay", "0"])).wait().ok();
    seine(&place, &["host", &other, "block"]).ok();
    let process = Process::start(place.crawl(&[seed.clone() + "/"], &["--delay", "0", "--stay"]));
    let named = format!("redirects to {other}, which is blocked");
    let blocks = |words: &[&str]| seine(&place, words).ok().stdout.contains(&named);
    eventually("the block is named", || place.data().join("api.sock").exists() && blocks(&["host", &seed]));
    assert!(blocks(&["hosts"]) && blocks(&["why", &format!("{seed}/")]));
    assert_eq!(requests(&site, "/rules"), 0);
    seine(&place, &["host", &other, "unblock"]).ok();
    eventually("it is fetched", || status(&place)["frontier"]["live"] == 2);
    assert!(!blocks(&["host", &seed]));
    process.signal("TERM");
    process.wait().ok();
}

/// A site with this robots.txt (`ORIGIN` stands for its own), whose page and sitemap are known and due again.
fn known_with_sitemap(robots: &'static str) -> (Running, Place) {
    let site = Running::start_with(1, move |port| {
        let robots = robots.replace("ORIGIN", &format!("http://127.0.0.11:{port}"));
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" => Answer::text(robots.clone()),
            "/sitemap.xml" => Answer::new(200, "<urlset><url><loc>/listed</loc></url></urlset>")
                .header("content-type", "application/xml"),
            _ => Answer::html("a page"),
        })
    });
    let place = Place::with("link_storage.recrawl.interval: 1s");
    crawl(&site, &place, &["--delay", "0"]);
    (site, place)
}

fn requests(site: &Running, path: &str) -> usize {
    site.visits.all().iter().filter(|visit| visit.path == path).count()
}

/// Whether a run, one interval later, requests the home page and the sitemap again.
fn rechecks(site: &Running, place: &Place) -> (bool, bool) {
    let (page, sitemap) = (requests(site, "/"), requests(site, "/sitemap.xml"));
    let began = Instant::now();
    eventually("the interval is over", || began.elapsed() > Duration::from_secs(2));
    // A run that may not fetch anything says so by its exit status.
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait();
    (requests(site, "/") > page, requests(site, "/sitemap.xml") > sitemap)
}

#[test]
fn a_known_sitemap_is_forbidden_like_a_page_unless_robots_txt_names_it() {
    for (robots, is_named) in [
        ("User-agent: newbot\nDisallow: /\n", false),
        ("User-agent: newbot\nDisallow: /\n\nSitemap: ORIGIN/sitemap.xml\n", true),
    ] {
        let (site, place) = known_with_sitemap(robots);
        place.set("crawler_manager.downloader.user_agent.name", "Newbot");
        assert_eq!(rechecks(&site, &place), (false, is_named), "{robots}");
    }
}

#[test]
fn sitemaps_that_are_switched_off_are_not_requested_until_they_are_switched_on() {
    let (site, place) = known_with_sitemap("");
    for is_on in [false, true] {
        place.set("link_storage.download_sitemap_xml", &is_on.to_string());
        assert_eq!(rechecks(&site, &place), (true, is_on));
    }
}

/// Twelve hosts have their robots.txt at a host that does not answer. They hold a few workers, and not all.
#[test]
fn a_silent_host_with_the_robots_txt_of_many_does_not_stop_the_others() {
    const MANY: usize = 12;
    const PAGES: usize = 30;
    let site = Running::start_with(MANY + 2, |port| {
        let hub = site_address(0);
        Arc::new(move |ask| match (ask.host.as_str(), ask.path()) {
            (host, _) if host == hub => Answer::text("").after(Duration::from_secs(300)),
            (host, "/robots.txt") if host != site_address(1) => {
                Answer::redirect(302, &format!("http://{hub}:{port}/robots.txt?{host}"))
            }
            (_, "/robots.txt") => Answer::text("").status(404),
            (_, "/") => {
                let pages: Vec<String> = (0..PAGES).map(|page| format!("/{page}")).collect();
                Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            _ => Answer::html("a page"),
        })
    });
    let seeds: Vec<String> = (1..MANY + 2).rev().map(|host| site.origin(host) + "/").collect();
    let place = Place::new();
    let process = Process::start(place.crawl(&seeds, &["--delay", "20ms", "--concurrency", "8"]));
    let good = site_address(1);
    let pages = || site.visits.all().iter().filter(|visit| visit.host == good && visit.path != "/robots.txt").count();
    eventually("the pages of the good host are fetched", || pages() > PAGES);
    process.kill();
}

/// The address of a site's host.
fn site_address(host: usize) -> String {
    format!("127.0.0.{}", 11 + host)
}
