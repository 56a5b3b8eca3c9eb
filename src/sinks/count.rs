//! Counts what a destination holds, where that is cheap, for an audit.

use std::fs::File;
use std::path::Path;

use seine_formats::files::{self, FilesReader};
use seine_formats::format::Files;
use seine_parse::page::{EpochMs, PageEvent};

use super::dead_letters::id_hash;
use super::folder::{file_error, list_named};
use super::rolling::is_named_by;
use super::sink::{SinkCount, SinkError};
use super::{elasticsearch, kafka_audit};
use crate::config::{Destination, SinkConfig};

/// None for destinations that cannot be asked. `folder` is the sink's own. `expected` has the [`key`] of each event that must be there,
/// each once and in order.
pub fn held(config: &SinkConfig, folder: &Path, expected: &[u64]) -> Result<Option<SinkCount>, SinkError> {
    match &config.destination {
        Destination::Files { .. } if config.format == Some(files::FORMAT) => files(folder, expected).map(Some),
        Destination::Kafka(kafka) => kafka_audit::held(kafka, expected).map(Some),
        Destination::Elasticsearch(elastic) => elasticsearch::held(elastic).map(Some),
        // `seine verify` checks the content of files.
        _ => Ok(None),
    }
}

/// By what an event is recognised at its destination; none if nothing there says which event it is. FILES has no ids: it is the URL
/// and the time of the fetch.
pub fn key(config: &SinkConfig, event: &PageEvent) -> Option<u64> {
    match config.destination {
        Destination::Files { .. } if config.format == Some(files::FORMAT) => {
            Some(files_key(&event.url, event.ended_ms))
        }
        Destination::Kafka(_) => Some(id_hash(&event.id)),
        _ => None,
    }
}

fn files_key(url: &str, fetched: EpochMs) -> u64 {
    id_hash(&format!("{fetched} {url}"))
}

/// Counts by reading every record.
fn files(folder: &Path, expected: &[u64]) -> Result<SinkCount, SinkError> {
    let mut held = SinkCount { found: Some(0), ..SinkCount::new("readable records", 0) };
    let mut found = vec![false; expected.len()];
    if !folder.is_dir() {
        return Ok(held);
    }
    let Files::Rolling(layout) = files::FORMAT.files else { return Ok(held) };
    for path in list_named(folder, |name| is_named_by(&layout, name))? {
        let file = File::open(&path).map_err(|e| file_error("opening", &path, e))?;
        for record in FilesReader::new(file) {
            match record {
                Ok(record) => {
                    held.count += 1;
                    if let Ok(at) = expected.binary_search(&files_key(&record.url, record.fetch_time)) {
                        found[at] = true;
                    }
                }
                Err(error) => held.notes.push(format!("{}: {error}", path.display())),
            }
        }
    }
    held.found = Some(found.into_iter().filter(|is_there| *is_there).count() as u64);
    Ok(held)
}
