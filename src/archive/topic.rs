//! A Kafka topic as an archive: each partition from its beginning to where it ended when it was looked at.

use std::collections::BTreeMap;
use std::fmt;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Headers, Message};

use super::detect::{self, Detected};
use crate::formats::{Format, change};
use crate::sinks::kafka_reader::{Next, TopicReader};

/// What a topic's address begins with: `kafka://localhost:9092/pages`.
pub const SCHEME: &str = "kafka://";

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
    reader: TopicReader,
    partition: Partition,
    /// Behind the last message.
    next: i64,
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
    let reader = connect(servers, topic, properties).map_err(|error| broker(error.to_string()))?;
    let found = reader.partitions().map_err(|error| broker(error.to_string()))?;
    let found = found.ok_or_else(|| broker(format!("the broker shows no topic {topic}")))?;
    let partition = |(number, (low, high))| {
        let (servers, topic, properties) = (servers.to_owned(), topic.to_owned(), properties.clone());
        Partition { servers, topic, number, low, high, properties }
    };
    Ok(found.into_iter().map(partition).collect())
}

fn connect(servers: &str, topic: &str, properties: &BTreeMap<String, String>) -> KafkaResult<TopicReader> {
    let mut client: ClientConfig = properties.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    TopicReader::open(client.set("bootstrap.servers", servers), "seine-archive", topic)
}

impl PartitionReader {
    /// `after`: messages up to this offset were read before.
    pub fn open(partition: &Partition, after: Option<i64>) -> Result<PartitionReader, TopicError> {
        let broker =
            |error: KafkaError| TopicError::Broker { address: partition.to_string(), problem: error.to_string() };
        let next = after.map_or(partition.low, |after| after.saturating_add(1).max(partition.low));
        let mut reader = connect(&partition.servers, &partition.topic, &partition.properties).map_err(broker)?;
        reader.go_to([(partition.number, next)]).map_err(broker)?;
        Ok(PartitionReader { reader, partition: partition.clone(), next, failed: false })
    }

    /// The next message; none behind the end that the partition had when it was looked at.
    pub fn take(&mut self) -> Option<Result<TopicMessage, String>> {
        while !self.failed && self.next < self.partition.high {
            match self.reader.next() {
                Ok(Next::Message(message)) if message.offset() >= self.partition.high => return None,
                Ok(Next::Message(message)) => {
                    self.next = message.offset() + 1;
                    if let Some(taken) = taken(&message) {
                        return Some(Ok(taken));
                    }
                }
                Ok(Next::End(_)) => return None,
                Err(silence) => {
                    self.failed = true;
                    let missing = self.partition.high - self.next;
                    return Some(Err(format!("{silence}, and {missing} offsets are missing")));
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
