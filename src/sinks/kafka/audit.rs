//! Counts the events in a topic by their ids, and finds its live pages, for an audit. Duplicates do not hide losses.
//!
//! The topic is read once per 16 million messages. This takes 8 bytes of memory per message, at most 128 MiB. Ids are
//! compared as 64-bit hashes. With a billion messages, 3 of 100 audits have two ids with the same hash.

use std::collections::BTreeMap;
use std::ops::Range;

use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};

use seine_formats::change;

use super::client::{self as client, trouble};
use super::librdkafka::client_config;
use super::message::url_of_key;
use super::reader::{ReadError, TopicReader};
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;
use crate::sinks::dead_letters::id_hash;
use crate::sinks::live_keys::LiveKeys;
use crate::sinks::sink::{SinkCount, SinkError};

/// Ids kept in memory at once.
const IDS_AT_ONCE: u64 = 16 << 20;

/// How many distinct events the topic holds, from any producer, and how many of `expected` (distinct hashes).
pub(in crate::sinks) fn count_messages(config: &KafkaConfig, expected: &[u64]) -> Result<SinkCount, SinkError> {
    let failed = |error| unread(config, error);
    let (mut reader, partitions) = open(config)?;
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

/// Reads the pages that compaction would leave: the last value of each key, if it is a page. The partitions are read one
/// after the other, because a key may be in several after partitions were added.
pub(in crate::sinks) fn read_keys(config: &KafkaConfig, keys: &mut LiveKeys) -> Result<u64, SinkError> {
    let (mut reader, partitions) = open(config)?;
    // Compaction leaves gaps, and the last message of each key. Retention takes the oldest messages.
    let removed = partitions.values().map(|offsets| offsets.start as u64).sum();
    for partition in partitions {
        let read = reader.read([partition].into(), |message| {
            let Some(url) = message.key().and_then(url_of_key) else { return };
            if message.payload().is_none() || header(message, "schema") == Some(change::SCHEMA) {
                keys.removed(&url);
            } else if event_id(message).is_some() {
                keys.written(&url);
            }
        });
        read.map_err(|error| unread(config, error))?;
        keys.end_part();
    }
    Ok(removed)
}

fn open(config: &KafkaConfig) -> Result<(TopicReader, BTreeMap<i32, Range<i64>>), SinkError> {
    client::require_topic(config, &Shutdown::default())?;
    let failed = |error: KafkaError| unread(config, error.into());
    let reader = TopicReader::open(&mut client_config(config), "seine-audit", &config.topic).map_err(failed)?;
    let partitions = reader.partitions().map_err(failed)?.unwrap_or_default();
    Ok((reader, partitions))
}

fn unread(config: &KafkaConfig, error: ReadError) -> SinkError {
    trouble(format!("{} cannot be read: {error}", config.topic), "start the broker, and try again")
}

pub(super) fn event_id<'a>(message: &'a BorrowedMessage<'_>) -> Option<&'a str> {
    header(message, "event_id")
}

fn header<'a>(message: &'a BorrowedMessage<'_>, name: &str) -> Option<&'a str> {
    let header = message.headers()?.iter().find(|header| header.key == name)?;
    std::str::from_utf8(header.value?).ok()
}
