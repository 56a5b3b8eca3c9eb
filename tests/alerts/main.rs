//! Monitoring: the configuration of Prometheus, the alerts and the Grafana dashboard, tested with a real Prometheus
//! (`scripts/services/prometheus`) that scrapes a real crawl.

mod dashboard;
mod prometheus;
mod rules;
mod scenario;

#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;

use serde_json::Value;

fn project_file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text_of_file(path: &str) -> String {
    std::fs::read_to_string(project_file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json_of_file(path: &str) -> Value {
    serde_json::from_str(&text_of_file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
