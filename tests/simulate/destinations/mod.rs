//! Simulated destinations: a model of an Elasticsearch server, a model of a Kafka cluster, and the files on disk.
//!
//! * `elastic_model`, `kafka_model`: the servers, without time. `tests/elastic/model.rs` and `tests/kafka/model.rs` compare them with
//!   the real servers.
//! * `elastic`, `kafka`: these servers at the end of a network, in virtual time, with mishaps.

mod elastic;
mod elastic_model;
mod files;
mod kafka;
mod kafka_model;
mod mishaps;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use seine::sinks::elasticsearch::client::ElasticServer;
use seine::sinks::kafka::cluster::KafkaCluster;
use seine_simulation_hooks::outside::Outside;

use crate::machine::system;
use crate::world::settings::Kind;
use crate::world::{Change, DestinationEvent, Held, World};

/// All destinations of one world. They outlive the crawl's process.
pub struct Destinations {
    elastic: Arc<elastic::Elastic>,
    kafka: Arc<kafka::Kafka>,
    /// The crawl's data folder.
    data: PathBuf,
}

impl Destinations {
    pub fn new(world: &World, outside: &Outside, data: PathBuf) -> Destinations {
        let clock = TrueTime { begins_ms: world.begins_ms };
        let elastic = Arc::new(elastic::Elastic::new(world.seed, clock));
        let kafka = Arc::new(kafka::Kafka::new(world.seed, clock));
        outside.put::<Arc<dyn ElasticServer>>(elastic.clone());
        outside.put::<Arc<dyn KafkaCluster>>(kafka.clone());
        Destinations { elastic, kafka, data }
    }

    /// An event happens to a destination.
    pub fn event(&self, event: &DestinationEvent, now_ms: u64) {
        match event.which {
            Kind::Elastic => self.elastic.happen(&event.what, Kind::Elastic.name(), now_ms),
            Kind::Kafka => self.kafka.happen(&event.what, Kind::Kafka.name(), now_ms),
            Kind::Files => {}
        }
    }

    /// The content of a destination, by URL, as a search or a reader from the beginning sees it. `sink`: the name of the sink, and of its
    /// index or topic.
    pub fn contents(&self, sink: &str) -> BTreeMap<String, Held> {
        match sink {
            _ if sink == Kind::Elastic.name() => self.elastic.contents(sink),
            _ if sink == Kind::Kafka.name() => self.kafka.contents(sink),
            _ => files::contents(&self.data.join(sink)),
        }
    }

    /// All changes that the destination accepted.
    pub fn log(&self, sink: &str) -> Vec<Change> {
        match sink {
            _ if sink == Kind::Elastic.name() => self.elastic.log(),
            _ if sink == Kind::Kafka.name() => self.kafka.log(),
            _ => Vec::new(),
        }
    }

    /// All pages that the destination refused for good.
    pub fn refused(&self, sink: &str) -> Vec<Change> {
        match sink {
            _ if sink == Kind::Elastic.name() => self.elastic.refused(),
            _ if sink == Kind::Kafka.name() => self.kafka.refused(),
            _ => Vec::new(),
        }
    }
}

/// The true time in the world; the machine's clock may be wrong.
#[derive(Debug, Clone, Copy)]
pub struct TrueTime {
    begins_ms: u64,
}

impl TrueTime {
    fn now_ms(self) -> u64 {
        self.begins_ms + system::true_ms()
    }
}

/// Adds one document of a URL. If two indices or partitions have different ones, the older counts, because a reader may see it.
fn note(all: &mut BTreeMap<String, Held>, url: String, held: Held) {
    match all.get(&url) {
        Some(other) if other.fetched_ms <= held.fetched_ms => {}
        _ => _ = all.insert(url, held),
    }
}
