//! The formats: writing, reading, and damage. One file per format.

mod cbor;
mod files;
mod filesystem;
mod http;
#[path = "../../../parse/tests/support/event.rs"]
mod made;
mod web_index;
