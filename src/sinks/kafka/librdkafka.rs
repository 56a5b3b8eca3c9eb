//! The real Kafka client.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::producer::{BaseRecord, DeliveryResult, NoCustomPartitioner, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, ClientContext};

use super::client::{ANSWER, code_of};
use super::cluster::{
    ClusterMetadata, KafkaCluster, KafkaLink, OutgoingMessage, PartitionMetadata, Report, Reports, SettingOf,
    TopicMetadata, TopicToCreate,
};
use crate::config::KafkaConfig;

/// Creates clients based on librdkafka.
pub(super) struct Librdkafka;

/// librdkafka's producer. Its own thread delivers the reports.
struct RealLink {
    config: ClientConfig,
    producer: ThreadedProducer<Context>,
}

/// Receives callbacks from librdkafka's thread.
struct Context(Arc<Reports>);

impl KafkaCluster for Librdkafka {
    fn connect(&self, config: &KafkaConfig, reports: &Arc<Reports>) -> KafkaResult<Box<dyn KafkaLink>> {
        let config = client_config(config);
        let producer = config.create_with_context(Context(reports.clone()))?;
        Ok(Box::new(RealLink { config, producer }))
    }
}

impl KafkaLink for RealLink {
    fn send(&self, message: OutgoingMessage<'_>) -> Result<(), RDKafkaErrorCode> {
        let OutgoingMessage { topic, key, value, headers, partition, timestamp_ms, sequence } = message;
        let mut record = BaseRecord::with_opaque_to(topic, sequence).key(key).headers(headers);
        record.payload = value;
        record.partition = partition;
        record.timestamp = timestamp_ms;
        self.producer.send(record).map_err(|(error, _)| code_of(&error))
    }

    fn fatal_error(&self) -> Option<(RDKafkaErrorCode, String)> {
        self.producer.client().fatal_error()
    }

    fn metadata(&self, topic: Option<&str>, patience: Duration) -> KafkaResult<ClusterMetadata> {
        let metadata = self.producer.client().fetch_metadata(topic, patience)?;
        Ok(ClusterMetadata {
            brokers: metadata.brokers().iter().map(|broker| broker.id()).collect(),
            topics: metadata.topics().iter().map(topic_metadata).collect(),
        })
    }

    fn end(&self, topic: &str, partition: i32, patience: Duration) -> KafkaResult<i64> {
        self.producer.client().fetch_watermarks(topic, partition, patience).map(|(_, end)| end)
    }

    fn setting(&self, of: SettingOf<'_>, name: &str) -> Option<String> {
        let of = match of {
            SettingOf::Broker(id) => ResourceSpecifier::Broker(id),
            SettingOf::Topic(topic) => ResourceSpecifier::Topic(topic),
        };
        let admin: AdminClient<DefaultClientContext> = self.config.create().ok()?;
        let described = wait(admin.describe_configs(&[of], &admin_options())).ok()?;
        described.into_iter().next()?.ok()?.get(name)?.value.clone()
    }

    fn create_topic(&self, topic: &TopicToCreate<'_>) -> KafkaResult<Option<RDKafkaErrorCode>> {
        let admin: AdminClient<DefaultClientContext> = self.config.create()?;
        // -1 means the broker's default.
        let (partitions, replicas) = (topic.partitions.map_or(-1, i32::from), topic.replicas.map_or(-1, i32::from));
        let plain = NewTopic::new(topic.name, partitions, TopicReplication::Fixed(replicas));
        let new = topic.settings.iter().fold(plain, |new, (name, value)| new.set(name, value));
        let created = wait(admin.create_topics(&[new], &admin_options()))?;
        Ok(created.into_iter().find_map(Result::err).map(|(_, code)| code))
    }
}

impl ClientContext for Context {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, "librdkafka: {message}");
    }

    /// librdkafka keeps trying after these errors.
    fn error(&self, error: KafkaError, reason: &str) {
        match code_of(&error) {
            // The reason for each broker was logged before.
            RDKafkaErrorCode::AllBrokersDown => self.0.set_all_down(),
            _ => self.0.complain(reason),
        }
    }

    fn stats_raw(&self, _json: &[u8]) {}
}

impl ProducerContext<NoCustomPartitioner> for Context {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, sequence: usize) {
        let delivered = match result {
            // Without acknowledgements the offset is unknown.
            Ok(message) => Ok(Some((message.partition(), message.offset())).filter(|(_, offset)| *offset >= 0)),
            Err((error, _)) => Err(code_of(error)),
        };
        self.0.add(Report { sequence, delivered });
    }
}

pub(super) fn client_config(config: &KafkaConfig) -> ClientConfig {
    let mut client = ClientConfig::new();
    for (name, value) in &config.properties {
        client.set(name, value.expose());
    }
    client
}

fn topic_metadata(topic: &MetadataTopic) -> TopicMetadata {
    TopicMetadata {
        name: topic.name().to_owned(),
        error: topic.error().map(RDKafkaErrorCode::from),
        partitions: topic.partitions().iter().map(partition_metadata).collect(),
    }
}

fn partition_metadata(partition: &MetadataPartition) -> PartitionMetadata {
    let error = partition.error().map(RDKafkaErrorCode::from);
    PartitionMetadata { id: partition.id(), leader: partition.leader(), error }
}

fn admin_options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ANSWER)).operation_timeout(Some(ANSWER))
}

/// Waits for an answer from a thread of librdkafka.
fn wait<T>(answer: impl Future<Output = KafkaResult<T>>) -> KafkaResult<T> {
    match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime.block_on(answer),
        Err(error) => Err(KafkaError::ClientCreation(error.to_string())),
    }
}
