//! What rolling files are called.

use time::OffsetDateTime;
use time::macros::format_description;

use crate::formats::layout::{FileContent, NameStamp, RollingLayout};
use crate::page::EpochMs;

const PREFIX: &str = "crawl_data-";
/// Behind the name of a file that cannot be read as it is while it is written.
pub(in crate::sinks) const OPEN: &str = ".open";

/// How files are rolled.
#[derive(Debug, Clone, Copy)]
pub struct RollingOptions {
    pub layout: RollingLayout,
    /// Of new files: one of the shape's.
    pub suffix: &'static str,
    /// Of a stream: zlib's.
    pub level: u32,
    /// A larger file is closed and the next one begun; only a single record that is larger makes a larger file.
    pub max_file_size: u64,
}

impl RollingOptions {
    pub(super) fn prefix(&self, epoch_ms: EpochMs) -> String {
        match self.layout.stamp {
            NameStamp::EpochMs => format!("{PREFIX}{epoch_ms}-"),
            NameStamp::UtcMillis => format!("{PREFIX}{}-", utc_millis(epoch_ms)),
        }
    }

    /// Of a file while it is written.
    pub(super) fn written_name(&self, name: &str) -> String {
        match self.layout.content {
            FileContent::Stream => name.to_owned(),
            FileContent::Records(_) => format!("{name}{OPEN}"),
        }
    }

    /// Whether a file name, with or without `.open`, is one of these.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        is_named_by(&self.layout, name) && !name.contains(std::path::is_separator)
    }
}

/// Whether a file that the shape's sink, or ACHE's, has closed, or leaves readable while it writes, has such a name.
pub(crate) fn is_named_by(layout: &RollingLayout, name: &str) -> bool {
    name.starts_with(PREFIX) && layout.suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// `20261121143705985`
fn utc_millis(epoch_ms: EpochMs) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(epoch_ms) * 1_000_000);
    let format = format_description!("[year][month][day][hour][minute][second][subsecond digits:3]");
    time.ok().and_then(|it| it.format(&format).ok()).unwrap_or_else(|| epoch_ms.to_string())
}
