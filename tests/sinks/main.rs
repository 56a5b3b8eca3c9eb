//! The sinks through their public interface. One file per kind of sink.

mod appended;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod files;
mod filesystem;
mod pagestore;
mod records;
#[path = "../support/sink.rs"]
mod sink;
mod upkeep;
