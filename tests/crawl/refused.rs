//! A URL that was not a page at its first fetch may become one later, so it is requested again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::server::{Answer, Ask};
use crate::support::{Running, counted, links};

/// `/late` appears later. `/r` leads to a page that disappears and comes back. `/u` appears later together with `/v`,
/// which leads there and disappears.
fn answer(path: &str, phase: u8) -> Answer {
    match (path, phase) {
        ("/", _) => Answer::html(links(&["/late", "/r", "/u", "/v"])),
        ("/late", 1..) => Answer::html("late"),
        ("/r", _) => Answer::redirect(301, "/t"),
        ("/t", 0 | 2) => Answer::html("where /r leads"),
        ("/u", 1..) => Answer::html("the page /u"),
        ("/v", 1) => Answer::redirect(301, "/u"),
        _ => Answer::text("").status(404),
    }
}

#[test]
fn what_answers_404_first_is_asked_for_again() {
    let phase = Arc::new(AtomicU8::new(0));
    let now = phase.clone();
    let site = Running::start(1, Arc::new(move |ask: &Ask| answer(ask.path(), now.load(Ordering::SeqCst))));
    let place = Place::with(
        "link_storage.recrawl: {interval: 100ms, min_interval: 50ms, max_interval: 300ms, confirm_gone: 100ms}\n\
         link_storage.download_sitemap_xml: false\ncrawler_manager.downloader.redirects: first\n",
    );
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    // Counts of live, gone, refused and alias.
    let states = || {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        ["live", "gone", "refused", "alias"].map(|state| {
            let name = format!("seine_frontier_urls{{state=\"{state}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or_default()
        })
    };
    eventually("all was fetched", || states() == [2, 0, 3, 0]);
    phase.store(1, Ordering::SeqCst);
    eventually("what has come is there, and what went is gone", || states() == [3, 1, 0, 1]);
    phase.store(2, Ordering::SeqCst);
    eventually("every live page is there", || {
        let [live, gone, refused, alias] = states();
        (live, gone + refused, alias) == (4, 1, 0)
    });
    process.signal("TERM");
    process.wait().ok();
    let url = site.origin(0) + "/u";
    let said = run(&["why", "--json", "-o", place.data().to_str().unwrap(), &url]).ok().json_lines().remove(0);
    assert_eq!(said["state"], "live", "{said}");
}

/// Long before its time.
#[test]
fn what_answers_404_is_asked_for_sooner_when_a_changed_page_links_to_it() {
    let site = Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", times) => Answer::html(format!("{}version {}", links(&["/late"]), times)),
            ("/late", 2) => Answer::html("late"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(
        "link_storage.recrawl: {interval: 10h, min_interval: 1ms}\nlink_storage.download_sitemap_xml: false\n",
    );
    let asked = |path: &str| site.visits.all().iter().filter(|visit| visit.path == path).count();
    for (visits, live) in [((1, 1), 1), ((2, 2), 2)] {
        // A seed is requested again.
        Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
        let stats = place.stats();
        assert_eq!(((asked("/"), asked("/late")), &stats["frontier"]["live"]), (visits, &live.into()), "{stats}");
    }
}
