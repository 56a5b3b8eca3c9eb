//! Counts the events in a topic by their ids, for an audit. Duplicates do not hide losses.
//!
//! The topic is read once per 16 million messages. This takes 8 bytes of memory per message, at most 128 MiB. Ids are
//! compared as 64-bit hashes. With a billion messages, 3 of 100 audits have two ids with the same hash.

use rdkafka::message::{BorrowedMessage, Headers, Message};

use super::client::{self as client, trouble};
use super::librdkafka::client_config;
use super::reader::{ReadError, TopicReader};
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;
use crate::sinks::dead_letters::id_hash;
use crate::sinks::sink::{SinkCount, SinkError};

/// Ids kept in memory at once.
const IDS_AT_ONCE: u64 = 16 << 20;

/// How many distinct events the topic holds, from any producer, and how many of `expected` (distinct hashes).
pub(in crate::sinks) fn count_messages(config: &KafkaConfig, expected: &[u64]) -> Result<SinkCount, SinkError> {
    client::require_topic(config, &Shutdown::default())?;
    let failed = |error: ReadError| {
        trouble(format!("{} cannot be read: {error}", config.topic), "start the broker, and try again")
    };
    let mut reader =
        TopicReader::open(&mut client_config(config), "seine-audit", &config.topic).map_err(|e| failed(e.into()))?;
    let partitions = reader.partitions().map_err(|e| failed(e.into()))?.unwrap_or_default();
    let offsets: u64 = partitions.values().map(|offsets| (offsets.end - offsets.start) as u64).sum();
    let passes = offsets.div_ceil(IDS_AT_ONCE).max(1);
    let (mut distinct, mut found, mut messages, mut without_id) = (0, 0, 0, 0);
    for pass in 0..passes {
        let mut ids = Vec::new();
        (messages, without_id) = (0, 0);
        let counted = reader.read(partitions.clone(), |message| {
            messages += 1;
            match event_id(message).map(id_hash) {
                Some(id) if id % passes == pass => ids.push(id),
                Some(_) => {}
                None => without_id += 1,
            }
        });
        counted.map_err(failed)?;
        ids.sort_unstable();
        ids.dedup();
        distinct += ids.len() as u64;
        found += expected.iter().filter(|id| ids.binary_search(id).is_ok()).count() as u64;
    }
    // Offsets before the first were removed by retention, gaps between the others by compaction.
    let removed =
        partitions.values().map(|offsets| offsets.start as u64).sum::<u64>() + offsets.saturating_sub(messages);
    let mut notes = Vec::new();
    if removed > 0 {
        let taken = messages + removed;
        notes.push(format!(
            "kafka: of its {taken} messages the topic has removed {removed} (retention, compaction); it is unknown whether \
             events were lost among them"
        ));
    }
    if without_id > 0 {
        notes.push(format!("kafka: {without_id} messages of the topic are not Seine's: they have no event_id"));
    }
    let repeated = messages - without_id - distinct;
    if repeated > 0 {
        notes.push(format!("kafka: {repeated} messages repeat an event, which at-least-once delivery allows"));
    }
    Ok(SinkCount { what: "different events", count: distinct, removed, found: Some(found), notes })
}

pub(super) fn event_id<'a>(message: &'a BorrowedMessage<'_>) -> Option<&'a str> {
    let header = message.headers()?.iter().find(|header| header.key == "event_id")?;
    std::str::from_utf8(header.value?).ok()
}
