//! The destinations of a crawl, for commands that run after it. Options override the crawl's own settings.

use std::path::{Path, PathBuf};

use crate::config::{self, Loaded, StartedWith};

/// Options that override the settings of the crawl.
#[derive(clap::Args)]
pub(super) struct Destination {
    /// Configuration file, or a folder with seine.yml or ache.yml. Default: the crawl's own.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// Elasticsearch index. Default: the crawl's own.
    #[arg(short, long = "elasticIndex", value_name = "INDEX")]
    elastic_index: Option<String>,
    /// Kafka topic. Default: the crawl's own.
    #[arg(long, value_name = "TOPIC")]
    kafka_topic: Option<String>,
    /// Bootstrap servers. Default: the crawl's own.
    #[arg(long, value_name = "HOST:PORT,...")]
    kafka_servers: Option<String>,
}

impl Destination {
    /// The configuration of the crawl in this folder.
    pub(super) fn of_crawl(&self, folder: &Path) -> anyhow::Result<Loaded> {
        let started_with = StartedWith::load(folder)?;
        Ok(started_with.configuration(self.config.as_deref(), &config::environment(), &self.options())?)
    }

    fn options(&self) -> Vec<(String, String)> {
        given(&[(INDEX, &self.elastic_index), (TOPIC, &self.kafka_topic), (SERVERS, &self.kafka_servers)])
    }
}

/// The keys that the options set.
pub(super) const INDEX: &str = "target_storage.data_format.elasticsearch.index_name";
pub(super) const TYPE: &str = "target_storage.data_format.elasticsearch.type_name";
pub(super) const TOPIC: &str = "target_storage.data_format.kafka.topic_name";
pub(super) const SERVERS: &str = "target_storage.data_format.kafka.properties.bootstrap.servers";

/// The keys of the options that were given, with their values.
pub(super) fn given(options: &[(&str, &Option<String>)]) -> Vec<(String, String)> {
    options.iter().filter_map(|(key, value)| Some(((*key).to_owned(), value.as_ref()?.clone()))).collect()
}
