//! The KAFKA sink through its public interface, against a real broker (`scripts/services/kafka`). Where the broker must
//! misbehave, against librdkafka's mock.

mod audit;
mod backfill;
mod broker;
mod cdr31;
mod crashes;
mod crawl;
mod delivery;
mod duplicates;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod formats;
mod gone;
mod letters;
mod mock;
mod model;
mod order;
mod outages;
mod properties;
mod refusals;
mod replaced;
mod security;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use seine::config::{self, Destination, KafkaConfig, SinkConfig};
use seine::sinks::kafka::KafkaSink;
use seine::sinks::{Delivered, Sink, SinkContext, SinkError};
use seine_delivery::{Deriver, Entry, Offset};
use seine_parse::page::PageEvent;
use seine_parse::{DeriveOptions, Derived};

use event::response;

/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(90);

fn derive(event: &PageEvent) -> Derived {
    seine_parse::derive(event, &DeriveOptions::default())
}

fn html(number: u64, content: &str) -> PageEvent {
    page(number, "text/html; charset=utf-8", content.as_bytes())
}

fn page(number: u64, content_type: &str, body: &[u8]) -> PageEvent {
    let url = format!("http://a.example/{number}");
    let page = event::page(url, &[("content-type", content_type)], Bytes::copy_from_slice(body));
    PageEvent { id: event::id(number), ip: Some([192, 0, 2, 1].into()), ..page }
}

/// Text that does not compress, the same for a number every time.
fn noise(number: u64, length: usize) -> String {
    let mut random = fastrand::Rng::with_seed(number);
    (0..length).map(|_| random.alphanumeric()).collect()
}

/// Pages of `length` bytes, numbered.
fn pages(numbers: std::ops::Range<u64>, length: usize) -> Vec<Arc<Entry>> {
    entries(numbers.map(|number| html(number, &noise(number, length))))
}

/// Entries at positions given by the events' numbers.
fn entries(events: impl IntoIterator<Item = PageEvent>) -> Vec<Arc<Entry>> {
    let deriver = Deriver::new(DeriveOptions::default());
    let entry = |event: PageEvent| {
        let index = u64::from_str_radix(&event.id, 16).unwrap() + 1;
        Arc::new(Entry::new(Offset { index, offset: index * 100 }, Arc::new(event), &deriver))
    };
    events.into_iter().map(entry).collect()
}

/// The sink's configuration as a user's file gives it.
fn kafka_config(servers: &str, topic: &str, more: &str) -> ToKafka {
    match load(&format!(
        "target_storage.data_format.type: KAFKA\n\
         target_storage.data_format.kafka.topic_name: {topic}\n\
         target_storage.data_format.kafka.properties.bootstrap.servers: '{servers}'\n{more}"
    )) {
        Ok(config) => config,
        Err(problem) => panic!("{problem}"),
    }
}

/// The configuration of a KAFKA sink, with direct access to its Kafka part.
#[derive(Clone, Debug)]
struct ToKafka(SinkConfig);

impl std::ops::Deref for ToKafka {
    type Target = KafkaConfig;

    fn deref(&self) -> &KafkaConfig {
        match &self.0.destination {
            Destination::Kafka(kafka) => kafka,
            other => panic!("{other:?}"),
        }
    }
}

impl std::ops::DerefMut for ToKafka {
    fn deref_mut(&mut self) -> &mut KafkaConfig {
        match &mut self.0.destination {
            Destination::Kafka(kafka) => kafka,
            other => panic!("{other:?}"),
        }
    }
}

fn load(yaml: &str) -> Result<ToKafka, String> {
    Ok(ToKafka(load_all(yaml)?.config.sinks.remove(0)))
}

fn load_all(yaml: &str) -> Result<config::Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seine.yml");
    std::fs::write(&path, yaml).unwrap();
    config::load(Some(&path), &[]).map_err(|error| error.to_string())
}

fn open(config: &ToKafka, folder: &Path) -> Result<KafkaSink, SinkError> {
    let format = config.0.format.unwrap();
    let encoder = (format.encoder)(&config.0.options);
    KafkaSink::open(config, config.0.upkeep, encoder, format.schema, &SinkContext::new(folder))
}

/// Flushes until everything up to `last` is settled, or an error comes.
fn finish(sink: &mut KafkaSink, last: u64) -> Result<Delivered, SinkError> {
    let started = Instant::now();
    loop {
        let delivered = sink.flush()?;
        if delivered.up_to.index >= last {
            return Ok(delivered);
        }
        assert!(started.elapsed() < LONG, "not delivered in time: {delivered:?}");
    }
}
