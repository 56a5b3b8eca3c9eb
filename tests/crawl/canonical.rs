//! Pages with another canonical URL, in whole crawls: delivered once, and again under another URL when that one is
//! gone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use seine_frontier::{EmbeddedFrontier, FrontierOptions, PageState, Verdicts};

use crate::support::server::{Answer, Ask};

use crate::aliases::crawl_through_kills;
use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::{Running, links};

const OBEY: &str = "crawler_manager.downloader.redirects: first\ncrawler_manager.downloader.canonical: obey\n\
                    link_storage.download_sitemap_xml: false\n";

fn naming(canonical: &str) -> String {
    format!("<link rel=canonical href='{canonical}'><p>A page, whichever way one comes to it.")
}

/// Answers with a 304 or with the page.
fn tagged(ask: &Ask, body: String) -> Answer {
    let tag = format!("\"{:x}\"", xxhash_rust::xxh3::xxh3_64(body.as_bytes()));
    match ask.header("if-none-match") == Some(&tag) {
        true => Answer::new(304, "").header("etag", &*tag),
        false => Answer::html(body).header("etag", &*tag),
    }
}

/// The states of URLs, and what they are aliases of.
fn states(place: &Place, site: &Running, paths: &[&str]) -> BTreeMap<String, (PageState, Option<String>)> {
    let frontier = EmbeddedFrontier::open(&place.data().join("frontier"), FrontierOptions::default(), 0).unwrap();
    let record = |path: &&str| {
        let record = frontier.page(&(site.origin(0) + path)).unwrap().unwrap_or_else(|| panic!("{path} has no record"));
        let target = record.target.and_then(|target| Some(target.strip_prefix(&site.origin(0))?.to_owned()));
        ((*path).to_owned(), (record.state, target))
    };
    paths.iter().map(record).collect()
}

const PATHS: [&str; 3] = ["/a?1", "/a?2", "/a?3"];

#[test]
fn what_is_delivered_follows_the_canonical_page() {
    let phase = Arc::new(AtomicUsize::new(0));
    let now = phase.clone();
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match (ask.path(), now.load(Ordering::SeqCst)) {
            ("/", _) => tagged(ask, links(&PATHS)),
            ("/page", 0 | 2) => Answer::html("the page"),
            ("/a", 3) => tagged(ask, naming("/other")),
            ("/a", _) => tagged(ask, naming("/page")),
            ("/other", 3) => Answer::html("another page"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(&format!("{OBEY}link_storage.recrawl: {{interval: 1s, confirm_gone: 1s}}\n"));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let counts = || {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        ["live", "gone", "alias"].map(|state| {
            let name = format!("seine_frontier_urls{{state=\"{state}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or(0)
        })
    };
    eventually("one page for all", || counts() == [2, 0, 3]);
    phase.store(1, Ordering::SeqCst);
    eventually("it is gone: one stands in for it", || counts() == [2, 1, 2]);
    let asked = site.visits.len();
    eventually("all was looked at", || site.visits.len() > asked + 20);
    assert_eq!(counts(), [2, 1, 2], "a 304 does not say it again");
    phase.store(2, Ordering::SeqCst);
    eventually("it is back", || counts() == [2, 0, 3]);
    phase.store(3, Ordering::SeqCst);
    eventually("they name another", || counts() == [2, 1, 3]);
    process.signal("TERM");
    process.wait().ok();
    let states = states(&place, &site, &PATHS);
    assert!(states.values().all(|state| *state == (PageState::Alias, Some("/other".to_owned()))), "{states:?}");
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

/// Many URLs of a few pages.
fn visits() -> Running {
    let urls: Vec<String> = (0..90).map(|n| format!("/page/{}?visit={n}", n % 3)).collect();
    let start = links(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(start.clone()),
            path if path.starts_with("/page/") => Answer::html(naming(path)),
            _ => Answer::text("").status(404),
        }),
    )
}

#[test]
fn killed_again_and_again_every_page_is_there_once() {
    let site = visits();
    let place = Place::with(OBEY);
    crawl_through_kills(&site, &place, 1..12);
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["alias"]), (&4.into(), &90.into()), "{stats}");
    assert_eq!(stats["work_proposed"], 0);
    let states = states(&place, &site, &["/page/0", "/page/1", "/page/2"]);
    assert!(states.values().all(|(state, _)| state.is_live()), "{states:?}");
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn whether_it_counts_can_be_another_from_one_start_to_the_next() {
    let answers = Arc::new(Mutex::new(Vec::new()));
    let noted = answers.clone();
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| {
            let answer = match ask.path() {
                "/" => Answer::html(links(&["/a?1", "/a?2", "/a?3"])),
                "/a" => tagged(ask, naming("/page")),
                "/page" => tagged(ask, naming("/page")),
                _ => Answer::text("").status(404),
            };
            noted.lock().unwrap().push((ask.path_and_query.clone(), answer.status));
            answer
        }),
    );
    let place = Place::with(&format!("{OBEY}link_storage.recrawl: {{interval: 1s}}\n"));
    let crawl = |canonical: &str, expected: [u64; 2]| {
        place.set("crawler_manager.downloader.canonical", canonical);
        eventually(canonical, || {
            Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
            let stats = place.stats();
            [&stats["frontier"]["live"], &stats["frontier"]["alias"]].map(|count| count.as_u64().unwrap()) == expected
        });
        answers.lock().unwrap().drain(..).collect::<Vec<_>>()
    };
    crawl("ignore", [5, 0]);
    let asked = crawl("obey", [2, 3]);
    let first = |path: &str| asked.iter().find(|(asked, _)| asked == path).map(|(_, status)| *status);
    assert_eq!(PATHS.map(first), [Some(200); 3], "asked for whole: a 304 would not say what they name");
    crawl("ignore", [5, 0]);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}
