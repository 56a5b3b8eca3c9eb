//! The events that a topic holds, by their ids, for an audit: what is there twice makes up for nothing that is lost.
//!
//! Costs: the topic is read, once for each 16 million messages in it; 8 bytes of memory a message, 128 MiB at most. Ids are
//! compared by 64-bit hashes: of a billion messages two share one in 3 of 100 audits.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{Offset, TopicPartitionList};

use super::dead_letters::id_hash;
use super::kafka_client::{self as client, ANSWER, trouble};
use super::sink::SinkCount;
use super::sink::SinkError;
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;

/// Ids that are in memory at once.
const IDS_AT_ONCE: u64 = 16 << 20;
const LOOK: Duration = Duration::from_millis(200);
/// Without a message for so long, although some are missing, the broker counts as gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many different events the topic holds, from whoever wrote them, and how many of `expected` (hashes, each once).
pub(super) fn held(config: &KafkaConfig, expected: &[u64]) -> Result<SinkCount, SinkError> {
    client::require_topic(config, &Shutdown::default())?;
    let failed =
        |error: KafkaError| trouble(format!("the topic cannot be read: {error}"), "start the broker, and try again");
    let consumer = consumer(config).map_err(failed)?;
    let partitions = partitions(&consumer, &config.topic).map_err(failed)?;
    let offsets: u64 = partitions.values().map(|&(low, high)| (high - low) as u64).sum();
    let passes = offsets.div_ceil(IDS_AT_ONCE).max(1);
    let (mut distinct, mut found, mut messages, mut without_id) = (0, 0, 0, 0);
    for pass in 0..passes {
        let mut ids = Vec::new();
        (messages, without_id) = (0, 0);
        read(&consumer, &config.topic, &partitions, &mut |message| {
            messages += 1;
            match event_id(message).map(id_hash) {
                Some(id) if id % passes == pass => ids.push(id),
                Some(_) => {}
                None => without_id += 1,
            }
        })?;
        ids.sort_unstable();
        ids.dedup();
        distinct += ids.len() as u64;
        found += expected.iter().filter(|id| ids.binary_search(id).is_ok()).count() as u64;
    }
    // Before the first offset by retention, among the others by compaction.
    let removed = partitions.values().map(|&(low, _)| low as u64).sum::<u64>() + offsets.saturating_sub(messages);
    let mut notes = Vec::new();
    if removed > 0 {
        let taken = messages + removed;
        notes.push(format!(
            "kafka: of its {taken} messages the topic has removed {removed} (retention, compaction); whether events were \
             lost among them cannot be told"
        ));
    }
    if without_id > 0 {
        notes.push(format!("kafka: {without_id} messages of the topic are not Seine's: they have no event_id"));
    }
    let repeated = messages - without_id - distinct;
    if repeated > 0 {
        notes.push(format!("kafka: {repeated} messages repeat an event, as delivery at least once may"));
    }
    Ok(SinkCount { what: "different events", count: distinct, removed, found: Some(found), notes })
}

fn consumer(config: &KafkaConfig) -> Result<BaseConsumer, KafkaError> {
    client::client_config(config)
        // Never joined, and never committed to.
        .set("group.id", "seine-audit")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        // Tells when nothing more comes although the last offsets hold no message, as after compaction.
        .set("enable.partition.eof", "true")
        .set("queued.max.messages.kbytes", "32768")
        .create()
}

/// The first offset of each partition, and the one behind its last.
fn partitions(consumer: &BaseConsumer, topic: &str) -> Result<BTreeMap<i32, (i64, i64)>, KafkaError> {
    let metadata = consumer.fetch_metadata(Some(topic), ANSWER)?;
    let numbers = metadata.topics().iter().flat_map(|topic| topic.partitions()).map(|partition| partition.id());
    numbers.map(|number| Ok((number, consumer.fetch_watermarks(topic, number, ANSWER)?))).collect()
}

/// Visits every message once.
fn read(
    consumer: &BaseConsumer,
    topic: &str,
    partitions: &BTreeMap<i32, (i64, i64)>,
    visit: &mut dyn FnMut(&BorrowedMessage<'_>),
) -> Result<(), SinkError> {
    let failed =
        |problem: String| trouble(format!("{topic} cannot be read: {problem}"), "start the broker, and try again");
    let mut left: BTreeMap<i32, i64> = BTreeMap::new();
    let mut assigned = TopicPartitionList::new();
    for (&number, &(low, high)) in partitions.iter().filter(|(_, (low, high))| low < high) {
        assigned.add_partition_offset(topic, number, Offset::Offset(low)).map_err(|error| failed(error.to_string()))?;
        left.insert(number, high);
    }
    consumer.assign(&assigned).map_err(|error| failed(error.to_string()))?;
    let mut last_sign = Instant::now();
    while !left.is_empty() {
        match consumer.poll(LOOK) {
            Some(Ok(message)) => {
                last_sign = Instant::now();
                let Some(&high) = left.get(&message.partition()) else { continue };
                if message.offset() < high {
                    visit(&message);
                }
                if message.offset() + 1 >= high {
                    left.remove(&message.partition());
                }
            }
            Some(Err(KafkaError::PartitionEOF(number))) => drop(left.remove(&number)),
            // librdkafka goes on trying after each of these.
            Some(Err(error)) => tracing::warn!(%error, "kafka"),
            None if last_sign.elapsed() < PATIENCE => {}
            None => return Err(failed(format!("the broker sent nothing for {PATIENCE:?}"))),
        }
    }
    Ok(())
}

fn event_id<'a>(message: &'a BorrowedMessage<'_>) -> Option<&'a str> {
    let header = message.headers()?.iter().find(|header| header.key == "event_id")?;
    std::str::from_utf8(header.value?).ok()
}
