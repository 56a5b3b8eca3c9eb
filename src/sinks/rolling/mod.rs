//! Rolling files of whole records: appended to, never by a later run, and after a crash cut back to exactly what was
//! acknowledged.
//!
//! The sink's committed state says how: it names the open file with its length at the last acknowledgement, and reserves a
//! time for the names of files opened after it. A file with the reserved time holds nothing acknowledged, or a later state
//! would have been committed. Formats differ in one thing alone, [`Content`]: how an acknowledged beginning is closed.

mod indexes;
mod open_file;
mod salvage;
mod taken_back;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::macros::format_description;

pub(super) use self::indexes::Indexes;
use self::open_file::OpenFile;
use super::SinkError;
use super::folder::{create_folder, sync_folder};
use crate::formats::shape::{Content, Shape, Stamp};
use crate::page::EpochMs;

const PREFIX: &str = "crawl_data-";
/// Behind the name of a file that cannot be read as it is while it is written.
const OPEN: &str = ".open";

/// How files are rolled.
#[derive(Debug, Clone, Copy)]
pub struct Rolling {
    pub shape: Shape,
    /// Of new files: one of the shape's.
    pub suffix: &'static str,
    /// Of a stream: zlib's.
    pub level: u32,
    /// A larger file is closed and the next one begun; only a single record that is larger makes a larger file.
    pub max_file_size: u64,
}

/// The files of one folder; the folder is the sink's own.
pub struct RollingFiles {
    folder: PathBuf,
    rolling: Rolling,
    /// The time in the next file's name.
    reserved: EpochMs,
    /// A file has it in its name: the next acknowledgement reserves another. Without one nothing changes: an idle sink is
    /// asked several times a second, and what changed is written.
    is_used: bool,
    current: Option<OpenFile>,
}

/// What is committed with the cursor.
#[derive(Serialize, Deserialize)]
struct Saved {
    open: Option<Acknowledged>,
    reserved: EpochMs,
}

/// A file as of an acknowledgement: of a stream, it ends with a flush there.
#[derive(Serialize, Deserialize)]
struct Acknowledged {
    name: String,
    length: u64,
    /// Of a stream's uncompressed bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adler32: Option<u32>,
}

impl RollingFiles {
    /// Creates the folder when it is absent, and takes back what `state` does not acknowledge. With a null state nothing
    /// is taken back: files that an earlier writer left unfinished are closed behind their last whole record.
    pub fn open(folder: &Path, rolling: Rolling, state: &serde_json::Value) -> Result<RollingFiles, SinkError> {
        create_folder(folder)?;
        let reserved = taken_back::restore(folder, &rolling, state)?;
        Ok(RollingFiles { folder: folder.into(), rolling, reserved, is_used: false, current: None })
    }

    /// Adds a whole record to the open file, or to a new one when it might not fit; a new file begins with what `first`
    /// makes of its name. Returns the name of a file that was closed for it.
    pub fn append(&mut self, record: &[u8], first: impl FnOnce(&str) -> Vec<u8>) -> Result<Option<String>, SinkError> {
        let most = self.rolling.max_file_size;
        let is_full = self.current.as_ref().is_some_and(|it| it.at_most_after(record.len()) > most);
        let closed = if is_full { self.close()? } else { None };
        let current = match &mut self.current {
            Some(current) => current,
            none => {
                self.is_used = true;
                let mut new = OpenFile::create(&self.folder, self.reserved, &self.rolling)?;
                new.append(&first(new.name()))?;
                none.insert(new)
            }
        };
        current.append(record)?;
        Ok(closed)
    }

    /// Makes everything added durable, and of a stream readable. Returns the state to commit with it.
    pub fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        if let Some(current) = &mut self.current {
            current.sync()?;
        }
        if std::mem::take(&mut self.is_used) {
            self.reserved = crate::clock::now_ms().max(self.reserved + 1);
        }
        let saved = Saved { open: self.current.as_ref().map(OpenFile::acknowledged), reserved: self.reserved };
        Ok(serde_json::to_value(saved).expect("a struct of strings and numbers is always JSON"))
    }

    /// Finishes the open file; the next record starts another. Returns its name, if there was one.
    pub fn close(&mut self) -> Result<Option<String>, SinkError> {
        let Some(current) = self.current.take() else { return Ok(None) };
        let name = current.finish(&self.folder)?;
        sync_folder(&self.folder)?;
        Ok(Some(name))
    }
}

impl Rolling {
    fn prefix(&self, epoch_ms: EpochMs) -> String {
        match self.shape.stamp {
            Stamp::EpochMs => format!("{PREFIX}{epoch_ms}-"),
            Stamp::UtcMillis => format!("{PREFIX}{}-", utc_millis(epoch_ms)),
        }
    }

    /// Of a file while it is written.
    fn written_name(&self, name: &str) -> String {
        match self.shape.content {
            Content::Stream => name.to_owned(),
            Content::Records(_) => format!("{name}{OPEN}"),
        }
    }

    /// Whether a file name, with or without `.open`, is one of these.
    fn is_ours(&self, name: &str) -> bool {
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        is_named_by(&self.shape, name) && !name.contains(std::path::is_separator)
    }
}

/// The files that a shape's sink has closed in a folder, or leaves readable while it writes, in order.
pub fn readable_files(folder: &Path, shape: &Shape) -> Result<Vec<PathBuf>, SinkError> {
    super::folder::list_named(folder, |name| is_named_by(shape, name))
}

fn is_named_by(shape: &Shape, name: &str) -> bool {
    name.starts_with(PREFIX) && shape.suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// `20261121143705985`
fn utc_millis(epoch_ms: EpochMs) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(epoch_ms) * 1_000_000);
    let format = format_description!("[year][month][day][hour][minute][second][subsecond digits:3]");
    time.ok().and_then(|it| it.format(&format).ok()).unwrap_or_else(|| epoch_ms.to_string())
}
