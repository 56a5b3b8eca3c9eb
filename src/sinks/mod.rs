//! Sinks: destinations, each with any suitable encoder. A sink gets entries and never sees the frontier.

pub(crate) mod count;
pub mod dead_letters;
pub mod elasticsearch;
pub mod filesystem;
pub(crate) mod folder;
pub mod kafka;
mod kafka_audit;
mod kafka_client;
pub mod kafka_link;
mod kafka_message;
mod kafka_place;
pub(crate) mod kafka_reader;
mod kafka_slots;
mod kafka_topic;
mod librdkafka;
mod local;
pub(crate) mod on_disk;
pub(crate) mod page_place;
pub mod pagestore;
pub mod place;
pub(crate) mod place_notes;
pub(crate) mod pump;
pub mod rolling;
mod rolling_sink;
mod sink;
pub(crate) mod staging;
pub mod stdout;
pub mod watch;
pub(crate) mod whole_file;

use self::elasticsearch::ElasticSink;
use self::filesystem::FilePerPage;
use self::kafka::KafkaSink;
use self::local::{LocalSink, Void};
use self::pagestore::Pagestore;
use self::rolling_sink::RollingSink;
pub use self::sink::{Delivered, Sink, SinkContext, SinkError};
use crate::config::{Destination, SinkConfig, Upkeep};

/// Builds a sink. `state` is that of its last committed [`Delivered`]; null for a sink that has delivered nothing.
pub fn open(config: &SinkConfig, context: &SinkContext, state: &serde_json::Value) -> Result<Box<dyn Sink>, SinkError> {
    let encoder = config.format.map(|format| (format.encoder)(&config.options));
    Ok(match (&config.destination, encoder) {
        (Destination::Files { max_file_size, compression_level }, Some(encoder)) => {
            let how = (*max_file_size, *compression_level);
            Box::new(LocalSink::new(RollingSink::open(config, encoder, how, context, state)?, config.upkeep))
        }
        (Destination::Filesystem(naming), Some(encoder)) => {
            Box::new(LocalSink::new(FilePerPage::open(context, encoder, *naming, state)?, config.upkeep))
        }
        (Destination::Pagestore { base_folder }, _) => Box::new(LocalSink::new(
            Pagestore::open(base_folder.as_deref().unwrap_or(&context.folder), state)?,
            config.upkeep,
        )),
        (Destination::Kafka(kafka), Some(encoder)) => {
            let schema = config.format.map_or("", |format| format.schema);
            Box::new(KafkaSink::reopen(kafka, config.upkeep, encoder, schema, context, state)?)
        }
        (Destination::Elasticsearch(elastic), _) => {
            Box::new(ElasticSink::reopen(elastic, config.upkeep, context, state)?)
        }
        (Destination::Stdout, encoder) => stdout::sink(std::io::stdout(), encoder, config.upkeep),
        (Destination::Void, _) => Box::new(LocalSink::new(Void, Upkeep::default())),
        (_, None) => {
            let problem = format!("{} has no format to write", config.name);
            return Err(SinkError::Other { sink: config.kind, problem, remedy: "name one in target_storage.sinks" });
        }
    })
}
