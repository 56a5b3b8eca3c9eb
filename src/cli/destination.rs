//! Where a crawl's pages went, for the commands that come after it: as the crawl was told, unless told otherwise.

use std::path::{Path, PathBuf};

use crate::config::{self, Loaded, StartedWith};

/// Options that stand in the place of the crawl's own.
#[derive(clap::Args)]
pub(super) struct Destination {
    /// A configuration instead of the crawl's own: a file, or a folder with seine.yml or ache.yml in it.
    #[arg(short, long, value_name = "FILE|DIR")]
    config: Option<PathBuf>,
    /// The Elasticsearch index, instead of the crawl's own.
    #[arg(short, long = "elasticIndex", value_name = "INDEX")]
    elastic_index: Option<String>,
    /// The topic, instead of the crawl's own.
    #[arg(long, value_name = "TOPIC")]
    kafka_topic: Option<String>,
    /// The brokers to begin with, instead of the crawl's own.
    #[arg(long, value_name = "HOST:PORT,...")]
    kafka_servers: Option<String>,
}

impl Destination {
    /// The configuration of the crawl in this folder.
    pub fn of_crawl(&self, folder: &Path) -> anyhow::Result<Loaded> {
        let started_with = StartedWith::load(folder)?;
        Ok(started_with.configuration(self.config.as_deref(), &config::environment(), &self.options())?)
    }

    fn options(&self) -> Vec<(String, String)> {
        given(&[(INDEX, &self.elastic_index), (TOPIC, &self.kafka_topic), (SERVERS, &self.kafka_servers)])
    }
}

/// The keys that options of a destination stand for.
pub(super) const INDEX: &str = "target_storage.data_format.elasticsearch.index_name";
pub(super) const TYPE: &str = "target_storage.data_format.elasticsearch.type_name";
pub(super) const TOPIC: &str = "target_storage.data_format.kafka.topic_name";
pub(super) const SERVERS: &str = "target_storage.data_format.kafka.properties.bootstrap.servers";

/// Keys whose options were given, with their values.
pub(super) fn given(options: &[(&str, &Option<String>)]) -> Vec<(String, String)> {
    options.iter().filter_map(|(key, value)| Some(((*key).to_owned(), value.as_ref()?.clone()))).collect()
}
