//! What people and machines see of a running crawl: logs, metrics, health, progress.

pub mod logging;
pub mod metrics;
pub mod progress;
pub mod server;

pub use metrics::Metrics;
