//! The KAFKA sink's questions to the brokers about the topic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};

use super::cluster::{ClusterMetadata, KafkaLink, Reports, SettingOf, TopicMetadata, TopicToCreate, cluster};
use super::topic;
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;
use crate::sinks::sink::SinkError;

pub(super) const REMADE: &str = "the producer is recreated and continues after the last acknowledged page";
/// Timeout of one question to the broker.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// Between slices of this length, check whether any broker can be reached.
const SLICE: Duration = Duration::from_secs(1);
/// Space for the framing of a batch.
const BATCH_OVERHEAD: u64 = 64 << 10;
/// Kafka's default for a topic's `max.message.bytes`.
const KAFKA_DEFAULT: u64 = 1_048_588;
/// Settings of a topic that Seine creates. It is compacted: it keeps the last message of each page as long as the page
/// exists. A consumer that was away for up to a week still gets the tombstones.
const COMPACTED: [(&str, &str); 2] = [("cleanup.policy", "compact"), ("delete.retention.ms", "604800000")];

/// A producer, its delivery reports, and its connection for questions.
pub(super) struct Producer {
    pub link: Box<dyn KafkaLink>,
    pub reports: Arc<Reports>,
}

pub(super) fn code_of(error: &KafkaError) -> RDKafkaErrorCode {
    error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown)
}

/// Creates a producer and makes sure that the topic exists. At shutdown it waits for no answer. `is_known`: messages
/// went to the topic before, so it must not be created.
pub(super) fn connect(config: &KafkaConfig, is_known: bool, shutdown: &Shutdown) -> Result<Producer, SinkError> {
    let producer = Producer::new(config).map_err(|e| {
        trouble(format!("the producer cannot be created: {e}"), "correct target_storage.data_format.kafka.properties")
    })?;
    if !producer.has_topic(config, shutdown)? {
        if is_known {
            return Err(topic::gone(&config.topic));
        }
        match config.create_topic || producer.brokers_make_topics(shutdown) {
            true => create_topic(&producer, config)?,
            false => {
                return Err(trouble(
                    format!("the broker shows no topic {}", config.topic),
                    "create it, or set target_storage.data_format.kafka.create_topic: true, or let this user see it (ACL DESCRIBE)",
                ));
            }
        }
    }
    Ok(producer)
}

/// Whether a broker answers and every partition of the topic has a leader. Uses its own connection, since the
/// producer's may be the one that is stuck.
pub(super) fn could_deliver(config: &KafkaConfig, shutdown: &Shutdown) -> bool {
    let metadata = Producer::new(config).and_then(|producer| producer.metadata(Some(&config.topic), shutdown));
    let Ok(metadata) = metadata else { return false };
    let leads = |topic: &TopicMetadata| {
        topic.error.is_none() && topic.partitions.iter().all(|it| it.error.is_none() && it.leader >= 0)
    };
    metadata.topics.iter().all(leads)
}

/// Fails if the broker does not show the topic.
pub(super) fn require_topic(config: &KafkaConfig, shutdown: &Shutdown) -> Result<(), SinkError> {
    let producer = Producer::new(config)
        .map_err(|error| trouble(format!("the client cannot be created: {error}"), "correct its properties"))?;
    match producer.has_topic(config, shutdown)? {
        true => Ok(()),
        false => Err(trouble(format!("the broker shows no topic {}", config.topic), "name the crawl's own brokers")),
    }
}

pub(super) fn trouble(problem: String, remedy: &'static str) -> SinkError {
    SinkError::Other { sink: "kafka", problem, remedy }
}

impl Producer {
    fn new(config: &KafkaConfig) -> KafkaResult<Producer> {
        let reports = Arc::new(Reports::default());
        Ok(Producer { link: cluster().connect(config, &reports)?, reports })
    }

    /// Lists all topics, since a broker may create a topic that is asked for by name.
    fn has_topic(&self, config: &KafkaConfig, shutdown: &Shutdown) -> Result<bool, SinkError> {
        let topic = &config.topic;
        let metadata = self.metadata(None, shutdown).map_err(|error| self.no_answer(config, &error))?;
        match metadata.topics.iter().find(|it| it.name == *topic).map(|it| it.error) {
            Some(None) => Ok(true),
            Some(Some(error)) => {
                Err(trouble(format!("topic {topic}: {error}"), "let this user write to it (ACL WRITE and DESCRIBE)"))
            }
            None => Ok(false),
        }
    }

