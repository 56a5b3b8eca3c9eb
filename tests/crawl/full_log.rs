//! A destination that takes nothing: the log fills up to its limit, fetching pauses, and nothing is lost.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::SocketAddr;

use crate::support::program::{Place, Process, count, eventually, free_port, get, json_lines};
use crate::support::{Plan, TestSite};

#[test]
fn a_full_log_pauses_fetching_until_its_reader_goes_on() {
    let site = TestSite::start(Plan { pages: 300, text: 8000, ..Plan::default() });
    let place = Place::with("page_log.segment_size: 64KiB\npage_log.max_size: 256KiB\nlogging.filter: info\n");
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--sink", "stdout", "--sink", "void", "--listen", &address.to_string()];
    let (process, mut out) = Process::start_unread(place.crawl(&site.seeds(), &more));

    let has = |line: &str| {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        metrics.lines().any(|it| it == line)
    };
    // The pipe is small, and nobody reads it.
    eventually("the log is full", || has("seine_log_full 1"));
    eventually("what was leased is back", || has("seine_frontier_hosts{state=\"leased\"} 0"));
    let at_pause = site.visits().len();
    let (status, why) = get(address, "/readyz").unwrap();
    assert_eq!(status, 503);
    assert!(why.contains("page_log.max_size"), "{why}");
    let metrics = get(address, "/metrics").unwrap().1;
    let bytes = metrics.lines().find_map(|line| line.strip_prefix("seine_log_size_bytes ")).unwrap();
    println!("{at_pause} requests when full, {bytes} bytes in the log");
    assert!(bytes.parse::<u64>().unwrap() < 320 << 10, "further beyond its limit than a page a worker: {bytes}");
    assert_eq!(site.visits().len(), at_pause);
    assert!(site.visited_urls().len() < site.pages().len());

    // Now somebody reads.
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    let ran = process.wait().ok();
    for word in ["full (page_log.max_size), because stdout", "has space again"] {
        assert!(ran.stderr.contains(word), "{word:?} is not in\n{}", ran.stderr);
    }
    assert_eq!(count(json_lines(&text).iter()).into_keys().collect::<BTreeSet<_>>(), site.pages());
    assert_eq!(place.stats()["page"], site.oracle().len());
}
