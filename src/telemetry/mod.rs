//! Logs, metrics, health and progress of a running crawl.

pub(crate) mod fetch_log;
mod gauges;
pub(crate) mod harvest;
pub(crate) mod logging;
pub(crate) mod manager;
pub(crate) mod metrics;
mod process;
pub mod progress;
pub(crate) mod rates;
mod repeats;
mod stderr_thread;

pub use metrics::Metrics;
