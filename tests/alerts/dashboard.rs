//! The Grafana dashboard, checked without Grafana: panels do not overlap, and each query returns data.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::prometheus::Prometheus;
use crate::{json_of_file, text_of_file};

const PATH: &str = "config/grafana/dashboards/seine.json";

fn panels() -> Vec<Value> {
    json_of_file(PATH)["panels"].as_array().expect("panels").clone()
}

/// Title and query of each panel.
fn queries() -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let of_panel = |panel: &Value| {
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        targets.iter().map(|it| (text(&panel["title"]), text(&it["expr"]))).collect::<Vec<_>>()
    };
    panels().iter().flat_map(of_panel).collect()
}

/// Runs each query against a Prometheus that watches a crawl, with Grafana's variables replaced.
pub fn every_query_has_data(prometheus: &Prometheus) {
    let mut asked = 0;
    for (title, query) in queries() {
        let query = query.replace("$__rate_interval", "2m").replace("$instance", ".*");
        assert!(!query.contains('$'), "{title}: {query}");
        let samples = prometheus.query(&query);
        assert!(!samples.is_empty(), "{title}: {query} has no data");
        assert!(samples.iter().any(|it| it.is_finite()), "{title}: {query}: {samples:?}");
        asked += 1;
    }
    assert!(asked >= 25, "{asked} queries");
}

#[test]
fn panels_have_names_and_places_of_their_own() {
    let panels = panels();
    let ids: BTreeSet<u64> = panels.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeMap::new();
    for panel in &panels {
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{panel}");
        for place in (at("x")..at("x") + at("w")).flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y))) {
            assert_eq!(taken.insert(place, &panel["title"]), None, "{} is not alone", panel["title"]);
        }
    }
}

#[test]
fn every_panel_asks_the_data_source_that_is_chosen() {
    let dashboard = json_of_file(PATH);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: BTreeSet<_> = variables.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["datasource", "instance"]));
    for panel in panels().iter().filter(|it| it["type"] != "row") {
        let targets = panel["targets"].as_array().unwrap();
        let sources = targets.iter().map(|it| &it["datasource"]).chain([&panel["datasource"]]);
        sources.for_each(|it| assert_eq!(it["uid"], "${datasource}", "{}", panel["title"]));
        let ids: BTreeSet<_> = targets.iter().map(|it| it["refId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), targets.len());
    }
}

/// The parts that the containers use as well.
#[test]
fn provisioning_names_the_services_and_folders_that_are_documented() {
    let source = text_of_file("config/grafana/provisioning/datasources/prometheus.yml");
    assert!(source.contains("url: http://prometheus:9090") && source.contains("type: prometheus"));
    let scraped = text_of_file("config/prometheus/prometheus.yml");
    let interval = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"));
        line.trim().to_owned()
    };
    assert_eq!(interval(&source, "timeInterval:"), interval(&scraped, "scrape_interval:"));
    let folders = text_of_file("config/grafana/provisioning/dashboards/seine.yml");
    assert!(folders.contains("path: /var/lib/grafana/dashboards"));
}
