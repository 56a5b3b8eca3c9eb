//! Names of rolling files.

use seine_formats::layout::{FileContent, NameStamp, RollingLayout};
use seine_parse::page::EpochMs;
use time::OffsetDateTime;
use time::macros::format_description;

const PREFIX: &str = "crawl_data-";
/// Suffix of a file that is not readable while it is written.
pub(in crate::sinks) const OPEN: &str = ".open";

/// How files are rolled.
#[derive(Debug, Clone, Copy)]
pub struct RollingOptions {
    pub layout: RollingLayout,
    /// Suffix of new files; one of the layout's suffixes.
    pub suffix: &'static str,
    /// zlib level for compressed streams.
    pub level: u32,
    /// A file of this size is closed and the next one started. Only a single larger record makes a larger file.
    pub max_file_size: u64,
}

impl RollingOptions {
    pub(super) fn prefix(&self, epoch_ms: EpochMs) -> String {
        match self.layout.stamp {
            NameStamp::EpochMs => format!("{PREFIX}{epoch_ms}-"),
            NameStamp::UtcMillis => format!("{PREFIX}{}-", utc_millis(epoch_ms)),
        }
    }

    /// The name of a file while it is written.
    pub(super) fn written_name(&self, name: &str) -> String {
        match self.layout.content {
            FileContent::Stream => name.to_owned(),
            FileContent::Records(_) => format!("{name}{OPEN}"),
        }
    }

    /// Whether a file name, with or without `.open`, belongs to this layout.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let name = name.strip_suffix(OPEN).unwrap_or(name);
        is_named_by(&self.layout, name) && !name.contains(std::path::is_separator)
    }
}

/// Whether a file name is one that this layout's sink, or ACHE's, gives to files that can be read.
pub(crate) fn is_named_by(layout: &RollingLayout, name: &str) -> bool {
    name.starts_with(PREFIX) && layout.suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// `20261121143705985`
fn utc_millis(epoch_ms: EpochMs) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(epoch_ms) * 1_000_000);
    let format = format_description!("[year][month][day][hour][minute][second][subsecond digits:3]");
    time.ok().and_then(|it| it.format(&format).ok()).unwrap_or_else(|| epoch_ms.to_string())
}
