//! Counts the records in the files of the FILES sink, for an audit.

use std::fs::File;
use std::path::Path;

use seine_formats::files::{self, FilesReader};
use seine_formats::format::Files;
use seine_parse::page::EpochMs;

use super::dead_letters::id_hash;
use super::folder::{file_error, list_named};
use super::rolling::is_named_by;
use super::sink::{SinkCount, SinkError};

/// The key that identifies a record of FILES.
pub(super) fn files_key(url: &str, fetched: EpochMs) -> u64 {
    id_hash(&format!("{fetched} {url}"))
}

/// Counts by reading every record. `expected` has the keys of the events that must be there, each once and in order.
pub(super) fn files(folder: &Path, expected: &[u64]) -> Result<SinkCount, SinkError> {
    let mut count = SinkCount { found: Some(0), ..SinkCount::new("readable records", 0) };
    let mut found = vec![false; expected.len()];
    if !folder.is_dir() {
        return Ok(count);
    }
    let Files::Rolling(layout) = files::FORMAT.files else { return Ok(count) };
    for path in list_named(folder, |name| is_named_by(&layout, name))? {
        let file = File::open(&path).map_err(|e| file_error("opening", &path, e))?;
        for record in FilesReader::new(file) {
            match record {
                Ok(record) => {
                    count.count += 1;
                    if let Ok(at) = expected.binary_search(&files_key(&record.url, record.fetch_time)) {
                        found[at] = true;
                    }
                }
                Err(error) => count.notes.push(format!("{}: {error}", path.display())),
            }
        }
    }
    count.found = Some(found.into_iter().filter(|is_there| *is_there).count() as u64);
    Ok(count)
}
