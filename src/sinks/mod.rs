//! Sinks: one file a destination, on top of a format. A sink sees log entries and never the frontier.

pub mod appended;
pub mod count;
pub mod dead_letters;
pub mod elasticsearch;
pub mod files;
pub mod filesystem;
pub mod fused;
pub mod kafka;
mod kafka_audit;
mod kafka_client;
pub mod pagestore;
pub(crate) mod placed;
pub(crate) mod pump;
pub mod records;
pub mod rolling;
mod salvage;
pub mod stdout;
pub mod tianwang;
pub mod void;
pub mod warc;
mod warc_index;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::config::SinkConfig;
use crate::delivery::{Entry, Position};
use crate::large;

/// Builds a sink. `folder`: the sink's own, for what it keeps on disk. `state`: what its last committed [`Delivered`]
/// carried, null for a sink that never delivered. `hurry`: set when the process is to end; a sink that waits for a server
/// stops waiting then, and [`Sink::flush`] returns what is durable. After an error it is not used on ([`fused`]).
pub fn open(
    config: &SinkConfig,
    folder: &Path,
    state: &serde_json::Value,
    hurry: Arc<AtomicBool>,
) -> Result<Box<dyn Sink>, SinkError> {
    open_with_letters(config, folder, folder, state, hurry)
}

/// [`open`], with dead letters kept below `letters`: those of pages that are dead letters already go elsewhere.
pub fn open_with_letters(
    config: &SinkConfig,
    folder: &Path,
    letters: &Path,
    state: &serde_json::Value,
    hurry: Arc<AtomicBool>,
) -> Result<Box<dyn Sink>, SinkError> {
    let sink: Box<dyn Sink> = match config {
        SinkConfig::Files { max_file_size, compression_level } => {
            Box::new(files::FilesSink::open(folder, *max_file_size, *compression_level, state)?)
        }
        SinkConfig::Filesystem(config) => {
            Box::new(filesystem::FilesystemSink::open_with_letters(folder, letters, config)?)
        }
        SinkConfig::Pagestore { base_folder } => {
            Box::new(pagestore::PagestoreSink::open(base_folder.as_deref().unwrap_or(folder))?)
        }
        SinkConfig::Records(config) => Box::new(records::RecordsSink::open(folder, config, state)?),
        SinkConfig::Kafka(config) => Box::new(kafka::KafkaSink::open(config, letters, hurry)?),
        SinkConfig::Warc(config) => Box::new(warc::WarcSink::open(config, folder, state)?),
        SinkConfig::Elasticsearch(config) => Box::new(elasticsearch::ElasticSink::open(config, letters, hurry)?),
        SinkConfig::Tianwang { compress, max_file_size } => {
            Box::new(tianwang::TianwangSink::open(folder, *compress, *max_file_size, state)?)
        }
        SinkConfig::Stdout => Box::new(stdout::StdoutSink::new(std::io::stdout())),
        SinkConfig::Void => Box::<void::VoidSink>::default(),
    };
    Ok(Box::new(fused::Fused::new(config.name(), sink)))
}

/// A destination. One task drives it; a failed call is answered by building the sink anew from its saved state.
pub trait Sink: Send {
    /// Takes entries in order. Blocks while it writes. Returns what is durable at the destination by now, which may be
    /// less than what was taken: the rest is in flight until a later `deliver` or `flush`.
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError>;

    /// Waits until everything taken is durable at the destination. A sink whose server does not answer may come back
    /// with what is durable by now, so that the caller can look around; it is called again for the rest.
    fn flush(&mut self) -> Result<Delivered, SinkError>;

    /// Ends cleanly: files are closed, connections too. Called after `flush`.
    fn close(&mut self) -> Result<(), SinkError>;
}

/// How far a sink has come, to be committed with its cursor in one atomic write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delivered {
    /// Everything before it is delivered, skipped or dead. The default as long as nothing was taken.
    pub up_to: Position,
    /// Since the sink was built: entries delivered, those the format does not hold, and those refused for good.
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    /// What the sink wants back when it is built again (FILES: the open file and its length).
    pub state: serde_json::Value,
}

/// Empties a buffer between pages, and gives back what a large one needed.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(large::SMALL as usize);
}

#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("{action} {path}: {source}; {remedy}")]
    File { action: &'static str, path: String, source: std::io::Error, remedy: &'static str },
    /// Trying again is of no use.
    #[error("stdout: whoever read standard output has gone away; keep the reading end of the pipe open")]
    ReaderGone,
    #[error("{sink}: {problem}; {remedy}")]
    Other { sink: &'static str, problem: String, remedy: &'static str },
}
