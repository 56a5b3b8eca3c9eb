//! Remembers which topic the messages went to, and in which partitions their keys are.
//!
//! Brokers give a topic no identity that librdkafka passes on. But if a topic ends before an acknowledged offset, it
//! was recreated or has lost messages. In both cases it does not hold what was delivered.
//!
//! Adding partitions moves keys: the next message of a URL goes to another partition. Its last message stays in the old
//! one, because compaction works within a partition. So the sink remembers the former numbers of partitions, and writes
//! a tombstone to the key's old partition.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use seine_simulation_hooks::planted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::Producer;
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;
use crate::sinks::sink::SinkError;

/// While no message is sent, the topic is checked at this interval.
const CHECK_EVERY: Duration = Duration::from_secs(if cfg!(feature = "simulate") { 120 } else { 10 });

/// Saved in the sink's committed state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownTopic {
    /// The largest acknowledged offset of each partition.
    #[serde(default)]
    acknowledged: BTreeMap<i32, i64>,
    /// All numbers of partitions so far, the present one last.
    #[serde(default)]
    partitions: Vec<u32>,
    /// Those from before the sink started again. The topic may be the same. If another one took its place, the producer
    /// used the earlier number until it noticed that.
    #[serde(default)]
    before: Vec<u32>,
}

/// Watches the topic of one sink.
pub(super) struct TopicWatch {
    known: KnownTopic,
    partitioner: Option<Partitioner>,
    checked: Instant,
}

/// Computes the hash that decides the partition of a key.
type Partitioner = fn(&[u8]) -> u32;

impl KnownTopic {
    /// Empty if nothing was delivered, or if the state is from a version without this.
    pub(super) fn from_state(state: &Value) -> KnownTopic {
        KnownTopic::deserialize(state).unwrap_or_default()
    }

    /// See [`crate::sinks::kept_state`].
    pub(super) fn kept_state(state: &Value) -> Value {
        let KnownTopic { partitions, mut before, .. } = KnownTopic::from_state(state);
        before.extend(partitions);
        before.sort_unstable();
        before.dedup();
        serde_json::to_value(KnownTopic { before, ..KnownTopic::default() }).unwrap_or_default()
    }

    /// Messages went to it, so it must be there.
    pub(super) fn has_messages(&self) -> bool {
        !self.partitions.is_empty()
    }

    fn counts(&self) -> impl Iterator<Item = u32> {
        self.before.iter().chain(&self.partitions).copied()
    }
}

impl TopicWatch {
    /// For an existing topic. Fails if it is not the topic that messages went to.
    pub(super) fn open(
        known: KnownTopic,
        config: &KafkaConfig,
        producer: &Producer,
        shutdown: &Shutdown,
    ) -> Result<TopicWatch, SinkError> {
        let partitioner = match config.properties.get("partitioner").map_or("", |name| name.expose()) {
            "murmur2" | "murmur2_random" => Some(murmur2_of as Partitioner),
            "consistent" | "consistent_random" => Some(crc32fast::hash as Partitioner),
            _ => None,
        };
        let mut watch = TopicWatch { known, partitioner, checked: Instant::now() };
        watch.check(&config.topic, producer, shutdown)?;
        Ok(watch)
    }

    /// Compares the topic with its known state, if the last check was some time ago.
    pub(super) fn check_now_and_then(
        &mut self,
        topic: &str,
        producer: &Producer,
        shutdown: &Shutdown,
    ) -> Result<(), SinkError> {
        if self.checked.elapsed() < CHECK_EVERY {
            return Ok(());
        }
        self.check(topic, producer, shutdown)
    }

    fn check(&mut self, topic: &str, producer: &Producer, shutdown: &Shutdown) -> Result<(), SinkError> {
        self.check_partitions(topic, producer, shutdown)?;
        for (partition, acknowledged) in &self.known.acknowledged {
            if !check_end(topic, producer, *partition, *acknowledged)? {
                break;
            }
        }
        self.checked = Instant::now();
        Ok(())
    }

