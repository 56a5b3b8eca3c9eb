//! A Kafka topic as an archive: each partition from its first offset to its end at the time of opening.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use seine_formats::records::{ArchiveReader, ArchiveRecord, ReaderInput};
use seine_formats::stored_fields::MissingFields;
use seine_formats::{Format, change};

use super::detect::{self, Detected};
use crate::sinks::kafka::reader::{Next, TopicReader};

/// The prefix of a topic's address: `kafka://localhost:9092/pages`.
pub(crate) const SCHEME: &str = "kafka://";

/// One partition with its range of offsets at the time of opening.
#[derive(Debug, Clone)]
pub struct Partition {
    servers: String,
    topic: String,
    number: i32,
    offsets: Range<i64>,
    properties: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    #[error("{0}: write kafka://HOST:PORT/TOPIC, with several servers kafka://A:9092,B:9092/TOPIC")]
    Address(String),
    #[error("{address}: {problem}; start the broker, or correct the address (-c for TLS and passwords)")]
    Broker { address: String, problem: String },
}

/// Reads the messages of one partition, each in its own format.
pub(crate) struct PartitionReader {
    reader: TopicReader,
    partition: Partition,
    /// The offset after the last message.
    next: i64,
    failed: bool,
    /// Format of the last message, and the fields that it lacks.
    format: Format,
    lacks: MissingFields,
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/{}", self.servers, self.topic, self.number)
    }
}

/// The partitions of a topic, as they are now. `properties`: those of librdkafka besides the servers.
pub(crate) fn partitions(address: &str, properties: &BTreeMap<String, String>) -> Result<Vec<Partition>, TopicError> {
    let bad = || TopicError::Address(address.to_owned());
    let (servers, topic) = address.strip_prefix(SCHEME).ok_or_else(bad)?.split_once('/').ok_or_else(bad)?;
    if servers.is_empty() || topic.is_empty() || topic.contains('/') {
        return Err(bad());
    }
    let broker = |problem: String| TopicError::Broker { address: address.to_owned(), problem };
    let reader = connect(servers, topic, properties).map_err(|error| broker(error.to_string()))?;
    let found = reader.partitions().map_err(|error| broker(error.to_string()))?;
    let found = found.ok_or_else(|| broker(format!("the broker shows no topic {topic}")))?;
    let partition = |(number, offsets)| {
        let (servers, topic, properties) = (servers.to_owned(), topic.to_owned(), properties.clone());
        Partition { servers, topic, number, offsets, properties }
    };
    Ok(found.into_iter().map(partition).collect())
}

fn connect(servers: &str, topic: &str, properties: &BTreeMap<String, String>) -> KafkaResult<TopicReader> {
    let mut client: ClientConfig = properties.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    TopicReader::open(client.set("bootstrap.servers", servers), "seine-archive", topic)
}

impl PartitionReader {
    /// `after`: number of the last message to skip; 0 for none.
    pub(crate) fn open(partition: &Partition, after: u64) -> Result<PartitionReader, TopicError> {
        let broker =
            |error: KafkaError| TopicError::Broker { address: partition.to_string(), problem: error.to_string() };
        let next = i64::try_from(after).unwrap_or(0).max(partition.offsets.start);
        let mut reader = connect(&partition.servers, &partition.topic, &partition.properties).map_err(broker)?;
        reader.go_to([(partition.number, next)]).map_err(broker)?;
        let (format, lacks) = (Format::ALL[0], MissingFields::default());
        Ok(PartitionReader { reader, partition: partition.clone(), next, failed: false, format, lacks })
    }

    /// Turns a message into a page, or an error text.
    fn record(&mut self, format: Option<Format>, value: Vec<u8>) -> Result<ArchiveRecord, String> {
        self.lacks = MissingFields::default();
        if value.is_empty() {
            return Ok(ArchiveRecord::Other);
        }
        self.format = format.ok_or("is in none of the known formats")?;
        let unreadable = |error: String| format!("cannot be read: {error}");
        let mut records = (self.format.reader)(ReaderInput::alone(value)).map_err(|e| unreadable(e.to_string()))?;
        match std::iter::from_fn(|| records.next()).find(|record| !matches!(record, ArchiveRecord::Other)) {
            Some(ArchiveRecord::Problem(error)) => Err(unreadable(error)),
            Some(page) => {
                self.lacks = records.lacks();
                Ok(page)
            }
            None => Err(unreadable("it is incomplete".into())),
        }
    }
}

impl ArchiveReader for PartitionReader {
    /// The next message; none after the offset at which the partition ended when it was opened.
    fn next(&mut self) -> Option<ArchiveRecord> {
        let end = self.partition.offsets.end;
        while !self.failed && self.next < end {
            let message = match self.reader.next() {
                Ok(Next::Message(message)) if message.offset() < end => message,
                Ok(Next::Message(_) | Next::End(_)) => return None,
                Err(silence) => {
                    self.failed = true;
                    let missing = end - self.next;
                    return Some(ArchiveRecord::Problem(format!("{silence}, and {missing} offsets are missing")));
                }
            };
            let (offset, value) = (message.offset(), value_of(&message));
            drop(message);
            self.next = offset + 1;
            if let Some((format, value)) = value {
                let problem = |why| ArchiveRecord::Problem(format!("the message at offset {offset} {why}"));
                return Some(self.record(format, value).unwrap_or_else(problem));
            }
        }
        None
    }

    fn lacks(&self) -> MissingFields {
        self.lacks
    }

    /// The number of a message is its offset plus 1.
    fn message(&self) -> Option<(Format, u64)> {
        Some((self.format, u64::try_from(self.next).unwrap_or_default()))
    }
}

/// The value of a message and its format, if the message tells. None for messages without a page: a tombstone or a
/// change event.
fn value_of(message: &BorrowedMessage<'_>) -> Option<(Option<Format>, Vec<u8>)> {
    let schema = message.headers().and_then(|headers| headers.iter().find(|it| it.key == "schema")?.value);
    let value = message.payload().filter(|_| schema != Some(change::SCHEMA.as_bytes()))?.to_vec();
    let format = schema.and_then(Format::of_schema).or_else(|| match detect::by_content(&value) {
        Detected::Format(format) => Some(format),
        Detected::Empty | Detected::Beside | Detected::Unknown(_) => None,
    });
    Some((format, value))
}
