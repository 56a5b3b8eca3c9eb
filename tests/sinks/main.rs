//! The sinks through their public interface. One file per kind of sink.

mod appended;
// A crate's support, which is here a second time, brings its own.
#[allow(clippy::duplicate_mod)]
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod files;
mod filesystem;
mod live_keys;
mod pagestore;
mod records;
#[path = "../support/sink.rs"]
mod sink;
mod tianwang;
#[path = "../../crates/formats/tests/tianwang/support.rs"]
mod tianwang_pages;
mod upkeep;
mod warc;
#[path = "../../crates/formats/tests/warc/support.rs"]
mod warc_pages;
mod warc_readers;
