//! A crawl with a sink that takes nothing, watched by a Prometheus with the project's configuration. Time in its alerts
//! runs 120 times faster. The dashboard's queries are run against it as well.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};

use regex::{Captures, Regex};

use crate::dashboard;
use crate::prometheus::{Alert, Prometheus};
use crate::rules::alert_names;
use crate::support::program::{Place, Process, eventually, free_port, get};
use crate::support::{Plan, TestSite};
use crate::text_of_file;

/// One minute in the rules is half a second in the test.
const MS_OF_A_MINUTE: u64 = 500;
const LOG_LIMIT: f64 = (1 << 20) as f64;

fn in_the_tests_time(rules: &str) -> String {
    let durations = Regex::new(r"\b(\d+)([mh])\b").unwrap();
    let shorter = |found: &Captures| {
        let minutes = found[1].parse::<u64>().unwrap() * if &found[2] == "h" { 60 } else { 1 };
        format!("{}ms", minutes * MS_OF_A_MINUTE)
    };
    let rules = durations.replace_all(rules, shorter).replace("seconds > 600", "seconds > 5");
    assert!(rules.contains("seine_frontier_overdue_seconds > 5"));
    rules
}

fn configuration() -> String {
    let configuration = text_of_file("config/prometheus/prometheus.yml");
    assert!(configuration.contains(": 15s"));
    configuration.replace(": 15s", ": 500ms")
}

fn targets(seine: SocketAddr) -> String {
    let targets = text_of_file("config/prometheus/targets.yml");
    assert!(targets.contains("localhost:8080"));
    targets.replace("localhost:8080", &seine.to_string())
}

fn names(alerts: &[Alert]) -> BTreeSet<&str> {
    alerts.iter().filter(|it| it.is_firing).map(|it| it.name.as_str()).collect()
}

#[test]
fn a_stuck_sink_is_told_of_and_so_is_what_comes_of_it() {
    let site = TestSite::start(Plan { pages: 400, text: 8000, ..Plan::default() });
    // A port where nothing listens, and nothing else will.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::with(&format!(
        "page_log.segment_size: 64KiB\npage_log.max_size: 1MiB\n\
         target_storage.data_formats: [FILES, ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: ['http://{}']\n\
         target_storage.data_format.elasticsearch.rest.connect_timeout: 100ms\n\
         target_storage.data_format.elasticsearch.rest.socket_timeout: 100ms\n",
        nobody.local_addr().unwrap()
    ));
    let seine = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let rules = in_the_tests_time(&text_of_file("config/prometheus/alerts.yml"));
    let prometheus = Prometheus::start(&configuration(), &targets(seine), &rules);
    // Prometheus takes seconds before its first scrape.
    eventually("Prometheus looks for Seine", || !prometheus.query("up == 0").is_empty());
    let mut process =
        Process::start(place.crawl(&site.seeds(), &["--delay", "200", "--stay", "--listen", &seine.to_string()]));
    let value = |query: &str| -> f64 {
        let samples = prometheus.query(query);
        if let [value] = samples[..] { value } else { f64::NAN }
    };

    let told = BTreeSet::from(["SeineLogFull", "SeineLogNearLimit", "SeineNoProgress", "SeineSinkStuck"]);
    let mut alerts = Vec::new();
    eventually("these alerts fire and no others", || {
        alerts = prometheus.alerts();
        assert!(!process.has_ended(), "{:?}", alerts);
        names(&alerts) == told
    });
    let about_sinks: Vec<_> = alerts.iter().filter(|it| it.name == "SeineSinkStuck").collect();
    let [stuck] = about_sinks[..] else { panic!("one sink is stuck: {about_sinks:?}") };
    assert_eq!(stuck.sink, "elasticsearch");
    assert_eq!(stuck.annotations["summary"], "Seine delivers nothing to elasticsearch");

    assert_eq!(value("seine_log_limit_bytes"), LOG_LIMIT);
    assert!(value("seine_log_size_bytes") > 0.8 * LOG_LIMIT);
    assert!((5.0..120.0).contains(&value("seine_frontier_overdue_seconds")));
    assert!((5e6..2e9).contains(&value("process_resident_memory_bytes")));
    assert!((0.0..120.0).contains(&value("time() - process_start_time_seconds{job=\"seine\"}")));
    assert!(value("seine_sink_events_total{sink=\"files\",book=\"delivered\"}") > 10.0);

    every_selector_finds_something(&prometheus);
    dashboard::every_query_has_data(&prometheus);

    process.kill();
    eventually("the end is told of", || names(&prometheus.alerts()).contains("SeineDown"));
}

#[test]
fn a_service_with_nothing_left_to_fetch_has_no_host_overdue() {
    let site = TestSite::start(Plan { pages: 20, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let _process =
        Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--stay", "--listen", &address.to_string()]));
    let has = |line: &str| get(address, "/metrics").is_some_and(|(_, text)| text.lines().any(|it| it == line));
    eventually("everything is fetched", || {
        has("seine_frontier_work_proposed_urls 0") && has("seine_log_page_proposed_events 0")
    });
    eventually("nothing is due", || has("seine_frontier_overdue_seconds 0"));
    assert!(has(&format!("seine_log_limit_bytes {}", 8_u64 << 30)));
}

/// In the rules: an alert on a missing metric or label value would never fire.
fn every_selector_finds_something(prometheus: &Prometheus) {
    let rules = text_of_file("config/prometheus/alerts.yml");
    let expressions: String = rules.split("expr: ").skip(1).map(|rest| rest.split("labels:").next().unwrap()).collect();
    assert!(alert_names().len() <= rules.matches("expr: ").count());
    let selector = Regex::new(r"\b(?:up|seine_\w+|process_\w+)(?:\{[^}]*\})?").unwrap();
    let selectors: BTreeSet<&str> = selector.find_iter(&expressions).map(|it| it.as_str()).collect();
    assert!(selectors.len() >= alert_names().len());
    for selector in selectors {
        assert!(!prometheus.query(selector).is_empty(), "{selector} is not there");
    }
}
