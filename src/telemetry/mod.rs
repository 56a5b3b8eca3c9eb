//! What people and machines see of a running crawl: logs, metrics, health, progress.

pub(crate) mod logging;
pub(crate) mod metrics;
pub(crate) mod progress;
pub mod server;

pub use metrics::Metrics;
