//! Page classifiers as users see them: models built and tested by the program, crawls that use them, and the effect on
//! sinks.

mod crawls;
mod languages;
mod models;

#[path = "../support/mod.rs"]
mod support;
