//! How much a destination holds, as far as it is cheaply told, for an audit.

use std::fs::File;
use std::path::Path;

use super::rolling::{file_error, list};
use super::{SinkError, elasticsearch, kafka_client};
use crate::config::SinkConfig;
use crate::formats::files::FilesReader;

/// What was counted.
#[derive(Debug, Clone)]
pub struct Held {
    pub what: &'static str,
    pub count: u64,
    /// What the one who reads the count should know.
    pub notes: Vec<String>,
}

/// None for destinations that cannot be asked. `folder`: the sink's own.
pub fn held(config: &SinkConfig, folder: &Path) -> Result<Option<Held>, SinkError> {
    match config {
        SinkConfig::Files { .. } => files(folder).map(Some),
        SinkConfig::Kafka(config) => kafka_client::held(config).map(Some),
        SinkConfig::Elasticsearch(config) => elasticsearch::held(config).map(Some),
        // `seine verify` reads these.
        SinkConfig::Filesystem(_)
        | SinkConfig::Records(_)
        | SinkConfig::Warc(_)
        | SinkConfig::Tianwang { .. }
        | SinkConfig::Pagestore { .. } => Ok(None),
        SinkConfig::Stdout | SinkConfig::Void => Ok(None),
    }
}

/// Reads every record.
fn files(folder: &Path) -> Result<Held, SinkError> {
    let mut held = Held { what: "readable records", count: 0, notes: Vec::new() };
    if !folder.is_dir() {
        return Ok(held);
    }
    for path in list(folder, "")? {
        let file = File::open(&path).map_err(|e| file_error("opening", &path, e))?;
        for record in FilesReader::new(file) {
            match record {
                Ok(_) => held.count += 1,
                Err(error) => held.notes.push(format!("{}: {error}", path.display())),
            }
        }
    }
    Ok(held)
}
