//! The cluster: its topics and its own settings.

use std::collections::BTreeMap;

use rdkafka::error::RDKafkaErrorCode as Code;

use super::topic::{Batch, Record, Topic};

/// The settings of topics that matter here.
const KNOWN: [&str; 9] = [
    "cleanup.policy",
    "delete.retention.ms",
    "max.message.bytes",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "segment.ms",
    "min.cleanable.dirty.ratio",
    "retention.ms",
];

/// One broker, which is the cluster.
#[derive(Debug, Clone)]
pub struct Broker {
    pub cluster_id: String,
    pub topics: BTreeMap<String, Topic>,
    /// `auto.create.topics.enable`.
    pub auto_create: bool,
    /// `num.partitions`.
    pub default_partitions: usize,
    next_topic: u64,
    next_producer: u64,
}

impl Broker {
    pub fn new(cluster_id: String) -> Broker {
        let topics = BTreeMap::new();
        Broker { cluster_id, topics, auto_create: true, default_partitions: 1, next_topic: 1, next_producer: 1 }
    }

    pub fn create(
        &mut self,
        name: &str,
        partitions: Option<usize>,
        replicas: Option<u16>,
        settings: &[(&str, &str)],
    ) -> Result<(), Code> {
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 249 || !name.chars().all(is_legal) {
            return Err(Code::InvalidTopic);
        }
        if self.topics.contains_key(name) {
            return Err(Code::TopicAlreadyExists);
        }
        if partitions == Some(0) {
            return Err(Code::InvalidPartitions);
        }
        if replicas.is_some_and(|replicas| replicas != 1) {
            return Err(Code::InvalidReplicationFactor);
        }
        check(settings)?;
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let topic = Topic::new(self.next_topic, partitions.unwrap_or(self.default_partitions), settings);
        self.next_topic += 1;
        self.topics.insert(name.to_owned(), topic);
        Ok(())
    }

    /// As a request for the topic's metadata does.
    pub fn create_by_itself(&mut self, name: &str) -> bool {
        self.auto_create && (self.topics.contains_key(name) || self.create(name, None, None, &[]).is_ok())
    }

    pub fn delete(&mut self, name: &str) -> Result<(), Code> {
        self.topics.remove(name).map(drop).ok_or(Code::UnknownTopicOrPartition)
    }

    /// `total`: the new number of partitions.
    pub fn add_partitions(&mut self, name: &str, total: usize) -> Result<(), Code> {
        let topic = self.topics.get_mut(name).ok_or(Code::UnknownTopicOrPartition)?;
        if total <= topic.partitions.len() {
            return Err(Code::InvalidPartitions);
        }
        topic.partitions.resize_with(total, Default::default);
        Ok(())
    }

    pub fn new_producer(&mut self) -> u64 {
        self.next_producer += 1;
        self.next_producer
    }

    /// Returns the offset of the batch's first record.
    pub fn produce(&mut self, topic: &str, partition: usize, batch: &Batch, now_ms: u64) -> Result<i64, Code> {
        let topic = self.topics.get_mut(topic).ok_or(Code::UnknownTopicOrPartition)?;
        topic.append(partition, batch, now_ms)
    }

    /// The records that a consumer reads from the beginning, partition by partition.
    pub fn read<'t>(&'t self, topic: &str) -> impl Iterator<Item = (usize, &'t Record)> + use<'t> {
        let partitions = self.topics.get(topic).map(|topic| topic.partitions.iter().enumerate());
        partitions
            .into_iter()
            .flatten()
            .flat_map(|(number, partition)| partition.records.iter().map(move |record| (number, record)))
    }

    /// As `describe_configs` shows it.
    pub fn topic_setting(&self, topic: &str, name: &str) -> Option<String> {
        let topic = self.topics.get(topic)?;
        let default = match name {
            "cleanup.policy" => "delete",
            "delete.retention.ms" => "86400000",
            "max.message.bytes" => "1048588",
            "message.timestamp.type" => "CreateTime",
            "message.timestamp.after.max.ms" => "3600000",
            "retention.ms" => "604800000",
            _ => return topic.setting(name).map(str::to_owned),
        };
        Some(topic.setting(name).unwrap_or(default).to_owned())
    }
}

fn check(settings: &[(&str, &str)]) -> Result<(), Code> {
    for (name, value) in settings {
        let is_right = match *name {
            "cleanup.policy" => value.split(',').all(|policy| ["compact", "delete"].contains(&policy)),
            "message.timestamp.type" => ["CreateTime", "LogAppendTime"].contains(value),
            "min.cleanable.dirty.ratio" => value.parse::<f64>().is_ok_and(|ratio| (0.0..=1.0).contains(&ratio)),
            // -1: without a bound.
            "retention.ms" => value.parse::<i64>().is_ok_and(|number| number >= -1),
            _ => KNOWN.contains(name) && value.parse::<i64>().is_ok_and(|number| number >= 0),
        };
        if !is_right {
            return Err(Code::InvalidConfig);
        }
    }
    Ok(())
}
