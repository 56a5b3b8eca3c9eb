//! Walls: an answer that stands before a page says nothing about it. The page stays, and the host rests.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use serde_json::Value;

use crate::support::program::{Place, Process, eventually, free_port, get, json_lines, run};
use crate::support::server::{Answer, Ask};
use crate::support::{Running, links};

const PAGES: usize = 30;

const WELL: u8 = 0;
/// With status 403 …
const CLOUDFLARE: u8 = 1;
/// … with 202 and no body …
const AWS: u8 = 2;
/// … and with 200.
const IMPERVA: u8 = 3;
const MAINTENANCE: u8 = 4;
/// Redirects to a form.
const LOGIN: u8 = 5;
/// A soft 404.
const MISSING: u8 = 6;
/// As before the walls, with another text.
const CHANGED: u8 = 7;

fn paths() -> Vec<String> {
    (1..=PAGES).map(|number| format!("/{number}")).collect()
}

/// A site whose pages all answer with the same wall for a time. Its links and its robots.txt are of the site.
fn site() -> (Running, Arc<AtomicU8>) {
    let phase = Arc::new(AtomicU8::new(WELL));
    let now = phase.clone();
    let start = links(&paths().iter().map(String::as_str).collect::<Vec<_>>());
    let handler = move |ask: &Ask| match (ask.path(), now.load(Ordering::SeqCst)) {
        ("/robots.txt" | "/sitemap.xml", _) => Answer::text("").status(404),
        ("/login", _) => Answer::html("<title>Sign in</title><form><input name=user><input type=password></form>"),
        ("/invented", _) => Answer::html("A link that only a wall has"),
        (_, CLOUDFLARE) => wall("<title>Just a moment...</title>").status(403).header("cf-mitigated", "challenge"),
        (_, AWS) => Answer::html("").status(202).header("x-amzn-waf-action", "challenge"),
        (_, IMPERVA) => wall("<iframe src=\"/_Incapsula_Resource?SWUDNSAI=31\"></iframe>"),
        (_, MAINTENANCE) => wall("<title>Example - Under maintenance</title>We are back soon"),
        (path, LOGIN) => Answer::redirect(302, &format!("/login?next={}", path.replace('/', "%2F"))),
        (_, MISSING) => wall("<title>Page not found</title>Nothing is here"),
        ("/", _) => Answer::html(start.clone()),
        (path, CHANGED) => Answer::html(format!("<title>Page</title>The new page {path}")),
        (path, _) => Answer::html(format!("<title>Page</title>The page {path}")),
    };
    (Running::start(1, Arc::new(handler)), phase)
}

/// It has the tag of every page, and a link.
fn wall(html: &str) -> Answer {
    Answer::html(format!("{html}{}", links(&["/invented"]))).header("etag", "\"wall\"")
}

/// Counts of live, gone, refused, withheld and alias.
fn states(address: SocketAddr) -> [u64; 5] {
    ["live", "gone", "refused", "withheld", "alias"]
        .map(|state| metric(address, &format!("seine_frontier_urls{{state=\"{state}\"}}")))
}

fn metric(address: SocketAddr, name: &str) -> u64 {
    let text = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    line.unwrap_or_default()
}

fn walls(address: SocketAddr, kind: &str) -> u64 {
    metric(address, &format!("seine_walls_total{{kind=\"{kind}\"}}"))
}

const ALL_LIVE: [u64; 5] = [PAGES as u64 + 1, 0, 0, 0, 0];
const OFTEN: &str = "link_storage.recrawl: {interval: 100ms, min_interval: 50ms, max_interval: 200ms";
const SHORT_RESTS: &str = "link_storage.scheduler.backoff_base: 50ms\nlink_storage.scheduler.backoff_max: 200ms\n";

/// Starts a crawl that stays, and waits until everything was fetched.
fn start(place: &Place, site: &Running) -> (Process, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    eventually("all was fetched", || states(address) == ALL_LIVE);
    (process, address)
}

fn stop(process: Process) {
    process.signal("TERM");
    process.wait().ok();
}

/// All documents of an index that are new, changed or gone, in order.
fn lines(place: &Place) -> Vec<Value> {
    let folder = std::fs::read_dir(place.data().join("elastic")).unwrap();
    let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let all = files.iter().flat_map(|file| json_lines(&std::fs::read_to_string(file).unwrap()));
    all.filter(|document| document["change"] != "unchanged").collect()
}

/// The last document of each URL.
fn documents(place: &Place) -> BTreeMap<String, Value> {
    let all = lines(place).into_iter();
    all.map(|document| (document["url"].as_str().unwrap().to_owned(), document)).collect()
}

fn why(place: &Place, url: &str) -> Value {
    run(&["why", "--json", "-o", place.data().to_str().unwrap(), url]).ok().json_lines().remove(0)
}

