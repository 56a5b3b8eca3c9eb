//! A Kafka topic as an archive: each partition from its beginning to where it ended when it was looked at.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::detect::{self, Detected};
use crate::formats::{Format, change};

/// What a topic's address begins with: `kafka://localhost:9092/pages`.
pub const SCHEME: &str = "kafka://";

/// For one question to the broker.
const ANSWER: Duration = Duration::from_secs(10);
/// One wait for messages.
const LOOK: Duration = Duration::from_millis(200);
/// Without a message for so long, although some are missing, a broker counts as gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// One partition, and the offsets it had when it was looked at.
#[derive(Debug, Clone)]
pub struct Partition {
    servers: String,
    topic: String,
    number: i32,
    low: i64,
    high: i64,
    properties: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    #[error("{0}: write kafka://HOST:PORT/TOPIC, with several servers kafka://A:9092,B:9092/TOPIC")]
    Address(String),
    #[error("{address}: {problem}; start the broker, or correct the address (-c for TLS and passwords)")]
    Broker { address: String, problem: String },
}

/// A message, and where it stands.
pub struct TopicMessage {
    pub offset: i64,
    /// None when the message does not tell.
    pub format: Option<Format>,
    pub value: Vec<u8>,
}

/// Reads one partition.
pub struct PartitionReader {
    consumer: BaseConsumer,
    partition: Partition,
    /// Behind the last message.
    next: i64,
    last_sign: Instant,
    failed: bool,
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/{}", self.servers, self.topic, self.number)
    }
}

/// The partitions of a topic, as they are now. `properties`: librdkafka's, besides the servers.
pub fn partitions(address: &str, properties: &BTreeMap<String, String>) -> Result<Vec<Partition>, TopicError> {
    let bad = || TopicError::Address(address.to_owned());
    let (servers, topic) = address.strip_prefix(SCHEME).ok_or_else(bad)?.split_once('/').ok_or_else(bad)?;
    if servers.is_empty() || topic.is_empty() || topic.contains('/') {
        return Err(bad());
    }
    let broker = |problem: String| TopicError::Broker { address: address.to_owned(), problem };
    let consumer = connect(servers, properties).map_err(|error| broker(error.to_string()))?;
    // All topics: asked for one by name, a broker may make it.
    let metadata = consumer.fetch_metadata(None, ANSWER).map_err(|error| broker(error.to_string()))?;
    let found = metadata.topics().iter().find(|it| it.name() == topic);
    let found = found.ok_or_else(|| broker(format!("the broker shows no topic {topic}")))?;
    let mut numbers: Vec<i32> = found.partitions().iter().map(|it| it.id()).collect();
    numbers.sort_unstable();
    let look = |number: i32| {
        let (low, high) =
            consumer.fetch_watermarks(topic, number, ANSWER).map_err(|error| broker(error.to_string()))?;
        let (servers, topic, properties) = (servers.to_owned(), topic.to_owned(), properties.clone());
        Ok(Partition { servers, topic, number, low, high, properties })
    };
    numbers.into_iter().map(look).collect()
}

fn connect(servers: &str, properties: &BTreeMap<String, String>) -> Result<BaseConsumer, KafkaError> {
    let mut client = ClientConfig::new();
    for (name, value) in properties {
        client.set(name, value);
    }
    client
        .set("bootstrap.servers", servers)
        // Never joined, and never committed to: reading an archive leaves no trace at the broker.
        .set("group.id", "seine-archive")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        // Tells when nothing more comes although the last offsets hold no message, as after compaction.
        .set("enable.partition.eof", "true")
        .set("isolation.level", "read_committed")
        // What is read ahead, in KiB and messages.
        .set("queued.max.messages.kbytes", "32768")
        .set("fetch.message.max.bytes", "8388608")
        .create()
}

impl PartitionReader {
    /// `after`: messages up to this offset were read before.
    pub fn open(partition: &Partition, after: Option<i64>) -> Result<PartitionReader, TopicError> {
        let broker =
            |error: KafkaError| TopicError::Broker { address: partition.to_string(), problem: error.to_string() };
        let next = after.map_or(partition.low, |after| after.saturating_add(1).max(partition.low));
        let consumer = connect(&partition.servers, &partition.properties).map_err(broker)?;
        let mut assigned = TopicPartitionList::new();
        assigned.add_partition_offset(&partition.topic, partition.number, Offset::Offset(next)).map_err(broker)?;
        consumer.assign(&assigned).map_err(broker)?;
        Ok(PartitionReader { consumer, partition: partition.clone(), next, last_sign: Instant::now(), failed: false })
    }

    /// The next message; none behind the end that the partition had when it was looked at.
    pub fn take(&mut self) -> Option<Result<TopicMessage, String>> {
        while !self.failed && self.next < self.partition.high {
            match self.consumer.poll(LOOK) {
                Some(Ok(message)) => {
                    if message.offset() >= self.partition.high {
                        return None;
                    }
                    self.next = message.offset() + 1;
                    self.last_sign = Instant::now();
                    match taken(&message) {
                        Some(taken) => return Some(Ok(taken)),
                        None => continue,
                    }
                }
                Some(Err(KafkaError::PartitionEOF(_))) => return None,
                // librdkafka goes on trying after each of these.
                Some(Err(error)) => tracing::warn!(%error, "kafka"),
                None if self.last_sign.elapsed() < PATIENCE => {}
                None => {
                    self.failed = true;
                    let missing = self.partition.high - self.next;
                    return Some(Err(format!(
                        "the broker sent nothing for {PATIENCE:?}, and {missing} offsets are missing"
                    )));
                }
            }
        }
        None
    }
}

/// None for what is no page: a tombstone, a change event.
fn taken(message: &BorrowedMessage<'_>) -> Option<TopicMessage> {
    let schema = message.headers().and_then(|headers| headers.iter().find(|it| it.key == "schema")?.value);
    let value = message.payload().filter(|_| schema != Some(change::SCHEMA.as_bytes()))?.to_vec();
    let format = schema.and_then(Format::of_schema).or_else(|| match detect::by_content(&value) {
        Detected::Format(format) => Some(format),
        Detected::Empty | Detected::Beside | Detected::Unknown(_) => None,
    });
    Some(TopicMessage { offset: message.offset(), format, value })
}
