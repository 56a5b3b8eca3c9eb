//! Focused crawls: what is looked for comes first.

#[path = "../support/event.rs"]
mod event;
#[path = "../support/topics.rs"]
mod topics;
#[path = "../support/walk.rs"]
mod walk;

mod crawls;
mod ranks;
mod words;
