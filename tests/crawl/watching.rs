//! Watching a crawl: metrics, health, statistics.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::{Plan, TestSite};

#[test]
fn a_running_crawl_shows_its_figures_and_its_health() {
    let site = TestSite::start(Plan { pages: 60, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "2ms", "--stay", "--listen", &format!("localhost:{}", address.port())];
    let process = Process::start(place.crawl(&site.seeds(), &more));
    let metrics = || get(address, "/metrics").filter(|(status, _)| *status == 200).map(|(_, text)| text);
    let done = [
        "seine_frontier_work_proposed_urls 0".to_owned(),
        "seine_log_page_proposed_events 0".to_owned(),
        "seine_sink_pending_events{sink=\"files\"} 0".to_owned(),
    ];
    let is_done = || metrics().is_some_and(|text| done.iter().all(|line| text.lines().any(|it| it == line)));
    eventually("everything is fetched and delivered", is_done);

    let text = metrics().unwrap();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse::<f64>().unwrap() as u64
    };
    let pages = site.pages().len() as u64;
    assert_eq!(value("seine_frontier_urls{state=\"live\"}"), pages);
    assert_eq!(value("seine_validated_total{change=\"new\"}"), pages);
    let sum = |family: &str| -> f64 {
        let samples = text.lines().filter(|line| line.starts_with(&format!("{family}{{")));
        samples.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    assert_eq!(value("seine_sink_events_total{book=\"delivered\",sink=\"files\"}"), pages);
    // The values of a label add up to the whole.
    assert_eq!(sum("seine_frontier_urls") as usize, site.oracle().len());
    assert_eq!(sum("seine_frontier_hosts"), 2.0);
    assert_eq!(sum("seine_sink_events_total"), sum("seine_sink_accepted_events_total"));
    assert_eq!(sum("seine_dns_lookups_total"), 0.0, "an address is no name");
    what_has_not_happened_is_0(&value);
    // Besides its pages, robots.txt and sitemaps were requested; connections are kept.
    let requests = site.visits().len() as u64;
    let stage = |name: &str| value(&format!("seine_fetch_stage_seconds_count{{stage=\"{name}\"}}"));
    assert_eq!((stage("first_byte"), stage("body")), (requests, requests));
    assert!((2..requests).contains(&stage("connect")), "{} connections", stage("connect"));
    the_process_is_described(&text);
    assert_eq!(value("seine_log_full"), 0);
    assert_eq!(value("seine_robots_fetches_total"), 2);
    for part in ["log", "validator", "sink files", "fetch"] {
        assert_eq!(value(&format!("seine_part_stuck{{part=\"{part}\"}}")), 0);
        assert_eq!(value(&format!("seine_part_restarts_total{{part=\"{part}\"}}")), 0);
    }
    check_exposition(&text);

    assert_eq!(get(address, "/healthz"), Some((200, "alive\n".into())));
    assert_eq!(get(address, "/readyz"), Some((200, "ready\n".into())));
    assert_eq!(get(address, "/elsewhere").unwrap().0, 404);
    let health = run(&["health", "--url", &format!("http://{address}/readyz")]).ok();
    assert_eq!(health.stdout, "ready\n");

    // Statistics of a running crawl come from the crawl itself.
    assert_eq!(place.stats()["frontier"]["live"], pages);

    process.signal("TERM");
    process.wait().ok();
    run(&["health", "--url", &format!("http://{address}/readyz")]).fails_naming(&["no service answers", "readyz"]);
}

fn what_has_not_happened_is_0(value: &dyn Fn(&str) -> u64) {
    for never in [
        "seine_fetches_total{outcome=\"connection_refused\"}",
        "seine_fetches_total{outcome=\"other\"}",
        "seine_request_failures_total{reason=\"tls\"}",
        "seine_validated_total{change=\"withheld\"}",
        "seine_links_total{result=\"over_limit\"}",
        "seine_links_total{result=\"over_hosts\"}",
        "seine_fetch_stage_seconds_count{stage=\"dns\"}",
        "seine_disk_full",
        "seine_crawl_stalled",
    ] {
        assert_eq!(value(never), 0, "{never}");
    }
}

fn the_process_is_described(text: &str) {
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.lines().any(|line| line.starts_with("seine_build_info{") && line.contains(&version)), "{text}");
    for (name, least, most) in [
        ("process_cpu_seconds_total", 0.01, 600.0),
        ("process_resident_memory_bytes", 5e6, 2e9),
        ("process_virtual_memory_bytes", 5e6, 1e12),
        ("process_open_fds", 10.0, 10_000.0),
        ("process_max_fds", 100.0, f64::MAX),
        ("process_threads", 4.0, 1000.0),
    ] {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value: f64 = line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap();
        assert!((least..=most).contains(&value), "{name} {value}");
    }
}

/// Each family has its help and type before its samples, and no sample twice.
fn check_exposition(text: &str) {
    let mut described = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            described.insert(rest.split(' ').next().unwrap());
            continue;
        }
        if line.starts_with("# HELP ") {
            assert!(line.split(' ').count() > 4, "no help: {line}");
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        value.parse::<f64>().unwrap();
        let name = sample.split('{').next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(described.contains(family) || described.contains(name), "{line} has no TYPE");
        assert!(seen.insert(sample), "{sample} is there twice");
    }
}

#[test]
fn statistics_for_people_say_what_those_for_programs_say() {
    let site = TestSite::start(Plan { pages: 30, hosts: 2, ..Plan::default() });
    let place = Place::new();
    Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--max-pages", "12"])).wait().ok();
    let stats = place.stats();
    let table = run(&["stats", place.data().to_str().unwrap()]).ok().stdout;
    let row = |name: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(&format!("{name} "))).unwrap();
        line.trim_start()[name.len()..].split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(row("live"), 12);
    assert_eq!(row("work_proposed"), stats["work_proposed"].as_u64().unwrap());
    assert!(row("work_proposed") > 0);
    assert_eq!(row("processed"), stats["processed"].as_u64().unwrap());
    assert_eq!(stats["processed"].as_u64().unwrap(), row("page_proposed") + row("page"));
    assert_eq!(row("sink files"), 12);
}
