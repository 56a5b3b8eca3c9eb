//! Restores a folder to what was acknowledged. Can be interrupted and repeated at any point.

use std::fs::File;
use std::path::Path;

use seine_formats::layout::FileContent;
use seine_formats::records::ReadSeek;
use seine_formats::zlib_stream;
use seine_parse::page::EpochMs;
use seine_system::clock::now_ms;
use seine_system::folders::if_there;
use serde::{Deserialize, Serialize};

use super::gone;
use super::names::{OPEN, RollingOptions};
use super::salvage;
use crate::sinks::folder::{cut, file_error, list_named, rename, sync_folder};
use crate::sinks::sink::SinkError;

/// Tells how many bytes of a file are complete records.
type WholeLength = fn(&mut dyn ReadSeek) -> std::io::Result<u64>;

/// The state committed with the cursor.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedState {
    pub open: Option<Acknowledged>,
    pub reserved: EpochMs,
}

/// The open file at an acknowledgement. A compressed stream has a flush point there.
#[derive(Serialize, Deserialize)]
pub(super) struct Acknowledged {
    pub name: String,
    pub length: u64,
    /// Checksum of a stream's uncompressed bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adler32: Option<u32>,
}

/// Restores the folder. Returns the time for the names of new files.
pub(super) fn restore(
    folder: &Path,
    rolling: &RollingOptions,
    state: &serde_json::Value,
) -> Result<EpochMs, SinkError> {
    let reserved = match read_state(state, rolling) {
        Some(saved) => {
            take_back(folder, &saved, rolling)?;
            saved.reserved
        }
        None => {
            close_left_open(folder, rolling)?;
            now_ms()
        }
    };
    sync_folder(folder)?;
    Ok(reserved)
}

/// None if there is no state. An unreadable state counts as none: some pages may then be delivered twice, but none is
/// lost.
fn read_state(state: &serde_json::Value, rolling: &RollingOptions) -> Option<SavedState> {
    if state.is_null() {
        return None;
    }
    match SavedState::deserialize(state) {
        Ok(saved) if saved.open.as_ref().is_none_or(|open| rolling.is_ours(&open.name)) => Some(saved),
        Ok(_) => {
            tracing::warn!(%state, "the saved state names a file that is not this sink's; continuing without it");
            None
        }
        Err(error) => {
            tracing::warn!(%state, %error, "the saved state cannot be read; continuing without it");
            None
        }
    }
}

fn take_back(folder: &Path, saved: &SavedState, rolling: &RollingOptions) -> Result<(), SinkError> {
    let reserved = rolling.prefix(saved.reserved);
    for path in list_named(folder, |name| rolling.is_ours(name) && name.starts_with(&reserved))? {
        std::fs::remove_file(&path).map_err(|e| file_error("removing", &path, e))?;
        tracing::info!(path = %path.display(), "removed a file without acknowledged pages; its pages are delivered again");
    }
    match &saved.open {
        Some(open) => cut_back(folder, open, rolling),
        None => Ok(()),
    }
}

/// Cuts the file to its acknowledged length, closes it and gives it its final name. It may already have that name.
///
/// # Errors [`SinkError::Replaced`] if the file is shorter than acknowledged: delivered pages are lost, as if somebody had cut it in
/// a running crawl. The rest of the file is closed after its last complete record.
fn cut_back(folder: &Path, open: &Acknowledged, rolling: &RollingOptions) -> Result<(), SinkError> {
    let done = folder.join(&open.name);
    let writing = folder.join(rolling.written_name(&open.name));
    let path = if writing.exists() { &writing } else { &done };
    let metadata = if_there(std::fs::metadata(path)).map_err(|e| file_error("looking at", path, e))?;
    let Some(length) = metadata.map(|metadata| metadata.len()) else {
        // A program that processes the files may have moved it away.
        tracing::error!(path = %done.display(), "the last file was moved or deleted while the crawl was stopped; if its \
            pages are missed, seine sinks refill NAME delivers them again");
        return Ok(());
    };
    if length < open.length {
        close_shortened(path, &done, rolling)?;
        let how = format!("holds {length} bytes, and {} were written to it", open.length);
        return Err(gone(format!("the last file, {}, {how}", done.display())));
    }
    let ending = open.adler32.map(zlib_stream::ending);
    cut(path, open.length, ending.as_ref().map_or(&[], |it| &it[..]))?;
    if path == &done { Ok(()) } else { rename(path, &done) }
}

/// Closes a file that somebody shortened after its last complete record. Removes it if it has none.
fn close_shortened(path: &Path, done: &Path, rolling: &RollingOptions) -> Result<(), SinkError> {
    match rolling.layout.content {
        FileContent::Stream => salvage::close_file(path, rolling.level)?,
        FileContent::Records(whole_length) => cut_to_records(path, whole_length)?,
    }
    if path != done && path.exists() { rename(path, done) } else { Ok(()) }
}

/// Cuts a file after its last complete record. Removes it if it has none.
fn cut_to_records(path: &Path, whole_length: WholeLength) -> Result<(), SinkError> {
    let length =
        File::open(path).and_then(|mut file| whole_length(&mut file)).map_err(|e| file_error("reading", path, e))?;
    if length == 0 {
        return std::fs::remove_file(path).map_err(|e| file_error("removing", path, e));
    }
    cut(path, length, &[])?;
    tracing::info!(path = %path.display(), length, "cut a file back to its complete records");
    Ok(())
}

/// Closes files of an earlier writer that no state knows.
fn close_left_open(folder: &Path, rolling: &RollingOptions) -> Result<(), SinkError> {
    let whole_length = match rolling.layout.content {
        FileContent::Stream => {
            let files = list_named(folder, |name| rolling.is_ours(name))?;
            return salvage::close_unfinished(&files, rolling.level);
        }
        FileContent::Records(whole_length) => whole_length,
    };
    for path in list_named(folder, |name| name.ends_with(OPEN) && rolling.is_ours(name))? {
        cut_to_records(&path, whole_length)?;
        if path.exists() {
            rename(&path, &path.with_extension(""))?;
        }
    }
    Ok(())
}
