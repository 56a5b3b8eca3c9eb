//! The formats: what is written, what is read, and what comes of damage. One file a format.

mod cbor;
mod files;
mod filesystem;
mod http;
#[path = "../../crates/parse/tests/support/event.rs"]
mod made;
mod web_index;
