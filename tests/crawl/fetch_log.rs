//! The fetch log: one line per attempt, in files of limited size and number. Nothing waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::program::{Place, Process, eventually, free_port, get, json_lines};
use crate::support::{Plan, TestSite};

fn files(place: &Place) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.data().join("fetch_log")).expect("a folder of the fetch log");
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn lines(place: &Place) -> Vec<Value> {
    files(place).iter().flat_map(|path| json_lines(&std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_attempt_and_every_robots_txt_has_its_line() {
    let site = TestSite::start(Plan { pages: 60, hosts: 2, ..Plan::default() });
    let dead = format!("http://127.0.0.1:{}", free_port());
    let place = Place::with("fetch_log.enabled: true\n");
    let seeds = [site.seeds(), vec![dead.clone() + "/"]].concat();
    Process::start(place.crawl(&seeds, &["--delay", "0", "--patience", "3s"])).wait().exits(4);

    let lines = lines(&place);
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    let mut answered = BTreeMap::<&str, Vec<&Value>>::new();
    for line in of("page") {
        assert!(
            line["time"].is_string() && line["ms"].is_u64() && line["depth"].is_u64() && line["attempt"].is_u64(),
            "{line}"
        );
        answered.entry(line["url"].as_str().unwrap()).or_default().push(line);
    }
    assert_eq!(
        answered.keys().copied().map(str::to_owned).collect::<BTreeSet<_>>(),
        site.oracle().into_keys().collect()
    );
    // A URL that answers 503 at first has a line for each attempt.
    let again: Vec<_> = answered.values().filter(|lines| lines.len() > 1).collect();
    assert!(!again.is_empty());
    for attempts in again {
        assert_eq!((&attempts[0]["status"], &attempts[0]["again"]), (&503.into(), &true.into()), "{attempts:?}");
        assert_eq!(attempts.last().unwrap()["status"], 200, "{attempts:?}");
    }
    let redirected = of("page").into_iter().find(|line| line["redirects"] == 1).expect("a redirect");
    assert!(redirected["final_url"].as_str().unwrap().contains("/p/"), "{redirected}");
    let forbidden = of("page").into_iter().find(|line| line["reason"] == "robots_denied").expect("one is forbidden");
    assert!(forbidden["url"].as_str().unwrap().contains("/private/"), "{forbidden}");

    let refused = of("robots").into_iter().find(|line| line["host"] == dead.as_str()).expect("a host that is down");
    assert_eq!((&refused["reason"], &refused["bytes"]), (&"connection_refused".into(), &0.into()), "{refused}");
    assert!(refused["cause"].as_str().unwrap().contains("refused"), "{refused}");
    // The fetch log is not an archive.
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
    let all = crate::support::program::cat(&place.data());
    assert_eq!(all.len(), place.cat().len());
}

#[test]
fn its_files_are_bounded_in_size_and_number_over_runs() {
    let site = TestSite::start(Plan { pages: 120, hosts: 4, ..Plan::default() });
    let place = Place::with("fetch_log.enabled: true\nfetch_log.max_file_size: 4KiB\nfetch_log.max_files: 3\n");
    for _ in 0..2 {
        Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
        let names: BTreeSet<_> = files(&place).iter().map(|it| it.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["fetches.1.jsonl", "fetches.2.jsonl", "fetches.jsonl"].map(Into::into).into());
        assert!(files(&place).iter().all(|path| path.metadata().unwrap().len() <= 4 << 10));
    }
    // The open file has the newest lines.
    let newest = |name: &str| {
        let text = std::fs::read_to_string(place.data().join("fetch_log").join(name)).unwrap();
        json_lines(&text).last().unwrap()["time"].as_str().unwrap().to_owned()
    };
    assert!(
        newest("fetches.jsonl") >= newest("fetches.1.jsonl") && newest("fetches.1.jsonl") >= newest("fetches.2.jsonl")
    );
    place.set("fetch_log.max_files", "1");
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    assert_eq!(files(&place).len(), 1);
}

/// Its file is a pipe that nobody reads.
#[test]
fn a_disk_that_takes_nothing_holds_nothing_up_and_what_is_dropped_is_told() {
    let site = TestSite::start(Plan { pages: 1500, hosts: 8, ..Plan::default() });
    let place = Place::with("fetch_log.enabled: true\nhttp.enabled: true\n");
    let folder = place.data().join("fetch_log");
    std::fs::create_dir_all(&folder).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("fetches.jsonl")).status().unwrap().success());
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&site.seeds(), &more));
    let has = |line: &str| {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        metrics.lines().any(|it| it == line)
    };
    eventually("everything is fetched", || has("seine_frontier_work_proposed_urls 0"));
    assert!(!has("seine_fetch_log_lines_total{result=\"dropped\"} 0"), "more was fetched than may wait");
    process.signal("TERM");
    let ran = process.wait().ok();
    assert!(ran.stderr.contains("fetch log: lines were dropped"), "{}", ran.stderr);
}

#[test]
fn without_being_asked_for_it_is_not_there() {
    let site = TestSite::start(Plan { pages: 5, hosts: 1, ..Plan::default() });
    let place = Place::new();
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    assert!(!place.data().join("fetch_log").exists());
}
