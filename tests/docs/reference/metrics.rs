//! The metrics of a crawl, from `/metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::SocketAddr;

use regex::Regex;

use super::super::examples::site;
use super::super::pages::root;
use super::super::support::program::{Place, Process, eventually, free_port, get};
use super::{check, escaped};

const BEFORE: &str = "# Metrics

This page is made from `/metrics` of a crawl. [config/prometheus](../../config/prometheus) has alerts that use these
metrics, and [config/grafana](../../config/grafana) a dashboard.

| metric | type | labels | meaning |
|---|---|---|---|
";

/// Every metric that the source names.
fn named() -> BTreeSet<String> {
    let name = Regex::new(r#""(seine_[a-z0-9_]+)""#).unwrap();
    let files =
        ["src/telemetry", "src/fetch"].into_iter().flat_map(|folder| walkdir::WalkDir::new(root().join(folder)));
    let texts = files.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    texts.flat_map(|text| name.captures_iter(&text).map(|found| found[1].to_owned()).collect::<Vec<_>>()).collect()
}

/// The answer of `/metrics` once a page came, of a crawl that has everything switched on that has metrics of its own.
fn scraped() -> String {
    let site = site();
    let place = Place::with("fetch_log.enabled: true\nbudget.rules: [{of: crawl, per: day, pages: 1000}]\n");
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let seeds = [format!("{}/", site.origin(0))];
    let process = Process::start(place.crawl(&seeds, &["--stay", "--listen", &listen, "--sink", "files"]));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut text = String::new();
    eventually("a page is delivered", || {
        text = get(address, "/metrics").filter(|(status, _)| *status == 200).map(|(_, text)| text).unwrap_or_default();
        text.lines().any(|line| line.starts_with("seine_validated_total{change=\"new\"}") && !line.ends_with(" 0"))
    });
    process.signal("TERM");
    process.wait();
    text
}

#[test]
fn the_metrics_are_those_of_a_crawl() {
    let text = scraped();
    let label = Regex::new(r#"([a-z_]+)="#).unwrap();
    let mut labels: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) {
            kinds.entry(name).or_default().1 = help;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            kinds.entry(name).or_default().0 = kind;
        } else if let Some((name, rest)) = line.split_once('{') {
            let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            let found = label.captures_iter(rest).map(|found| found[1].to_owned()).filter(|label| label != "le");
            labels.entry(name).or_default().extend(found);
        }
    }
    let missing: Vec<String> = named().into_iter().filter(|name| !kinds.contains_key(name.as_str())).collect();
    assert!(missing.is_empty(), "the source names metrics that this crawl does not show: {missing:?}");
    let mut page = BEFORE.to_owned();
    for (name, (kind, help)) in kinds {
        let labels = labels.get(name).into_iter().flatten().map(|label| format!("`{label}`")).collect::<Vec<_>>();
        writeln!(page, "| `{name}` | {kind} | {} | {} |", labels.join(", "), escaped(help)).unwrap();
    }
    check("metrics.md", &page);
}
