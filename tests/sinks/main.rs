//! The sinks at their public edge. One file a kind of sink.

mod appended;
#[path = "../support/event.rs"]
mod event;
mod files;
mod filesystem;
mod pagestore;
mod records;

use std::sync::Arc;

use seine::parse::{DeriveOptions, derive};
use seine::sinks::Derive;

/// Everything, as a crawl derives it.
fn derived() -> Derive {
    let options = DeriveOptions { max_decoded_bytes: 1 << 30, obey_nofollow: false, agent: "Seine".into() };
    Arc::new(move |event| derive(event, &options))
}
