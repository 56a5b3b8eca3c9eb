//! A sink without a crawl.

use std::path::Path;

use seine::config::{self, SinkConfig};
use seine::sinks::{self, Sink, SinkContext};
use serde_json::Value;

/// The sink with this name in `target_storage.data_formats`, with these keys below `target_storage.data_format`.
pub fn config(name: &str, keys: &[(&str, &str)]) -> SinkConfig {
    let names: Vec<String> = keys.iter().map(|(key, _)| format!("target_storage.data_format.{key}")).collect();
    let keys = names.iter().zip(keys).map(|(name, (_, value))| (name.as_str(), (*value).to_owned()));
    let options: Vec<_> = keys.chain([("target_storage.data_formats", name.to_owned())]).collect();
    config::load_with(None, &[], &options).unwrap().config.sinks.remove(0)
}

pub fn open(config: &SinkConfig, folder: &Path, state: &Value) -> Box<dyn Sink> {
    sinks::open(config, &SinkContext::new(folder), state).unwrap()
}
