//! Crawls of sites with traps, step by step through the validator and the frontier.

#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod made;
mod made_sites;
#[path = "../support/traps.rs"]
mod site;
mod sites;
