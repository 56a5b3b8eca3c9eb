//! Pages that several URLs redirect to, in whole crawls: delivered once, and under another URL when the first one leads
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use seine_frontier::{EmbeddedFrontier, FrontierOptions, PageState, Verdicts};

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, eventually, free_port, get};
use crate::support::{Running, links};

const FIRST: &str = "crawler_manager.downloader.redirects: first\n";

/// Every URL's state, and where it leads.
fn states(place: &Place, site: &Running, paths: &[&str]) -> BTreeMap<String, (PageState, String)> {
    let frontier = EmbeddedFrontier::open(&place.data().join("frontier"), FrontierOptions::default(), 0).unwrap();
    let url = |path: &str| format!("{}{path}", site.origin(usize::from(path.starts_with("/f"))));
    let record = |path: &&str| {
        let record = frontier.page(&url(path)).unwrap().unwrap_or_else(|| panic!("{path} has no record"));
        let target = record.target.unwrap_or_default();
        let target = target.rsplit_once('/').map(|(_, name)| name.to_owned()).unwrap_or_default();
        ((*path).to_owned(), (record.state, target))
    };
    paths.iter().map(record).collect()
}

fn before(path: &str) -> Answer {
    match path {
        "/a1" | "/a2" => Answer::redirect(301, "/n1"),
        "/b1" | "/b2" => Answer::redirect(301, "/n2"),
        "/c1" | "/c2" => Answer::redirect(301, "/n3"),
        "/d1" | "/d2" => Answer::redirect(301, "/n4"),
        "/e1" | "/e2" => Answer::redirect(301, "/n5"),
        "/f1" | "/f2" => Answer::redirect(301, "/n6"),
        "/g2" => Answer::redirect(301, "/n7"),
        path => Answer::html(format!("the page {path}")),
    }
}

fn after(path: &str) -> Answer {
    match path {
        "/a1" => Answer::redirect(301, "/m1"),
        "/b1" => Answer::text("").status(410),
        "/n3" => Answer::text("").status(404),
        "/d2" => Answer::redirect(301, "/m4"),
        "/e2" => Answer::html("a page of its own"),
        "/n6" => Answer::text("").status(500),
        "/g1" => Answer::redirect(301, "/n7"),
        path => before(path),
    }
}

const PATHS: [&str; 14] =
    ["/a1", "/a2", "/b1", "/b2", "/c1", "/c2", "/d1", "/d2", "/e1", "/e2", "/f1", "/f2", "/g1", "/g2"];

/// Whether each URL has a page in the end, and which.
const IN_THE_END: [(&str, (bool, &str)); 14] = [
    ("/a1", (true, "m1")),
    ("/a2", (true, "n1")),
    ("/b1", (false, "")),
    ("/b2", (true, "n2")),
    ("/c1", (false, "")),
    ("/c2", (false, "")),
    ("/d1", (true, "n4")),
    ("/d2", (true, "m4")),
    ("/e1", (true, "n5")),
    ("/e2", (true, "")),
    ("/f1", (true, "n6")),
    ("/f2", (false, "n6")),
    ("/g1", (false, "n7")),
    ("/g2", (true, "n7")),
];

/// Two hosts whose URLs lead elsewhere after a switch.
fn moving() -> (Running, Arc<AtomicBool>) {
    let has_changed = Arc::new(AtomicBool::new(false));
    let now = has_changed.clone();
    let site = Running::start_with(2, |port| {
        // URLs that fail for a while are on a host of their own, which has back-offs.
        let linked = PATHS.map(|path| match path.starts_with("/f") {
            true => format!("http://127.0.0.12:{port}{path}"),
            false => path.to_owned(),
        });
        let start = links(&linked.each_ref().map(String::as_str));
        Arc::new(move |ask: &Ask| match (ask.path(), now.load(Ordering::SeqCst)) {
            ("/robots.txt" | "/sitemap.xml", _) => Answer::text("").status(404),
            ("/", _) => Answer::html(start.clone()),
            (path, true) => after(path),
            (path, false) => before(path),
        })
    });
    (site, has_changed)
}

