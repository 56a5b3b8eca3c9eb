//! One bad hour: an answer that contradicts a known page counts when a second fetch confirms it, and not before.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;

use crate::support::program::{Place, Process, eventually, free_port, get, json_lines, run};
use crate::support::server::{Answer, Ask};
use crate::support::{Running, links};

const PATHS: [&str; 6] = ["/1", "/2", "/3", "/4", "/5", "/6"];

const WELL: u8 = 0;
const NOINDEX: u8 = 1;
const LOGIN: u8 = 2;
const EMPTY: u8 = 3;
/// A header alone asks not to be indexed, of a page that is as it was.
const HEADER: u8 = 4;
/// Redirects to what is no page.
const MAIL: u8 = 5;
const ITSELF: u8 = 6;
const FORBIDDEN: u8 = 7;
/// Names another page as the canonical one, or redirects to a page that does.
const NAMED: u8 = 8;
const LEADS_TO_NAMED: u8 = 9;
/// Names an unknown URL, which answers with a page.
const NAMES_ERROR: u8 = 10;
/// Empty, with the tag of the page, …
const TAGGED: u8 = 11;
/// … which has not changed for whoever names the tag.
const UNCHANGED: u8 = 12;

/// Six pages, and what all of them answer instead.
fn site() -> (Running, Arc<AtomicU8>) {
    let mishap = Arc::new(AtomicU8::new(WELL));
    let now = mishap.clone();
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match (ask.path(), now.load(Ordering::SeqCst)) {
            ("/robots.txt", _) => Answer::text("User-agent: *\nDisallow: /internal\n"),
            ("/sitemap.xml", _) => Answer::text("").status(404),
            ("/", _) => Answer::html(links(&PATHS)),
            ("/login", _) => Answer::html("<title>Log in</title>"),
            (path, NOINDEX) => {
                Answer::html(format!("<meta name=robots content=noindex>{path}")).header("etag", "\"1\"")
            }
            (_, HEADER) if ask.header("if-none-match").is_some() => {
                Answer::new(304, "").header("etag", "\"1\"").header("x-robots-tag", "noindex")
            }
            (path, HEADER) => page(path).header("x-robots-tag", "noindex"),
            (_, LOGIN) => Answer::redirect(302, "/login"),
            ("/named", _) => Answer::html("<link rel=canonical href=/><title>Welcome</title>"),
            (path, NAMED) => Answer::html(format!("<link rel=canonical href=/><title>Page</title>The page {path}")),
            ("/error", NAMES_ERROR) => Answer::html("<title>Error</title>Something went wrong"),
            ("/error", _) => Answer::text("").status(404),
            (path, NAMES_ERROR) => Answer::html(format!("<link rel=canonical href=/error>The page {path}")),
            (_, LEADS_TO_NAMED) => Answer::redirect(302, "/named"),
            (_, MAIL) => Answer::redirect(302, "mailto:somebody@example.com"),
            (path, ITSELF) => Answer::redirect(302, path),
            (_, FORBIDDEN) => Answer::redirect(302, "/internal"),
            (_, EMPTY) => Answer::html(""),
            (_, TAGGED) => Answer::html("").header("etag", "\"1\""),
            (_, UNCHANGED) if ask.header("if-none-match").is_some() => Answer::new(304, "").header("etag", "\"1\""),
            // A client that uses only this tag takes the wrong answer for the page.
            (path, _) => page(path),
        }),
    );
    (site, mishap)
}

fn page(path: &str) -> Answer {
    Answer::html(format!("<title>Page</title>The page {path}")).header("etag", "\"1\"")
}

