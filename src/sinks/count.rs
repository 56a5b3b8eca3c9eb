//! How much a destination holds, as far as it is cheaply told, for an audit.

use std::fs::File;
use std::path::Path;

use super::folder::file_error;
use super::rolling::readable_files;
use super::{SinkError, elasticsearch, kafka_audit};
use crate::config::{Destination, SinkConfig};
use crate::formats::files::{self, FilesReader};
use crate::formats::table::Files;

/// What was counted.
#[derive(Debug, Clone)]
pub struct Held {
    pub what: &'static str,
    pub count: u64,
    /// Taken by the destination and removed by it since, as its settings say.
    pub removed: u64,
    /// How many of the events that were asked for are there; none for who knows no events.
    pub found: Option<u64>,
    /// What the one who reads the count should know.
    pub notes: Vec<String>,
}

impl Held {
    /// A number, and nothing more.
    pub fn new(what: &'static str, count: u64) -> Held {
        Held { what, count, removed: 0, found: None, notes: Vec::new() }
    }
}

/// None for destinations that cannot be asked. `folder`: the sink's own. `expected`: events that must be there, by
/// [`id_hash`](super::dead_letters::id_hash), each once.
pub fn held(config: &SinkConfig, folder: &Path, expected: &[u64]) -> Result<Option<Held>, SinkError> {
    match &config.destination {
        Destination::Files { .. } if config.format == Some(files::FORMAT) => files(folder).map(Some),
        Destination::Kafka(kafka) => kafka_audit::held(kafka, expected).map(Some),
        Destination::Elasticsearch(elastic) => elasticsearch::held(elastic).map(Some),
        // `seine verify` reads what lies in files.
        _ => Ok(None),
    }
}

/// Reads every record.
fn files(folder: &Path) -> Result<Held, SinkError> {
    let mut held = Held::new("readable records", 0);
    if !folder.is_dir() {
        return Ok(held);
    }
    let Files::Rolling(shape) = files::FORMAT.files() else { return Ok(held) };
    for path in readable_files(folder, &shape)? {
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
