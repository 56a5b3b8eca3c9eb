//! Whole crawls whose destinations fail. The servers are real: they are stopped, killed, disconnected, or lose their disk.
//! The crawl itself is killed meanwhile (`kill -9`). Afterwards the destination is compared with the website, page by page.
//!
//! * `oracle`: a crawl of a website with known pages, and the checks of its result.
//! * `proxy`: a network that fails on command.
//! * One module per destination.

mod elastic;
mod kafka;
mod oracle;
mod proxy;

#[path = "../kafka/broker.rs"]
mod broker;
#[allow(dead_code)]
#[path = "../elastic/node.rs"]
mod node;
#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(90);
