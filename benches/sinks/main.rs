//! The sinks KAFKA and ELASTICSEARCH with real servers (`scripts/services/`) on the same machine.
//!
//! * `clients`: the rate of a sink, and the rate of its client library with ready-made messages.
//! * `isolation`: a whole crawl to both servers while Elasticsearch is down. It shows how much this slows Kafka down, how
//!   fast Elasticsearch catches up, and how much memory the wait takes.
//!
//! `cargo bench --bench sinks [-- PART… [ROUNDS]]`: by default all parts (`clients`, `kafka`, `catch-up`, `memory`) and
//! three rounds.

#[path = "../../tests/kafka/broker.rs"]
mod broker;
#[path = "../support/child.rs"]
mod child;
mod clients;
#[path = "../support/cpu.rs"]
mod cpu;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod isolation;
#[path = "../../tests/elastic/node.rs"]
#[allow(dead_code)]
mod node;
#[path = "../../tests/faults/proxy.rs"]
#[allow(dead_code)]
mod proxy;
#[path = "../support/site.rs"]
mod site;
#[path = "../support/stages.rs"]
#[allow(dead_code)]
mod stages;
#[path = "../../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use broker::Broker;
use node::Node;

/// Longer than any wait.
const LONG: Duration = Duration::from_secs(600);
const PARTS: [&str; 4] = ["clients", "kafka", "catch-up", "memory"];

/// How much of everything.
struct Size {
    rounds: usize,
    /// Pages through a sink by itself.
    ready_made: usize,
    /// Pages of a crawl.
    pages: usize,
    /// How long Elasticsearch is down before it catches up.
    outage: Duration,
}

const FULL: Size = Size { rounds: 3, ready_made: 4_000, pages: site::PAGES, outage: Duration::from_secs(30) };
const SHORT: Size = Size { rounds: 1, ready_made: 200, pages: 400, outage: Duration::from_secs(10) };

fn main() {
    if site::run_if_asked() {
        return;
    }
    // Cargo adds `--bench`; without it this is `cargo test --all-targets`, which only wants to see that it runs.
    let mut size = if std::env::args().any(|argument| argument == "--bench") { FULL } else { SHORT };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--short") {
        size = SHORT;
    }
    let (mut parts, mut others): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for argument in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        if PARTS.contains(&argument.as_str()) { parts.push(argument) } else { others.push(argument) }
    }
    if let Some(rounds) = others.first() {
        size.rounds = rounds.parse().unwrap_or_else(|_| panic!("parts are {PARTS:?}, and then a number of rounds"));
    }
    let is_wanted = |part: &str| parts.is_empty() || parts.contains(&part);

    let broker = Broker::start(tempfile::tempdir().expect("a temporary folder").keep(), &[]);
    let node = Node::start_with("elasticsearch", "8.19.21", &[]);
    if is_wanted("clients") {
        clients::compare(&size, &broker, &node);
    }
    if PARTS[1..].iter().any(|part| is_wanted(part)) {
        let rig = isolation::Rig::new(broker, node);
        if is_wanted("kafka") {
            rig.kafka_while_elasticsearch_is_down(&size);
        }
        if is_wanted("catch-up") {
            rig.catch_up(&size);
        }
        if is_wanted("memory") {
            rig.memory(&size);
        }
    }
}
