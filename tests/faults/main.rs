//! Whole crawls while what they deliver to fails: real servers that are stopped, killed, robbed of their disk or cut off,
//! and `kill -9` of the crawl itself in the middle of it. Afterwards the destination is read and compared with the
//! website, page by page.
//!
//! * `oracle`: a crawl of a website whose every page is known, and what must have come of it.
//! * `proxy`: a network that fails on command.
//! * one module a destination.

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
