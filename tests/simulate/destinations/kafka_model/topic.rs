//! One topic: its partitions, and how records are appended and compacted.

use std::collections::{BTreeMap, HashMap};

use rdkafka::error::RDKafkaErrorCode as Code;

/// One topic of a broker.
#[derive(Debug, Clone)]
pub struct Topic {
    /// A new id after the topic was deleted and created again.
    pub id: u64,
    pub settings: BTreeMap<String, String>,
    pub partitions: Vec<Partition>,
}

#[derive(Debug, Clone, Default)]
pub struct Partition {
    pub records: Vec<Record>,
    pub next_offset: i64,
    /// The last batches of each producer: sequence and offset.
    producers: HashMap<u64, Vec<(u64, i64)>>,
    /// When a tombstone was first met by compaction, and how long it stays.
    horizons: HashMap<i64, u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub offset: i64,
    pub timestamp_ms: i64,
    pub key: Vec<u8>,
    /// None: a tombstone.
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Vec<u8>)>,
}

/// A record that is sent to the broker.
#[derive(Debug, Clone)]
pub struct NewRecord {
    pub timestamp_ms: i64,
    /// Empty: none.
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Records that a producer sends to a partition in one request.
#[derive(Debug, Clone)]
pub struct Batch {
    /// For an idempotent producer: its id, and the sequence number of the batch.
    pub producer: Option<(u64, u64)>,
    pub records: Vec<NewRecord>,
}

impl NewRecord {
    /// Approximate size in a batch, in bytes.
    pub fn size(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len() + 3).sum();
        self.key.len() + self.value.as_ref().map_or(0, Vec::len) + headers + 12
    }
}

impl Topic {
    pub fn new(id: u64, partitions: usize, settings: BTreeMap<String, String>) -> Topic {
        Topic { id, settings, partitions: vec![Partition::default(); partitions] }
    }

    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    fn number(&self, name: &str, default: i64) -> i64 {
        self.setting(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    pub fn is_compacted(&self) -> bool {
        self.setting("cleanup.policy").is_some_and(|policy| policy.contains("compact"))
    }

    /// Returns the offset of the batch's first record.
    pub fn append(&mut self, partition: usize, batch: &Batch, now_ms: u64) -> Result<i64, Code> {
        let size: usize = batch.records.iter().map(NewRecord::size).sum::<usize>() + 61;
        let most = self.number("max.message.bytes", 1_048_588);
        let is_compacted = self.is_compacted();
        let by_broker = self.setting("message.timestamp.type") == Some("LogAppendTime");
        let before = self.number("message.timestamp.before.max.ms", i64::MAX);
        let after = self.number("message.timestamp.after.max.ms", 3_600_000);
        let Some(partition) = self.partitions.get_mut(partition) else { return Err(Code::UnknownTopicOrPartition) };
        if size as i64 > most {
            return Err(Code::MessageSizeTooLarge);
        }
        if is_compacted && batch.records.iter().any(|record| record.key.is_empty()) {
            return Err(Code::InvalidRecord);
        }
        let now = now_ms as i64;
        let is_off = |record: &NewRecord| {
            now.saturating_sub(record.timestamp_ms) > before || record.timestamp_ms.saturating_sub(now) > after
        };
        if !by_broker && batch.records.iter().any(is_off) {
            return Err(Code::InvalidTimestamp);
        }
        partition.append(batch, by_broker.then_some(now))
    }

    /// Runs the log cleaner. It does nothing without the setting `compact`.
    pub fn compact(&mut self, now_ms: u64) {
        if !self.is_compacted() {
            return;
        }
        let retention = self.number("delete.retention.ms", 86_400_000) as u64;
        self.partitions.iter_mut().for_each(|partition| partition.compact(now_ms, retention));
    }

    /// Deletes all records (`kafka-delete-records`); offsets continue.
    pub fn clear(&mut self) {
        self.partitions.iter_mut().for_each(|partition| partition.records.clear());
    }
}

impl Partition {
    fn append(&mut self, batch: &Batch, timestamp: Option<i64>) -> Result<i64, Code> {
        if let Some((producer, sequence)) = batch.producer {
            let done = self.producers.entry(producer).or_default();
            if let Some((_, offset)) = done.iter().find(|(known, _)| *known == sequence) {
                return Ok(*offset);
            }
            if done.last().is_some_and(|(last, _)| sequence != last + 1) {
                return Err(Code::OutOfOrderSequenceNumber);
            }
            done.push((sequence, self.next_offset));
            let surplus = done.len().saturating_sub(5);
            done.drain(..surplus);
        }
        let first = self.next_offset;
        for record in &batch.records {
            let NewRecord { timestamp_ms, key, value, headers } = record.clone();
            let timestamp_ms = timestamp.unwrap_or(timestamp_ms);
            self.records.push(Record { offset: self.next_offset, timestamp_ms, key, value, headers });
            self.next_offset += 1;
        }
        Ok(first)
    }

    /// The last record always stays, because it is in the active segment.
    fn compact(&mut self, now_ms: u64, retention: u64) {
        let Some(active) = self.records.pop() else { return };
        let last: HashMap<Vec<u8>, i64> =
            self.records.iter().map(|record| (record.key.clone(), record.offset)).collect();
        let horizons = &mut self.horizons;
        self.records.retain(|record| {
            if last.get(&record.key) != Some(&record.offset) {
                return false;
            }
            record.value.is_some() || now_ms <= *horizons.entry(record.offset).or_insert(now_ms + retention)
        });
        let kept: Vec<i64> = self.records.iter().map(|record| record.offset).collect();
        self.horizons.retain(|offset, _| kept.binary_search(offset).is_ok());
        self.records.push(active);
    }
}