/// The whole site is behind a wall for a while and rechecked all the time. Nothing changes at the destination, and what
/// changes afterwards is found.
#[test]
fn a_wall_before_a_site_changes_nothing() {
    let cases = [(CLOUDFLARE, "cloudflare"), (AWS, "aws_waf"), (IMPERVA, "imperva"), (MAINTENANCE, "maintenance")];
    let (site, phase) = site();
    let place =
        Place::with(&format!("{OFTEN}, confirm_gone: 100ms}}\n{SHORT_RESTS}target_storage.data_formats: [ELASTIC]\n"));
    let (process, address) = start(&place, &site);
    for (what, kind) in cases {
        phase.store(what, Ordering::SeqCst);
        eventually("many answers were walls", || walls(address, kind) >= 40);
        eventually("the wall is named", || {
            let host = &why(&place, &(site.origin(0) + "/3"))["host"];
            host.to_string().contains(&format!("wall {kind}"))
        });
        assert_eq!(states(address), ALL_LIVE, "{kind}");
        phase.store(WELL, Ordering::SeqCst);
        eventually("the host answers again", || {
            let host = &why(&place, &(site.origin(0) + "/3"))["host"];
            !host.to_string().contains("wall ")
        });
    }
    assert_eq!(site.visits.all().iter().filter(|visit| visit.path == "/invented").count(), 0, "a wall has no links");
    let changed = || metric(address, "seine_validated_total{change=\"changed\"}");
    assert_eq!(changed(), 0);
    phase.store(CHANGED, Ordering::SeqCst);
    eventually("all new texts are found", || changed() >= PAGES as u64);
    stop(process);
    assert_eq!(lines(&place).len(), 1 + 2 * PAGES, "each page was delivered once before the walls and once after");
    let documents = documents(&place);
    for path in paths() {
        let html = documents[&(site.origin(0) + &path)]["html"].as_str().unwrap();
        assert!(html.contains(&format!("The new page {path}")), "{html}");
    }
}

/// Each wall is a request of its own, so the host is left alone for longer and longer.
#[test]
fn the_host_rests() {
    let (site, phase) = site();
    let place = Place::with(&format!(
        "{OFTEN}, confirm_gone: 1h}}\nlink_storage.scheduler.backoff_base: 1h\n\
         link_storage.scheduler.backoff_max: 2h\n"
    ));
    let (process, address) = start(&place, &site);
    phase.store(CLOUDFLARE, Ordering::SeqCst);
    let page = site.origin(0) + "/3";
    eventually("the host is in trouble", || why(&place, &page)["host"].to_string().contains("wall cloudflare"));
    eventually("it waits for an hour", || {
        let due = why(&place, &page)["host"]["due_ms"].as_u64();
        due.is_some_and(|due| due > 3_000_000)
    });
    // One put its URL off, one was the host's, and one was the control page's.
    assert!(walls(address, "cloudflare") <= 4, "{}", walls(address, "cloudflare"));
    stop(process);
}

/// A redirect to a form says nothing about the page, however often it does so. The host is well.
#[test]
fn a_log_in_leaves_the_page() {
    for redirects in ["first", "follow"] {
        let (site, phase) = site();
        let place = Place::with(&format!(
            "{OFTEN}, confirm_gone: 100ms}}\ntarget_storage.data_formats: [ELASTIC]\n\
             crawler_manager.downloader.redirects: {redirects}\n"
        ));
        let (process, address) = start(&place, &site);
        phase.store(LOGIN, Ordering::SeqCst);
        eventually("all were asked often", || walls(address, "login") >= 5 * PAGES as u64);
        let page = site.origin(0) + "/3";
        eventually("it says why", || {
            let said = why(&place, &page);
            let reason = said["reason"].as_str().unwrap();
            said["state"] == "live" && reason.contains("log in") && reason.contains("/login?next=%2F3")
        });
        assert_eq!(states(address), ALL_LIVE, "{redirects}");
        stop(process);
        let html = documents(&place)[&page]["html"].as_str().unwrap().to_owned();
        assert!(html.contains("The page /3"), "{redirects}: {html}");
    }
}

/// An error page with status 200 is a 404: it needs a second one.
#[test]
fn a_soft_404_counts_like_a_404() {
    let (site, phase) = site();
    let place = Place::with(&format!("{OFTEN}, confirm_gone: 1h}}\ntarget_storage.data_formats: [ELASTIC]\n"));
    let (process, address) = start(&place, &site);
    let page = site.origin(0) + "/3";
    phase.store(MISSING, Ordering::SeqCst);
    eventually("the page is doubted", || why(&place, &page)["page"]["doubt"]["what"] == "missing");
    assert_eq!(states(address), ALL_LIVE);
    phase.store(WELL, Ordering::SeqCst);
    stop(process);

    let config = std::fs::read_to_string(place.config()).unwrap();
    place.write("seine.yml", config.replace("confirm_gone: 1h", "confirm_gone: 100ms"));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    phase.store(MISSING, Ordering::SeqCst);
    let process = Process::start(place.crawl(&[], &more));
    eventually("all are gone", || states(address) == [0, PAGES as u64 + 1, 0, 0, 0]);
    stop(process);
    let said = why(&place, &page);
    assert!(said["reason"].as_str().unwrap().contains("page not found"), "{said}");
}

