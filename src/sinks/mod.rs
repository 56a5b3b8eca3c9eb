//! Sinks: destinations, each taking any encoder that suits it. A sink sees entries and never the frontier.

pub mod count;
pub mod dead_letters;
pub mod elasticsearch;
pub mod filesystem;
mod folder;
pub mod fused;
pub mod kafka;
mod kafka_audit;
mod kafka_client;
mod local;
pub mod pagestore;
pub(crate) mod placed;
pub(crate) mod pump;
mod rolled;
pub mod rolling;
pub mod stdout;
mod void;
pub mod watch;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::elasticsearch::ElasticSink;
use self::filesystem::FilePerPage;
use self::fused::Fused;
use self::kafka::KafkaSink;
use self::local::LocalSink;
use self::pagestore::Pagestore;
use self::rolled::Rolled;
use self::void::Void;
use self::watch::Watch;
use crate::config::{Destination, SinkConfig};
use crate::delivery::{Entry, Position};
use crate::formats::Format;
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
    let encoder = config.format.map(|format| format.encoder(&config.options));
    let sink: Box<dyn Sink> = match (&config.destination, encoder) {
        (Destination::Files { max_file_size, compression_level }, Some(encoder)) => {
            let how = (*max_file_size, *compression_level);
            Box::new(LocalSink::new(Rolled::open(config, encoder, how, folder, state)?))
        }
        (Destination::Filesystem(naming), Some(encoder)) => {
            Box::new(LocalSink::new(FilePerPage::open(folder, letters, encoder, *naming)?))
        }
        (Destination::Pagestore { base_folder }, _) => {
            Box::new(LocalSink::new(Pagestore::open(base_folder.as_deref().unwrap_or(folder))?))
        }
        (Destination::Kafka(kafka), Some(encoder)) => {
            let schema = config.format.map_or("", Format::schema);
            Box::new(KafkaSink::open(kafka, encoder, schema, letters, hurry)?)
        }
        (Destination::Elasticsearch(elastic), _) => Box::new(ElasticSink::open(elastic, letters, hurry)?),
        (Destination::Stdout, encoder) => stdout::sink(std::io::stdout(), encoder),
        (Destination::Void, _) => Box::new(LocalSink::new(Void)),
        (_, None) => {
            let problem = format!("{} has no format to write", config.name);
            return Err(SinkError::Other { sink: config.kind, problem, remedy: "name one in target_storage.sinks" });
        }
    };
    Ok(Box::new(Fused::new(config.kind, sink)))
}

/// A destination. One task drives it; a failed call is answered by building the sink anew from its saved state.
pub trait Sink: Send {
    /// Takes entries in order. Blocks while it writes. Returns what is durable at the destination by now, which may be
    /// less than what was taken: the rest is in flight until a later `deliver` or `flush`.
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError>;

    /// Waits until everything taken is durable at the destination. A sink whose server does not answer may come back
    /// with what is durable by now, so that the caller can look around; it is called again for the rest.
    fn flush(&mut self) -> Result<Delivered, SinkError>;

    /// Told once, before anything is delivered: where a sink that waits for a server shows whether it gets on.
    fn show_to(&mut self, _watch: Watch) {}

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