    /// Whether the brokers create topics on demand (`auto.create.topics.enable`). Then the user may expect that no
    /// setting is needed, and Seine creates the topic itself, with a suitable size limit. Returns false if the brokers
    /// do not tell.
    fn brokers_make_topics(&self, shutdown: &Shutdown) -> bool {
        let Ok(metadata) = self.metadata(None, shutdown) else { return false };
        let Some(broker) = metadata.brokers.first() else { return false };
        let setting = self.link.setting(SettingOf::Broker(*broker), "auto.create.topics.enable");
        setting.is_some_and(|value| value.trim() == "true")
    }

    /// Number of partitions of a topic; none if the broker does not show it.
    pub(super) fn partitions(&self, topic: &str, shutdown: &Shutdown) -> KafkaResult<Option<u32>> {
        let metadata = self.metadata(None, shutdown)?;
        let found = metadata.topics.iter().find(|it| it.name == topic && it.error.is_none());
        Ok(found.map(|topic| topic.partitions.len() as u32))
    }

    /// The offset after a partition's last message; none if unknown.
    pub(super) fn end(&self, topic: &str, partition: i32) -> Option<i64> {
        self.link.end(topic, partition, SLICE).ok()
    }

    /// The topic's `max.message.bytes`: the largest compressed batch. None if the broker does not tell.
    pub(super) fn topic_limit(&self, topic: &str) -> Option<u64> {
        self.link.setting(SettingOf::Topic(topic), "max.message.bytes")?.parse().ok()
    }

    fn metadata(&self, topic: Option<&str>, shutdown: &Shutdown) -> KafkaResult<ClusterMetadata> {
        let started = Instant::now();
        loop {
            let answer = self.link.metadata(topic, SLICE);
            let give_up = self.reports.are_all_down() || shutdown.is_hurrying() || started.elapsed() >= ANSWER;
            if answer.is_ok() || give_up {
                return answer;
            }
        }
    }

    fn no_answer(&self, config: &KafkaConfig, error: &KafkaError) -> SinkError {
        let servers = config.properties.get("bootstrap.servers").map_or("", |it| it.expose());
        let why = self.reports.complaint().unwrap_or_else(|| error.to_string());
        trouble(
            format!("no broker answers at {servers}: {why}"),
            "start it, or correct target_storage.data_format.kafka.properties; delivery is tried again",
        )
    }

    /// Turns a permanent failure, or a rejection by the producer's queue, into an error of the sink.
    pub(super) fn failure(&self, topic: &str, code: RDKafkaErrorCode) -> SinkError {
        match (self.link.fatal_error(), code) {
            (Some((code, reason)), _) => trouble(format!("{code}: {reason}"), REMADE),
            (None, RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownTopicOrPartition) => trouble(
                format!("topic {topic} is gone"),
                "create it, or set target_storage.data_format.kafka.create_topic: true",
            ),
            (None, code) => trouble(code.to_string(), REMADE),
        }
    }
}

fn create_topic(producer: &Producer, config: &KafkaConfig) -> Result<(), SinkError> {
    let failed = |why: String| {
        trouble(
            format!("topic {} cannot be created: {why}", config.topic),
            "create it by hand, or correct partitions and replication_factor",
        )
    };
    let largest = largest_batch(config).to_string();
    let make = |settings: &[(&str, &str)]| {
        let (partitions, replicas) = (config.partitions, config.replication_factor);
        let topic = TopicToCreate { name: &config.topic, partitions, replicas, settings };
        producer.link.create_topic(&topic).map_err(|error| failed(error.to_string()))
    };
    let [policy, retention] = COMPACTED;
    let mut refused = make(&[policy, retention, ("max.message.bytes", &largest)])?;
    if let Some(RDKafkaErrorCode::InvalidConfig | RDKafkaErrorCode::PolicyViolation) = refused {
        tracing::warn!(
            topic = config.topic,
            largest,
            "kafka: the broker does not allow setting max.message.bytes or cleanup.policy; its own values apply"
        );
        refused = make(&[])?;
    }
    match refused {
        None => tracing::info!(topic = config.topic, largest, "kafka: created the topic"),
        Some(RDKafkaErrorCode::TopicAlreadyExists) => {}
        Some(code) => return Err(failed(code.to_string())),
    }
    Ok(())
}

/// The largest batch that a topic must accept for our messages. The broker's default is 1 MB, and a page of 3 MB needs
/// a message of 4 MB.
fn largest_batch(config: &KafkaConfig) -> u64 {
    let message = config.properties.get("message.max.bytes").and_then(|it| it.expose().trim().parse::<u64>().ok());
    message.unwrap_or_default().saturating_add(BATCH_OVERHEAD).clamp(KAFKA_DEFAULT, i32::MAX as u64)
}