/// A first crawl delivers no wall and follows none of its links.
#[test]
fn a_wall_is_no_new_page() {
    for (what, kind) in [(CLOUDFLARE, "cloudflare"), (IMPERVA, "imperva"), (LOGIN, "login"), (MISSING, "not_found")] {
        let (site, phase) = site();
        phase.store(what, Ordering::SeqCst);
        let place = Place::with(&format!("{SHORT_RESTS}target_storage.data_formats: [ELASTIC]\n"));
        place.set("crawler_manager.downloader.max_retry_count", "1");
        place.set("link_storage.scheduler.give_up_after", "1s");
        let ran = Process::start(place.crawl(&[site.origin(0) + "/1"], &["--delay", "0"])).wait();
        assert!(ran.stderr.contains("wall"), "{kind}: {}", ran.stderr);
        assert_eq!(place.stats()["frontier"]["live"], 0, "{kind}: {}", ran.stderr);
        let said = why(&place, &(site.origin(0) + "/1"));
        assert!(said.to_string().contains(kind), "{said}");
    }
}

/// Walls are delivered where that is wanted.
#[test]
fn walls_are_delivered_if_the_configuration_says_so() {
    let (site, phase) = site();
    phase.store(IMPERVA, Ordering::SeqCst);
    let place = Place::with("crawler_manager.downloader.walls: deliver\ntarget_storage.data_formats: [ELASTIC]\n");
    Process::start(place.crawl(&[site.origin(0) + "/1"], &["--delay", "0"])).wait().ok();
    let documents = documents(&place);
    let page = &documents[&(site.origin(0) + "/1")];
    assert!(page["html"].as_str().unwrap().contains("_Incapsula_Resource"), "{page}");
    assert_eq!(page["wall"], "imperva", "{page}");
    assert!(page["wallEvidence"].as_str().unwrap().contains("_incapsula_resource"), "{page}");
}

/// RSL: 401 and 402 with a challenge want a licence, and say where it is to be had.
#[test]
fn why_names_the_licence_that_is_wanted() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/401", "/402"])),
            path @ ("/401" | "/402") => {
                Answer::html("<title>A licence, please</title>").status(path[1..].parse().unwrap()).header(
                    "www-authenticate",
                    "License error=\"invalid_request\", authorization_uri=\"https://rsl.example/api\"",
                )
            }
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::new();
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    for status in ["401", "402"] {
        let said = why(&place, &format!("{}/{status}", site.origin(0)));
        let expected = format!("it answered with status {status}: a licence is wanted: https://rsl.example/api");
        assert_eq!((&said["state"], &said["reason"]), (&"refused".into(), &expected.into()), "{said}");
        assert!(said["attempts"].to_string().contains("wall license"), "{said}");
    }
    assert!(ran.stderr.lines().any(|line| line.trim_start().starts_with("wall ")), "{}", ran.stderr);
}

/// What pages of a site have beside their text is no wall.
#[test]
fn a_page_with_a_banner_and_a_form_is_a_page() {
    let text = "A sentence of a page that says what it is about. ".repeat(30);
    let html = format!(
        "<title>News</title><script src=/_Incapsula_Resource?SWJIYLWA=719></script>\
         <form action=/login><input name=user><input type=password><button>Sign in</button></form>\
         <div class=cookie-banner>We value your privacy. <button>Accept all</button></div><p>{text}</p>"
    );
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(html.clone()),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::new();
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    assert_eq!(place.stats()["frontier"]["live"], 1);
}

/// A challenge in place of robots.txt does not say that the host has none. What it forbids stays unvisited.
#[test]
fn a_wall_before_robots_txt_allows_nothing() {
    let is_up = Arc::new(AtomicBool::new(true));
    let now = is_up.clone();
    let handler = move |ask: &Ask| match (ask.path(), now.load(Ordering::SeqCst)) {
        ("/robots.txt", true) => {
            wall("<title>Just a moment...</title>").status(403).header("cf-mitigated", "challenge")
        }
        ("/robots.txt", false) => Answer::text("User-agent: *\nDisallow: /private\n"),
        ("/", _) => Answer::html(links(&["/1", "/private/2"])),
        (path, _) => Answer::html(format!("The page {path}")),
    };
    let site = Running::start(1, Arc::new(handler));
    let place = Place::with(SHORT_RESTS);
    let crawl = || place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--patience", "1s"]);
    let asked = || -> BTreeSet<String> { site.visits.all().into_iter().map(|visit| visit.path).collect() };
    let ran = Process::start(crawl()).wait().exits(4);
    assert_eq!(asked(), BTreeSet::from(["/robots.txt".to_owned()]), "{}", ran.stderr);
    is_up.store(false, Ordering::SeqCst);
    Process::start(crawl()).wait().ok();
    assert!(asked().contains("/1") && !asked().contains("/private/2"), "{:?}", asked());
}
