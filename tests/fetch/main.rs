//! Fetching through its public interface: one exchange (`Client`), names (`Dns`), pauses, and whole visits of hosts
//! (`Visitor`) with everything that a server can do.

mod aliases;
mod behind;
mod beside;
mod bodies;
mod borrowing;
mod canonical;
mod cookies;
mod dns;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod exchange;
mod faults;
mod golden;
mod outage;
mod output;
mod pauses;
mod raw_server;
mod redirect_targets;
mod redirects;
mod requests;
mod robots;
mod robots_elsewhere;
#[path = "../support/mod.rs"]
mod sites;
mod support;
mod tls;
mod visits;
mod wire;