    fn check_partitions(&mut self, topic: &str, producer: &Producer, shutdown: &Shutdown) -> Result<(), SinkError> {
        // If the broker does not answer, others report that.
        let Ok(found) = producer.partitions(topic, shutdown) else { return Ok(()) };
        let Some(now) = found else { return Err(gone(topic)) };
        match self.known.partitions.last().copied() {
            Some(before) if before == now => {}
            Some(before) if before > now => {
                return Err(replaced(format!("topic {topic} was recreated: it had {before} partitions and has {now}")));
            }
            Some(before) => {
                let cleans = self.partitioner.is_some();
                tracing::warn!(
                    topic,
                    before,
                    now,
                    cleans,
                    "kafka: partitions were added; a page that belongs to another partition now gets a tombstone in its old one with \
                     its next message, unless `partitioner` is one that Seine does not know"
                );
                self.known.partitions.push(now);
            }
            None => self.known.partitions.push(now),
        }
        Ok(())
    }

    /// Records the offset of a message. Fails if that shows that the topic was recreated.
    pub(super) fn acknowledge(
        &mut self,
        topic: &str,
        producer: &Producer,
        location: (i32, i64),
    ) -> Result<(), SinkError> {
        let (partition, offset) = location;
        let largest = self.known.acknowledged.entry(partition).or_insert(offset);
        if offset < *largest {
            check_end(topic, producer, partition, *largest)?;
        }
        *largest = offset.max(*largest);
        Ok(())
    }

    /// The partitions that may hold older messages of a key whose message now went to `partition`.
    pub(super) fn former(
        &mut self,
        topic: &str,
        producer: &Producer,
        shutdown: &Shutdown,
        (key, partition): (&str, i32),
    ) -> Result<Vec<i32>, SinkError> {
        let Some(hash) = self.partitioner.map(|partitioner| partitioner(key.as_bytes())) else { return Ok(Vec::new()) };
        let lies_in = |count: u32| (hash % count.max(1)) as i32;
        let is_known = |watch: &TopicWatch| watch.known.counts().any(|count| lies_in(count) == partition);
        if !is_known(self) {
            self.check_partitions(topic, producer, shutdown)?;
            if !is_known(self) {
                // The broker side uses another partitioner, so the old partitions of keys are unknown.
                self.partitioner = None;
                return Ok(Vec::new());
            }
        }
        let now = self.known.partitions.last().map_or(0, |count| *count as i32);
        let former: BTreeSet<i32> = self.known.counts().map(lies_in).collect();
        let is_forgotten = planted::is("partitions_forgotten");
        Ok(former.into_iter().filter(|former| *former != partition && *former < now && !is_forgotten).collect())
    }

    pub(super) fn to_state(&self) -> Value {
        serde_json::to_value(&self.known).unwrap_or_default()
    }
}

/// Fails if the partition ends before an acknowledged offset. Returns false if the broker does not tell its end.
fn check_end(topic: &str, producer: &Producer, partition: i32, acknowledged: i64) -> Result<bool, SinkError> {
    match producer.end(topic, partition) {
        Some(end) if end <= acknowledged => Err(replaced(format!(
            "topic {topic} was recreated, or has lost messages: partition {partition} ends at offset {end}, and offset \
             {acknowledged} was acknowledged"
        ))),
        end => Ok(end.is_some()),
    }
}

pub(super) fn gone(topic: &str) -> SinkError {
    replaced(format!("topic {topic} is gone"))
}

fn replaced(how: String) -> SinkError {
    SinkError::Replaced { sink: "kafka", how }
}

/// The murmur2 hash as in Kafka's own clients and librdkafka.
fn murmur2_of(key: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c_u32 ^ key.len() as u32;
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (location, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * location);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^= hash >> 15;
    // Clears the sign bit.
    hash & 0x7fff_ffff
}