#[test]
fn what_was_delivered_under_a_url_follows_where_it_leads() {
    use PageState::*;
    let (site, has_changed) = moving();
    let place = Place::with(&format!(
        "{FIRST}link_storage.recrawl: {{interval: 1s, confirm_gone: 1s}}\n\
         link_storage.link_strategy.scope_hosts: [127.0.0.12]\n"
    ));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let counts = || {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        ["live", "gone", "refused", "alias"].map(|state| {
            let name = format!("seine_frontier_urls{{state=\"{state}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or(0)
        })
    };
    eventually("all was fetched", || counts() == [9, 0, 0, 6]);
    let asked = |path: &str| site.visits.all().iter().filter(|visit| visit.path == path).count();
    has_changed.store(true, Ordering::SeqCst);
    eventually("what leads elsewhere was found there, and what is gone is gone", || counts() == [10, 2, 1, 2]);
    let failed = asked("/f2");
    eventually("what failed was looked at", || asked("/f2") > failed + 1);
    process.signal("TERM");
    process.wait().ok();

    let states = states(&place, &site, &PATHS);
    for (path, (is_live, target)) in IN_THE_END {
        let (state, leads_to) = &states[path];
        assert_eq!((state.is_live(), leads_to.as_str()), (is_live, target), "{path}: {states:?}");
    }
    assert_eq!([states["/b1"].0, states["/c1"].0, states["/c2"].0], [Gone, Gone, Refused]);
    assert_eq!([states["/f2"].0, states["/g1"].0], [Alias, Alias]);
    // The last page delivered under each URL.
    let mut delivered = BTreeMap::new();
    for page in place.cat() {
        delivered.insert(page["url"].as_str().unwrap().to_owned(), page["redirected_url"].clone());
    }
    for path in ["/a1", "/a2", "/b2", "/d2", "/g2"] {
        let url = format!("{}{path}", site.origin(0));
        let target = format!("{}/{}", site.origin(0), states[path].1);
        assert_eq!(delivered[&url], target, "{path}");
    }
    assert!(!delivered.keys().any(|url| ["/c2", "/f2"].iter().any(|path| url.ends_with(path))), "{delivered:?}");
}

/// Old URLs of three hosts and the pages they lead to, some of which are linked themselves.
fn moved() -> Running {
    Running::start_with(3, |port| {
        let old = |n: usize| format!("http://127.0.0.{}:{port}/old/{n}", 11 + n % 3);
        let urls: Vec<String> = (0..90).map(old).chain([format!("http://127.0.0.11:{port}/new/0")]).collect();
        let start = links(&urls.iter().map(String::as_str).collect::<Vec<_>>());
        Arc::new(move |ask: &Ask| match ask.path().rsplit_once('/') {
            Some(("", "")) => Answer::html(start.clone()),
            Some(("/old", number)) => {
                let target = number.parse::<usize>().unwrap() % 5;
                Answer::redirect(301, &format!("http://127.0.0.{}:{port}/new/{target}", 11 + target % 3))
            }
            Some(("/new", number)) => Answer::html(format!("new page {number}")),
            _ => Answer::text("").status(404),
        })
    })
}

/// A crawl that is killed ten times before its end, each time after some more visits. Returns the seed of the random
/// moments.
pub fn crawl_through_kills(site: &Running, place: &Place, visits: std::ops::Range<usize>) -> u64 {
    let seed = fastrand::u64(..);
    println!("kill moments from seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let seeds = [site.origin(0) + "/"];
    let mut kills = 0;
    for _ in 0..10 {
        let mut process = Process::start(place.crawl(&seeds, &["--delay", "10"]));
        let visits = site.visits.len() + rng.usize(visits.clone());
        eventually("the crawl goes on", || site.visits.len() >= visits || process.has_ended());
        kills += usize::from(process.kill());
    }
    Process::start(place.crawl(&[], &["--delay", "10"])).wait().ok();
    assert!(kills >= 5, "the crawl is too short: {kills} kills");
    seed
}

#[test]
fn killed_again_and_again_every_page_is_there_once() {
    let site = moved();
    let place = Place::with(&format!("{FIRST}link_storage.link_strategy.scope_hosts: [127.0.0.12, 127.0.0.13]\n"));
    let seed = crawl_through_kills(&site, &place, 1..15);

    let pages = place.cat();
    let targets: BTreeSet<&str> =
        pages.iter().map(|page| page["redirected_url"].as_str().or(page["url"].as_str()).unwrap()).collect();
    assert_eq!((pages.len(), targets.len()), (6, 6), "each page once (seed {seed}): {targets:?}");
    let stats = place.stats();
    // "/new/0" is linked directly, so it is a page or an alias.
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["alias"]), (&6.into(), &86.into()), "{stats}");
    assert_eq!(stats["work_proposed"], 0);
    let data = place.data();
    let audit = ["audit".as_ref(), data.as_os_str()];
    crate::support::program::run(&audit).ok();
}

#[test]
fn how_redirects_are_followed_can_be_another_from_one_start_to_the_next() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/new", "/1", "/2", "/3"])),
            "/new" => Answer::html("the new page"),
            "/1" | "/2" | "/3" => Answer::redirect(301, "/new"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with("link_storage.recrawl: {interval: 1s}\ncrawler_manager.downloader.redirects: follow\n");
    let config = std::fs::read_to_string(place.config()).unwrap();
    let crawl = |redirects: &str| {
        place.write("seine.yml", config.replace("redirects: follow", &format!("redirects: {redirects}")));
        let fetched = Instant::now();
        Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "20"])).wait().ok();
        eventually("all is due again", || fetched.elapsed() > Duration::from_millis(2500));
        let stats = place.stats();
        [&stats["frontier"]["live"], &stats["frontier"]["alias"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(crawl("follow"), [5, 0]);
    assert_eq!(crawl("first"), [2, 3], "what is there under its own URL stays, the others are its aliases");
    assert_eq!(crawl("follow"), [5, 0]);
}

/// The target of a redirect was never requested under its own URL. From then on it is a page of its own.
#[test]
fn a_page_that_only_a_redirect_brought_comes_under_its_own_url_too_when_redirects_are_followed() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/old", "/new"])),
            "/new" => Answer::html("the new page"),
            "/old" => Answer::redirect(301, "/new"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with("link_storage.recrawl: {interval: 1h}\ncrawler_manager.downloader.redirects: first\n");
    let crawl = || {
        Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "20"])).wait().ok();
        let stats = place.stats();
        [&stats["frontier"]["live"], &stats["frontier"]["alias"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(crawl(), [2, 1]);
    place.set("crawler_manager.downloader.redirects", "follow");
    assert_eq!(crawl(), [3, 0], "at once, as nobody ever asked for it");
}
