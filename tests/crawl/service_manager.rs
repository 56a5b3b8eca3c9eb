//! Messages of a crawl on standard error, for people and for machines.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::server::Answer;
use serde_json::Value;

use crate::support::program::{Place, Process, Ran, eventually, free_port, get};
use crate::support::{Plan, Running, TestSite};

/// The first line with all of these words.
#[track_caller]
fn line<'a>(ran: &'a Ran, words: &[&str]) -> &'a str {
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    ran.stderr.lines().find(has_all).unwrap_or_else(|| panic!("no line has {words:?}:\n{}", ran.stderr))
}

#[test]
fn the_log_says_how_a_crawl_was_started_how_it_goes_and_why_requests_fail() {
    let site = TestSite::start(Plan { pages: 30, hosts: 1, failing_every: 0, ..Plan::default() });
    let dead = free_port();
    let place = Place::with("logging.filter: info,seine::fetch=debug\nlogging.interval: 200ms\n");
    let seeds = [site.seeds(), vec![format!("http://127.0.0.1:{dead}/")]].concat();
    let ran = Process::start(place.crawl(&seeds, &["--delay", "20ms", "--patience", "100ms"])).wait().exits(4);

    let data = place.data().display().to_string();
    let config = place.config().display().to_string();
    let delay = "link_storage.scheduler.host_min_access_interval";
    line(
        &ran,
        &[
            "seine crawl",
            env!("CARGO_PKG_VERSION"),
            &config,
            delay,
            &data,
            "sinks=\"files (files)\"",
            "listen=\"none\"",
        ],
    );
    for part in ["log", "validator", "sink files", "fetch"] {
        line(&ran, &["started", &format!("part=\"{part}\"")]);
    }
    line(&ran, &["progress", "per_second=", "queue=", "attempts=\"2xx ", "pending=\"files "]);
    line(&ran, &["progress", "hosts_in_trouble=\"connection_refused 1\""]);
    line(&ran, &["progress", "failed_requests=\"connection_refused "]);
    line(
        &ran,
        &["DEBUG", "a request failed", &format!("127.0.0.1:{dead}"), "connection_refused", "Connection refused"],
    );
}

#[test]
fn with_a_log_for_machines_every_line_is_an_object() {
    let nobody = Running::start(1, Arc::new(|_| Answer::text("{}").status(401)));
    let site = TestSite::start(Plan { pages: 20, hosts: 1, ..Plan::default() });
    let place = Place::with(&format!(
        "logging.format: json\nlogging.interval: 100ms\nlogging.filter: info\n\
         target_storage.data_formats: [FILES, ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: [\"{}\"]\n",
        nobody.origin(0)
    ));
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "10ms", "--patience", "1s"])).wait().exits(5);
    let lines: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let message = |line: &Value| line["fields"]["message"].as_str().unwrap_or_default().to_owned();
    for line in &lines {
        assert!(line["timestamp"].is_string() && line["level"].is_string() && !message(line).is_empty(), "{line}");
    }
    assert_eq!(message(&lines[0]), "seine crawl");
    assert!(lines.iter().any(|line| message(line) == "progress" && line["fields"]["queue"].is_u64()));
    let summary = lines.iter().find(|line| line["fields"]["sinks"].is_array()).expect("a summary");
    assert_eq!(message(summary), "Ended: nothing is left to fetch, but some pages are not delivered.");
    let sink = |name: &str| summary["fields"]["sinks"].as_array().unwrap().iter().find(|sink| sink["name"] == name);
    assert_eq!(sink("files").unwrap()["delivered"], site.pages().len());
    assert!(sink("elasticsearch").unwrap()["pending"].as_u64() > Some(0));

    // An error that ends the crawl is a message, too.
    place.set("http.enabled", "true");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    place.set("http.port", &taken.local_addr().unwrap().port().to_string());
    let ran = Process::start(place.crawl(&site.seeds(), &[])).wait();
    assert_eq!(ran.status.code(), Some(1));
    let last: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(last["level"], "ERROR");
    assert!(message(&last).contains("cannot listen"), "{last}");

    // If the configuration cannot be read, the environment decides the format of messages.
    place.set("logging.format", "xml");
    let mut crawl = place.crawl(&site.seeds(), &[]);
    crawl.env("SEINE__LOGGING__FORMAT", "json").env("SEINE__CRAWLER_MANAGER__NOTHING", "1");
    let ran = Process::start(crawl).wait();
    let lines: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(message(&lines[0]).contains("SEINE__CRAWLER_MANAGER__NOTHING"), "{}", ran.stderr);
}

/// Pages that an index does not store are skipped without its server, so they say nothing about the server.
#[test]
fn what_is_passed_over_makes_no_back_off_short_and_one_failure_is_told_once() {
    let nobody = Running::start(
        1,
        Arc::new(|_| Answer::text("{\"error\":\"who are you?\"}").status(401).after(Duration::from_millis(400))),
    );
    let forbidden = Running::start(1, Arc::new(|_| Answer::text("not you").status(403)));
    let place = Place::with(&format!(
        "http.enabled: true\nlogging.filter: info\n\
         target_storage.data_format.elasticsearch.rest.hosts: [\"{}\"]\n",
        nobody.origin(0)
    ));
    let seeds: Vec<String> = (0..100).map(|page| format!("{}/{page}", forbidden.origin(0))).collect();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "500ms", "--sink", "elasticsearch", "--listen", &address.to_string()];
    let started = Instant::now();
    let process = Process::start(place.crawl(&seeds, &more));
    let count = |start: &str| {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        let value = metrics.lines().find_map(|line| line.strip_prefix(start)?.trim().parse::<u64>().ok());
        value.unwrap_or_default()
    };
    let restarts = || count("seine_part_restarts_total{part=\"sink elasticsearch\"}");
    eventually("it was started again six times", || restarts() >= 6);
    let waited = Duration::from_millis(100 + 200 + 400 + 800 + 1600 + 3200);
    assert!(started.elapsed() >= waited, "the sixth time after {:?}", started.elapsed());
    assert!(count("seine_sink_events_total{book=\"skipped\",sink=\"elasticsearch\"}") > 0, "nothing was passed over");
    process.signal("TERM");
    let ran = process.wait();
    assert_eq!(ran.stderr.matches("it will be restarted").count(), 2, "{}", ran.stderr);
    line(&ran, &["it will be restarted", "ERROR", "401"]);
    line(&ran, &["repeats of this line", "it will be restarted", "times="]);
    // The summary and the start messages are most of it.
    assert!(ran.stderr.len() < 6000, "{} bytes:\n{}", ran.stderr.len(), ran.stderr);
}
