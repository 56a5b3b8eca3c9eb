//! Counts what a destination holds, where that is cheap, for an audit.

use std::fs::File;
use std::path::Path;

use super::folder::{file_error, list_named};
use super::rolling::is_named_by;
use super::sink::{SinkCount, SinkError};
use super::{elasticsearch, kafka_audit};
use crate::config::{Destination, SinkConfig};
use crate::formats::files::{self, FilesReader};
use crate::formats::format::Files;

/// None for destinations that cannot be asked. `folder` is the sink's own. `expected` has the
/// [`id_hash`](super::dead_letters::id_hash) of each event that must be there, each once.
pub fn held(config: &SinkConfig, folder: &Path, expected: &[u64]) -> Result<Option<SinkCount>, SinkError> {
    match &config.destination {
        Destination::Files { .. } if config.format == Some(files::FORMAT) => files(folder).map(Some),
        Destination::Kafka(kafka) => kafka_audit::held(kafka, expected).map(Some),
        Destination::Elasticsearch(elastic) => elasticsearch::held(elastic).map(Some),
        // `seine verify` checks the content of files.
        _ => Ok(None),
    }
}

/// Counts by reading every record.
fn files(folder: &Path) -> Result<SinkCount, SinkError> {
    let mut held = SinkCount::new("readable records", 0);
    if !folder.is_dir() {
        return Ok(held);
    }
    let Files::Rolling(layout) = files::FORMAT.files else { return Ok(held) };
    for path in list_named(folder, |name| is_named_by(&layout, name))? {
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
