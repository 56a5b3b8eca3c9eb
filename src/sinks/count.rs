//! Counts the records in the files of the FILES sink, for an audit.

use std::fs::File;
use std::path::Path;

use seine_formats::files::{self, FilesReader, FilesRecord};
use seine_formats::format::Files;
use seine_parse::page::EpochMs;

use super::dead_letters::id_hash;
use super::folder::{file_error, list_named};
use super::live_keys::LiveKeys;
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
    count.notes = each_record(folder, &mut |record| {
        count.count += 1;
        if let Ok(at) = expected.binary_search(&files_key(&record.url, record.fetch_time)) {
            found[at] = true;
        }
    })?;
    count.found = Some(found.into_iter().filter(|is_there| *is_there).count() as u64);
    Ok(count)
}

/// Reads which URLs have a record. Nothing leaves an archive.
pub(super) fn read_keys(folder: &Path, keys: &mut LiveKeys) -> Result<u64, SinkError> {
    each_record(folder, &mut |record| keys.written(&record.url))?;
    keys.end_part();
    Ok(0)
}

/// Visits every readable record. Returns a note for each one that is not.
fn each_record(folder: &Path, visit: &mut dyn FnMut(&FilesRecord<'_>)) -> Result<Vec<String>, SinkError> {
    let mut notes = Vec::new();
    if !folder.is_dir() {
        return Ok(notes);
    }
    let Files::Rolling(layout) = files::FORMAT.files else { return Ok(notes) };
    for path in list_named(folder, |name| is_named_by(&layout, name))? {
        let file = File::open(&path).map_err(|e| file_error("opening", &path, e))?;
        for record in FilesReader::new(file) {
            match record {
                Ok(record) => visit(&record),
                Err(error) => notes.push(format!("{}: {error}", path.display())),
            }
        }
    }
    Ok(notes)
}
