//! What the formats that are files ask of the configuration.

use std::path::PathBuf;

use super::draft::Draft;
use crate::formats::web_index::Limits;

/// `target_storage.data_format.filesystem.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemConfig {
    pub content: FilesystemContent,
    /// Names are the URLs' SHA-256.
    pub hash_file_name: bool,
    /// Each file is a zlib stream.
    pub compress_data: bool,
}

/// What a page's file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesystemContent {
    /// The body alone.
    Html,
    /// The FILES object.
    Json,
    Cbor,
}

/// Rolling files of one record a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordsConfig {
    pub format: RecordsFormat,
    pub max_file_size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordsFormat {
    Cdr31 { team: Option<String> },
    Elastic,
    WebIndex(Limits),
}

/// The keys while they are read.
#[derive(Default)]
pub(super) struct ArchivesDraft {
    pub hash_file_name: bool,
    pub compress_data: bool,
    /// Of CDR31, ELASTIC and WEB_INDEX.
    pub records_max_file_size: u64,
    pub web_index: Limits,
    pub tianwang_compress: bool,
    pub tianwang_max_file_size: u64,
    pub pagestore_base: Option<PathBuf>,
}

impl Draft {
    pub(super) fn filesystem(&self, content: FilesystemContent) -> FilesystemConfig {
        let (hash_file_name, compress_data) = (self.archives.hash_file_name, self.archives.compress_data);
        FilesystemConfig { content, hash_file_name, compress_data }
    }

    pub(super) fn records(&self, format: RecordsFormat) -> RecordsConfig {
        RecordsConfig { format, max_file_size: self.archives.records_max_file_size }
    }
}
