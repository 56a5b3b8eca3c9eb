//! Configurations, looked at.

use seine::config::{Config, SinkConfig};

/// Of its sinks.
pub fn names(config: &Config) -> Vec<&str> {
    config.sinks.iter().map(SinkConfig::name).collect()
}
