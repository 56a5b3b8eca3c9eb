//! A crawl that stays and has nothing to do writes nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::program::{Place, Process, eventually, free_port, get};
use crate::support::{Plan, TestSite};

/// Every file below the folder with metadata that changes when it is written or replaced.
fn files(place: &Place) -> BTreeMap<PathBuf, (u64, i64, i64, u64)> {
    let entries = walkdir::WalkDir::new(place.data()).into_iter().map(Result::unwrap);
    let seen = entries.filter(|entry| entry.file_type().is_file()).map(|entry| {
        let meta = entry.metadata().unwrap();
        (entry.into_path(), (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
    });
    seen.collect()
}

#[test]
fn an_idle_crawl_that_stays_writes_nothing() {
    let site = TestSite::start(Plan { pages: 20, hosts: 2, ..Plan::default() });
    let place = Place::with("http.enabled: true\n");
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let names = ["files", "warc", "tianwang", "pagestore", "filesystem_html", "cdr31", "elastic", "web_index"];
    let listen = address.to_string();
    let mut options = vec!["--delay", "0", "--stay", "--listen", &listen];
    options.extend(names.iter().flat_map(|name| ["--sink", name]));
    let process = Process::start(place.crawl(&site.seeds(), &options));
    let done: Vec<String> = ["seine_frontier_work_proposed_urls 0".to_owned()]
        .into_iter()
        .chain(["seine_log_page_proposed_events 0".to_owned()])
        .chain(names.iter().map(|name| format!("seine_sink_pending_events{{sink=\"{name}\"}} 0")))
        .collect();
    eventually("everything is fetched and delivered", || {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        done.iter().all(|line| metrics.lines().any(|it| it == line))
    });

    // An idle sink checks for work five times a second. At first the stores may still work in the background.
    let quiet = Duration::from_secs(1);
    let (mut before, mut since) = (files(&place), Instant::now());
    eventually("nothing is written for a second", || {
        let now = files(&place);
        if now != before {
            (before, since) = (now, Instant::now());
        }
        since.elapsed() >= quiet
    });
    process.signal("TERM");
    process.wait().ok();
}
