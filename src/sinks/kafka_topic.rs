//! Which topic the messages went to, and in which partitions their keys lie.
//!
//! A broker tells its clients no identity of a topic that librdkafka passes on. But a topic that ends before an offset that was
//! acknowledged is another one, or has lost messages: either way it does not hold what was delivered.
//!
//! Partitions that are added move keys: the next message of a URL goes to another partition than the last one, which stays in its own,
//! as compaction looks at each partition alone. So the sink keeps how many partitions there were before, and puts a tombstone where the
//! key used to lie.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kafka_client::Producer;
use super::sink::SinkError;
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;

/// Without a message, the sink looks this often whether the topic is still the same.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Kept in the sink's committed state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownTopic {
    /// The largest acknowledged offset of each partition.
    #[serde(default)]
    acknowledged: BTreeMap<i32, i64>,
    /// How many partitions there were, the number of today last.
    #[serde(default)]
    partitions: Vec<u32>,
}

/// The topic of one sink.
pub(super) struct TopicWatch {
    known: KnownTopic,
    partitioner: Option<Partitioner>,
    looked: Instant,
}

/// Which partition a key belongs to.
type Partitioner = fn(&[u8]) -> u32;

impl KnownTopic {
    /// None where nothing was delivered yet, and of states of before there were any.
    pub fn from_state(state: &Value) -> Option<KnownTopic> {
        KnownTopic::deserialize(state).ok().filter(|known| !known.partitions.is_empty())
    }
}

impl TopicWatch {
    /// Of a topic that is there. An error when it is not the one that was delivered into.
    pub fn open(
        known: Option<KnownTopic>,
        config: &KafkaConfig,
        producer: &Producer,
        shutdown: &Shutdown,
    ) -> Result<TopicWatch, SinkError> {
        let partitioner = match config.properties.get("partitioner").map_or("", |name| name.expose()) {
            "murmur2" | "murmur2_random" => Some(murmur2_of as Partitioner),
            "consistent" | "consistent_random" => Some(crc32fast::hash as Partitioner),
            _ => None,
        };
        let mut watch = TopicWatch { known: known.unwrap_or_default(), partitioner, looked: Instant::now() };
        watch.look(&config.topic, producer, shutdown)?;
        Ok(watch)
    }

    /// Compares the topic with what is known of it, if that was not done lately.
    pub fn look_now_and_then(
        &mut self,
        topic: &str,
        producer: &Producer,
        shutdown: &Shutdown,
    ) -> Result<(), SinkError> {
        if self.looked.elapsed() < LOOK_AGAIN {
            return Ok(());
        }
        self.look(topic, producer, shutdown)
    }

    fn look(&mut self, topic: &str, producer: &Producer, shutdown: &Shutdown) -> Result<(), SinkError> {
        self.look_at_partitions(topic, producer, shutdown)?;
        for (partition, acknowledged) in &self.known.acknowledged {
            if !check_end(topic, producer, *partition, *acknowledged)? {
                break;
            }
        }
        self.looked = Instant::now();
        Ok(())
    }

    fn look_at_partitions(&mut self, topic: &str, producer: &Producer, shutdown: &Shutdown) -> Result<(), SinkError> {
        // A broker that does not answer is none of this one's business.
        let Ok(found) = producer.partitions(topic, shutdown) else { return Ok(()) };
        let Some(now) = found else { return Err(gone(topic)) };
        match self.known.partitions.last().copied() {
            Some(before) if before == now => {}
            Some(before) if before > now => {
                return Err(replaced(format!("topic {topic} was made anew: it had {before} partitions and has {now}")));
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

    /// Takes in where a message went. An error when the topic shows by it that it is another one.
    pub fn acknowledge(&mut self, topic: &str, producer: &Producer, place: (i32, i64)) -> Result<(), SinkError> {
        let (partition, offset) = place;
        let largest = self.known.acknowledged.entry(partition).or_insert(offset);
        if offset < *largest {
            check_end(topic, producer, partition, *largest)?;
        }
        *largest = offset.max(*largest);
        Ok(())
    }

    /// The partitions in which older messages of a key may lie that went to `partition` now.
    pub fn former(
        &mut self,
        topic: &str,
        producer: &Producer,
        shutdown: &Shutdown,
        (key, partition): (&str, i32),
    ) -> Result<Vec<i32>, SinkError> {
        let Some(hash) = self.partitioner.map(|partitioner| partitioner(key.as_bytes())) else { return Ok(Vec::new()) };
        let lies_in = |count: u32| (hash % count.max(1)) as i32;
        let is_known = |watch: &TopicWatch| watch.known.partitions.iter().any(|count| lies_in(*count) == partition);
        if !is_known(self) {
            self.look_at_partitions(topic, producer, shutdown)?;
            if !is_known(self) {
                // A partitioner of another version: nothing can be said of where keys lay.
                self.partitioner = None;
                return Ok(Vec::new());
            }
        }
        let former: BTreeSet<i32> = self.known.partitions.iter().map(|count| lies_in(*count)).collect();
        Ok(former.into_iter().filter(|former| *former != partition).collect())
    }

    pub fn to_state(&self) -> Value {
        serde_json::to_value(&self.known).unwrap_or_default()
    }
}

/// An error when a partition ends before what was acknowledged. False when the broker does not say where it ends.
fn check_end(topic: &str, producer: &Producer, partition: i32, acknowledged: i64) -> Result<bool, SinkError> {
    match producer.end(topic, partition) {
        Some(end) if end <= acknowledged => Err(replaced(format!(
            "topic {topic} was made anew, or has lost messages: partition {partition} ends at offset {end}, and offset \
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

/// As Kafka's own clients and librdkafka use it.
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
        for (place, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * place);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^= hash >> 15;
    // The sign is left out.
    hash & 0x7fff_ffff
}
