//! The edge of the KAFKA sink: what it asks of a Kafka client. [`librdkafka`](super::librdkafka) is the real one; the simulation
//! brings a model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;

use super::librdkafka::Librdkafka;
use crate::blocking::Signal;
use crate::config::KafkaConfig;

/// The same trouble is logged again after so long.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// Makes clients of a cluster.
pub trait KafkaCluster: Send + Sync {
    /// A new producer with connections of its own. It reports on its messages to `reports`.
    fn connect(&self, config: &KafkaConfig, reports: &Arc<Reports>) -> KafkaResult<Box<dyn KafkaLink>>;
}

/// One producer, and what it can ask the brokers.
pub trait KafkaLink: Send + Sync {
    /// Queues a message. A [`Report`] follows unless this fails.
    fn send(&self, message: OutgoingMessage<'_>) -> Result<(), RDKafkaErrorCode>;

    /// Why the producer can send nothing any more.
    fn fatal_error(&self) -> Option<(RDKafkaErrorCode, String)>;

    /// Brokers and topics. Without a name all topics; asked for one by name, a broker may create it.
    fn metadata(&self, topic: Option<&str>, patience: Duration) -> KafkaResult<ClusterMetadata>;

    /// The offset behind a partition's last message.
    fn end(&self, topic: &str, partition: i32, patience: Duration) -> KafkaResult<i64>;

    /// One setting; none when the broker does not tell.
    fn setting(&self, of: SettingOf<'_>, name: &str) -> Option<String>;

    /// Returns why the broker refused, if it did.
    fn create_topic(&self, topic: &TopicToCreate<'_>) -> KafkaResult<Option<RDKafkaErrorCode>>;
}

/// A message on its way to the producer.
pub struct OutgoingMessage<'a> {
    pub topic: &'a str,
    pub key: &'a str,
    /// None for a tombstone.
    pub value: Option<&'a [u8]>,
    pub headers: OwnedHeaders,
    /// None: the one that the partitioner chooses by the key.
    pub partition: Option<i32>,
    /// None: the time at which it is sent.
    pub timestamp_ms: Option<i64>,
    /// In the report on it.
    pub sequence: usize,
}

/// What became of a message.
pub struct Report {
    pub sequence: usize,
    /// Partition and offset, where the broker told them; or why the message was not delivered.
    pub delivered: Result<Option<(i32, i64)>, RDKafkaErrorCode>,
}

/// Whose setting is asked for.
#[derive(Debug, Clone, Copy)]
pub enum SettingOf<'a> {
    Broker(i32),
    Topic(&'a str),
}

/// A topic that is to be created.
pub struct TopicToCreate<'a> {
    pub name: &'a str,
    /// None: the broker's default.
    pub partitions: Option<u16>,
    pub replicas: Option<u16>,
    pub settings: &'a [(&'a str, &'a str)],
}

/// What a broker says of its cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterMetadata {
    pub brokers: Vec<i32>,
    pub topics: Vec<TopicMetadata>,
}

#[derive(Debug, Clone)]
pub struct TopicMetadata {
    pub name: String,
    pub error: Option<RDKafkaErrorCode>,
    pub partitions: Vec<PartitionMetadata>,
}

#[derive(Debug, Clone)]
pub struct PartitionMetadata {
    pub id: i32,
    /// Negative: none.
    pub leader: i32,
    pub error: Option<RDKafkaErrorCode>,
}

/// Where reports wait for the sink, and what the client last complained of.
#[derive(Default)]
pub struct Reports {
    waiting: Mutex<Vec<Report>>,
    arrived: Signal,
    complaint: Mutex<Option<(String, Instant)>>,
    all_down: AtomicBool,
}

impl Reports {
    pub fn add(&self, report: Report) {
        self.waiting.lock().push(report);
        self.arrived.notify_all();
    }

    /// The reports that came since the last call; waits up to `wait` for the first.
    pub(super) fn take(&self, wait: Duration) -> Vec<Report> {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() && !wait.is_zero() {
            self.arrived.wait_for(&mut waiting, wait);
        }
        std::mem::take(&mut waiting)
    }

    /// Notes what went wrong with a connection. The client goes on trying.
    pub fn complain(&self, reason: &str) {
        // Behind it stands how long it took and how often it came.
        let gist = reason.split(" (after ").next().unwrap_or(reason);
        let mut complaint = self.complaint.lock();
        let same = complaint.as_ref().is_some_and(|(last, at)| last == gist && at.elapsed() < TELL_AGAIN);
        if !same {
            tracing::warn!("kafka: {gist}");
            *complaint = Some((gist.to_owned(), Instant::now()));
        }
    }

    /// What went wrong last with a connection.
    pub(super) fn complaint(&self) -> Option<String> {
        self.complaint.lock().as_ref().map(|(complaint, _)| complaint.clone())
    }

    /// Every broker known was tried and cannot be reached.
    pub fn set_all_down(&self) {
        self.all_down.store(true, Ordering::Relaxed);
    }

    pub(super) fn are_all_down(&self) -> bool {
        self.all_down.load(Ordering::Relaxed)
    }
}

/// The cluster that sinks write to: the real one, unless the simulation has put another in its place.
pub(super) fn cluster() -> Arc<dyn KafkaCluster> {
    crate::outside::stand_in::<Arc<dyn KafkaCluster>>().unwrap_or_else(|| Arc::new(Librdkafka))
}
