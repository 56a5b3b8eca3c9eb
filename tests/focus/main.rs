//! Focused crawls: relevant pages come first.

#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/topics.rs"]
mod topics;
#[path = "../support/walk.rs"]
mod walk;

mod crawls;
mod program;
mod ranks;
