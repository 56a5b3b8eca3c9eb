//! Page classifiers, as their user sees them: models made and tried by the program, crawls that judge by them, and what reaches the sinks.

mod crawls;
mod languages;
mod models;

#[path = "../support/mod.rs"]
mod support;
