//! Helpers for configurations.

use seine::config::{Config, SinkConfig};

/// The names of its sinks.
pub fn names(config: &Config) -> Vec<&str> {
    config.sinks.iter().map(SinkConfig::name).collect()
}
