//! Messages and documents of a real crawl in real servers, as consumers get them. They are checked against the schemas, the example
//! consumers, the index template and the saved objects in docs/consuming.md. Also the API against its description, and
//! the page at `/` in a browser.
//!
//! Needs what `scripts/services/{kafka,elasticsearch,opensearch,python}` install (Java, Maven, Python) and Chromium.

mod api;
mod browser;
mod clients;
mod examples;
mod index;
mod messages;
mod page;
mod saved_objects;
mod schemas;
mod site;

#[path = "../kafka/broker.rs"]
mod broker;
#[allow(dead_code)]
#[path = "../elastic/node.rs"]
mod node;
#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(120);

fn project_file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text_of_file(path: &str) -> String {
    std::fs::read_to_string(project_file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json_of_file(path: &str) -> Value {
    serde_json::from_str(&text_of_file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The path that an installing script prints.
fn installed(script: &str, action: &str) -> String {
    let output = Command::new(project_file(script)).arg(action).output().expect("the script runs");
    assert!(output.status.success(), "{script} {action}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a path").trim().to_owned()
}