/// Counts of live, gone, withheld and alias.
fn states(address: SocketAddr) -> [u64; 4] {
    let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
    ["live", "gone", "withheld", "alias"].map(|state| {
        let name = format!("seine_frontier_urls{{state=\"{state}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or_default()
    })
}

/// Starts a crawl that stays, and waits until everything was fetched.
fn start(place: &Place, site: &Running) -> (Process, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    eventually("all was fetched", || states(address) == [7, 0, 0, 0]);
    (process, address)
}

/// Waits until every page was requested this many more times.
fn looked_at(site: &Running, times: usize) {
    let asked = || {
        let visits = site.visits.all();
        PATHS.map(|path| visits.iter().filter(|visit| visit.path == path).count())
    };
    let before = asked();
    eventually("all were looked at again", || asked().iter().zip(before).all(|(now, before)| *now >= before + times));
}

/// The content of an index: the last document of each URL.
fn documents(place: &Place) -> BTreeMap<String, Value> {
    let mut files: Vec<_> =
        std::fs::read_dir(place.data().join("elastic")).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let all = files.iter().flat_map(|file| json_lines(&std::fs::read_to_string(file).unwrap()));
    all.map(|document| (document["url"].as_str().unwrap().to_owned(), document)).collect()
}

fn why(place: &Place, url: &str) -> Value {
    run(&["why", "--json", "-o", place.data().to_str().unwrap(), url]).ok().json_lines().remove(0)
}

/// The kind of unconfirmed removal that each page shows.
const MISHAPS: [(u8, &str); 7] = [
    (NOINDEX, "noindex"),
    (HEADER, "noindex"),
    (LOGIN, "elsewhere"),
    (EMPTY, "empty"),
    (MAIL, "elsewhere"),
    (ITSELF, "elsewhere"),
    (FORBIDDEN, "elsewhere"),
];

const FIRST: &str = "crawler_manager.downloader.redirects: first\n";
const OFTEN: &str = "link_storage.recrawl: {interval: 100ms, min_interval: 50ms, max_interval: 200ms";

#[test]
fn a_mishap_removes_and_replaces_no_page_and_is_forgotten_when_it_is_over() {
    for redirects in ["first", "follow"] {
        let (site, mishap) = site();
        let place = Place::with(&format!(
            "{OFTEN}, confirm_gone: 1h}}\ntarget_storage.data_formats: [ELASTIC]\n\
             crawler_manager.downloader.redirects: {redirects}\n"
        ));
        let (process, address) = start(&place, &site);
        let page = site.origin(0) + "/3";
        for (what, name) in MISHAPS {
            mishap.store(what, Ordering::SeqCst);
            eventually("the page is doubted", || why(&place, &page)["page"]["doubt"]["what"] == name);
            looked_at(&site, 2);
            let said = why(&place, &page);
            // The page is fetched several times a second, so it may be in flight.
            assert!(["live", "in_flight"].contains(&said["state"].as_str().unwrap()), "{name}: {said}");
            assert_eq!(states(address), [7, 0, 0, 0], "{name}: {said}");
            mishap.store(WELL, Ordering::SeqCst);
            eventually("the page is doubted no more", || why(&place, &page)["page"]["doubt"].is_null());
        }
        process.signal("TERM");
        process.wait().ok();
        let documents = documents(&place);
        assert_eq!(documents.len(), 7, "{documents:?}");
        for path in PATHS {
            let html = documents[&(site.origin(0) + path)]["html"].as_str().unwrap();
            assert!(html.contains(&format!("The page {path}")), "{redirects}: {html}");
        }
    }
}

/// The record of a page in doubt is older than its last fetch.
#[test]
fn the_last_fetch_of_a_page_in_doubt_is_its_last_attempt() {
    let (site, mishap) = site();
    let place = Place::with(&format!("{OFTEN}, confirm_gone: 1h}}\n"));
    let (process, _) = start(&place, &site);
    let page = site.origin(0) + "/3";
    mishap.store(NOINDEX, Ordering::SeqCst);
    eventually("its last attempt is some seconds younger than its record", || {
        let said = why(&place, &page);
        let last = said["attempts"]["last"].as_array().and_then(|all| all.last()).map(|last| last["at_ms"].as_u64());
        last.flatten().zip(said["page"]["fetched_ms"].as_u64()).is_some_and(|(last, fetched)| last > fetched + 4000)
    });
    process.signal("TERM");
    process.wait().ok();
    let said = run(&["why", "-o", place.data().to_str().unwrap(), &page]).ok().stdout;
    let (before, of_page) = said.split_once("\n  last fetch").expect("it was fetched");
    let last_attempt = before.lines().rfind(|line| line.contains(" ago: status 200")).expect("it was attempted");
    let (attempted, _) = last_attempt.trim().split_once(" ago").unwrap();
    let (fetched, _) = of_page.trim().split_once(" ago").unwrap();
    assert!(attempted.ends_with(fetched), "{said}");
}

/// A lasting change is true.
#[test]
fn what_is_said_twice_is_believed() {
    let ends = [
        (NOINDEX, [1, 0, 6, 0]),
        (HEADER, [1, 0, 6, 0]),
        (LOGIN, [2, 0, 0, 5]),
        (EMPTY, [7, 0, 0, 0]),
        (MAIL, [1, 6, 0, 0]),
        (ITSELF, [1, 6, 0, 0]),
        (FORBIDDEN, [1, 6, 0, 0]),
    ];
    for (what, end) in ends {
        let (site, mishap) = site();
        let place =
            Place::with(&format!("{OFTEN}, confirm_gone: 300ms}}\ntarget_storage.data_formats: [ELASTIC]\n{FIRST}"));
        let (process, address) = start(&place, &site);
        mishap.store(what, Ordering::SeqCst);
        if what == EMPTY {
            eventually("a page is empty", || why(&place, &(site.origin(0) + "/3"))["page"]["doubt"].is_object());
            eventually("all are empty", || {
                PATHS.iter().all(|path| why(&place, &(site.origin(0) + path))["page"]["doubt"].is_null())
            });
        }
        eventually(&format!("the pages are what they are after {what}"), || states(address) == end);
        process.signal("TERM");
        process.wait().ok();
        if what == EMPTY {
            let documents = documents(&place);
            assert!(PATHS.iter().all(|path| documents[&(site.origin(0) + path)]["html"] == ""), "{documents:?}");
        }
    }
}

/// A server that breaks may send an empty answer with the headers of the page.
#[test]
fn an_empty_answer_is_not_confirmed_by_its_tag() {
    let (site, mishap) = site();
    let place = Place::with(&format!("{OFTEN}, confirm_gone: 300ms}}\ntarget_storage.data_formats: [ELASTIC]\n"));
    let (process, _) = start(&place, &site);
    mishap.store(TAGGED, Ordering::SeqCst);
    let doubted = |path: &str| why(&place, &(site.origin(0) + path))["page"]["doubt"].is_object();
    eventually("a page is doubted", || doubted("/3"));
    eventually("all are empty", || !PATHS.iter().any(|path| doubted(path)));
    mishap.store(UNCHANGED, Ordering::SeqCst);
    // Twice, because the first may have been on its way.
    looked_at(&site, 2);
    eventually("no page is doubted", || !PATHS.iter().any(|path| doubted(path)));
    process.signal("TERM");
    process.wait().ok();
    let documents = documents(&place);
    for path in PATHS {
        let html = documents[&(site.origin(0) + path)]["html"].as_str().unwrap();
        assert!(html.contains(&format!("The page {path}")), "{documents:?}");
    }
}

const OBEY: &str = "crawler_manager.downloader.canonical: obey\n";

/// For an hour every page names the home page as its canonical one: nothing leaves. When that stays so, all are its aliases.
#[test]
fn a_page_that_names_another_url_is_its_alias_when_it_says_so_twice() {
    for (what, name) in [(NAMED, "named"), (LEADS_TO_NAMED, "elsewhere")] {
        let (site, mishap) = site();
        let place =
            Place::with(&format!("{OFTEN}, confirm_gone: 1h}}\ntarget_storage.data_formats: [ELASTIC]\n{FIRST}{OBEY}"));
        let (process, address) = start(&place, &site);
        let page = site.origin(0) + "/3";
        mishap.store(what, Ordering::SeqCst);
        eventually("the page is doubted", || why(&place, &page)["page"]["doubt"]["what"] == name);
        looked_at(&site, 2);
        assert_eq!(states(address), [7, 0, 0, 0], "{name}");
        mishap.store(WELL, Ordering::SeqCst);
        eventually("the page is doubted no more", || why(&place, &page)["page"]["doubt"].is_null());
        process.signal("TERM");
        process.wait().ok();
        let config = std::fs::read_to_string(place.config()).unwrap();
        place.write("seine.yml", config.replace("confirm_gone: 1h", "confirm_gone: 300ms"));
        mishap.store(what, Ordering::SeqCst);
        let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
        let process = Process::start(place.crawl(&[], &more));
        eventually("all are aliases of the home page", || states(address) == [1, 0, 0, 6]);
        process.signal("TERM");
        process.wait().ok();
    }
}

/// All live pages begin to name one unknown URL as canonical, and that URL gets a page of its own. No page leaves at once
/// because of that.
#[test]
fn nobody_leaves_at_once_for_an_unknown_canonical_url() {
    let (site, mishap) = site();
    let place =
        Place::with(&format!("{OFTEN}, confirm_gone: 1h}}\ntarget_storage.data_formats: [ELASTIC]\n{FIRST}{OBEY}"));
    let (process, address) = start(&place, &site);
    mishap.store(NAMES_ERROR, Ordering::SeqCst);
    eventually("the error page is one more", || states(address) == [8, 0, 0, 0]);
    looked_at(&site, 3);
    assert_eq!(states(address), [8, 0, 0, 0]);
    for path in PATHS {
        let page = &why(&place, &(site.origin(0) + path))["page"];
        assert_eq!(page["doubt"]["what"], "named", "{path}: {page}");
    }
    mishap.store(WELL, Ordering::SeqCst);
    for path in PATHS {
        eventually("nobody doubts", || why(&place, &(site.origin(0) + path))["page"]["doubt"].is_null());
    }
    assert_eq!(states(address), [8, 0, 0, 0], "the error page is doubted now");
    process.signal("TERM");
    process.wait().ok();
    let documents = documents(&place);
    let gone: Vec<_> = documents.values().filter(|document| document["change"] == "gone").collect();
    assert!(gone.is_empty(), "{gone:?}");
}

/// The PDF answers 304 to conditional requests. The list of types becomes shorter, and longer again.
#[test]
fn a_page_of_a_type_that_is_accepted_no_more_leaves() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/1", "/manual"])),
            "/1" => page("/1"),
            "/manual" if ask.header("if-none-match").is_some() => Answer::new(304, "").header("etag", "\"1\""),
            "/manual" => Answer::new(200, "%PDF-1.4").header("content-type", "application/pdf").header("etag", "\"1\""),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(&format!("{OFTEN}, confirm_gone: 1h}}\ncrawler_manager.downloader.valid_mime_types: []\n"));
    let manual = site.origin(0) + "/manual";
    let run_until = |what: &str, is_so: &dyn Fn(&Value) -> bool| {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
        let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
        eventually("it has begun", || states(address)[0] > 0);
        eventually(what, || is_so(&why(&place, &manual)));
        process.signal("TERM");
        process.wait().ok();
    };
    let is_live = |said: &Value| said["state"] == "live" && said["page"]["doubt"].is_null();
    run_until("the PDF is live", &is_live);
    place.set("crawler_manager.downloader.valid_mime_types", "[text/html]");
    run_until("it is doubted", &|said| said["page"]["doubt"]["what"] == "unwanted_type");
    let config = std::fs::read_to_string(place.config()).unwrap();
    place.write("seine.yml", config.replace("confirm_gone: 1h", "confirm_gone: 300ms"));
    run_until("it leaves", &|said| said["state"] == "gone");
    assert_eq!(why(&place, &(site.origin(0) + "/1"))["state"], "live");
    place.set("crawler_manager.downloader.valid_mime_types", "[]");
    run_until("it is back", &is_live);
}

/// Standard output gets only pages to be delivered, like topics and indexes: it is not an archive.
#[test]
fn what_is_withheld_is_not_printed() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/page", "/hidden", "/moved"])),
            "/page" => Answer::html("a page"),
            "/hidden" => Answer::html("<meta name=robots content=noindex>hidden"),
            "/moved" => Answer::redirect(301, "/page"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(&format!("target_storage.data_formats: [STDOUT]\n{FIRST}"));
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let mut paths: Vec<String> =
        ran.json_lines().iter().map(|page| page["url"].as_str().unwrap().replace(&site.origin(0), "")).collect();
    paths.sort();
    // The page under the URL that was requested first.
    assert!(paths == ["/", "/page"] || paths == ["/", "/moved"], "{paths:?}");
}
