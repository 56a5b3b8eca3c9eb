//! The interface between the KAFKA sink and a Kafka client. [`librdkafka`](super::librdkafka) is the real client; the
//! simulation has a model.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;
use seine_system::blocking::Signal;

use super::librdkafka::Librdkafka;
use crate::config::KafkaConfig;

/// The same problem is logged again after this long.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// Creates clients of a cluster.
pub trait KafkaCluster: Send + Sync {
    /// A new producer with connections of its own. It sends delivery reports to `reports`.
    fn connect(&self, config: &KafkaConfig, reports: &Arc<Reports>) -> KafkaResult<Box<dyn KafkaLink>>;
}

/// One producer, with its questions to the brokers.
pub trait KafkaLink: Send + Sync {
    /// Queues a message. A [`Report`] follows unless this fails.
    fn send(&self, message: OutgoingMessage<'_>) -> Result<(), RDKafkaErrorCode>;

    /// Why the producer can send nothing any more.
    fn fatal_error(&self) -> Option<(RDKafkaErrorCode, String)>;

    /// Brokers and topics. Without a name all topics; a broker may create a topic that is asked for by name.
    fn metadata(&self, topic: Option<&str>, patience: Duration) -> KafkaResult<ClusterMetadata>;

    /// The offset after a partition's last message.
    fn end(&self, topic: &str, partition: i32, patience: Duration) -> KafkaResult<i64>;

    /// One setting; none if the broker does not tell.
    fn setting(&self, of: SettingOf<'_>, name: &str) -> Option<String>;

    /// Returns why the broker refused, if it did.
    fn create_topic(&self, topic: &TopicToCreate<'_>) -> KafkaResult<Option<RDKafkaErrorCode>>;
}

/// A message for the producer.
pub struct OutgoingMessage<'a> {
    pub topic: &'a str,
    pub key: &'a str,
    /// None for a tombstone.
    pub value: Option<&'a [u8]>,
    pub headers: OwnedHeaders,
    /// None: the partitioner chooses by the key.
    pub partition: Option<i32>,
    /// None: the time of sending.
    pub timestamp_ms: Option<i64>,
    /// Identifies the message in its report.
    pub sequence: usize,
}

/// The delivery report of a message.
pub struct Report {
    pub sequence: usize,
    /// Partition and offset, if the broker reported them; or why the message was not delivered.
    pub delivered: Result<Option<(i32, i64)>, RDKafkaErrorCode>,
}

/// Where a setting belongs.
#[derive(Debug, Clone, Copy)]
pub enum SettingOf<'a> {
    Broker(i32),
    Topic(&'a str),
}

/// A topic to create.
pub struct TopicToCreate<'a> {
    pub name: &'a str,
    /// None: the broker's default.
    pub partitions: Option<u16>,
    pub replicas: Option<u16>,
    pub settings: &'a [(&'a str, &'a str)],
}

/// The report of a broker about its cluster.
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
    /// Negative if there is none.
    pub leader: i32,
    pub error: Option<RDKafkaErrorCode>,
}

/// Delivery reports waiting for the sink, and the last problem of the client.
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

    /// Takes the reports since the last call; waits up to `wait` for the first.
    pub(super) fn take(&self, wait: Duration) -> Vec<Report> {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() && !wait.is_zero() {
            self.arrived.wait_for(&mut waiting, wait);
        }
        std::mem::take(&mut waiting)
    }

    /// Records a connection problem. The client keeps trying.
    pub fn complain(&self, reason: &str) {
        // Cuts off how long it took and how often it happened, which differ each time.
        let gist = reason.split(" (after ").next().unwrap_or(reason);
        let mut complaint = self.complaint.lock();
        let same = complaint.as_ref().is_some_and(|(last, at)| last == gist && at.elapsed() < TELL_AGAIN);
        if !same {
            tracing::warn!("kafka: {gist}");
            *complaint = Some((gist.to_owned(), Instant::now()));
        }
    }

    /// The last connection problem.
    pub(super) fn complaint(&self) -> Option<String> {
        self.complaint.lock().as_ref().map(|(complaint, _)| complaint.clone())
    }

    /// No known broker can be reached.
    pub fn set_all_down(&self) {
        self.all_down.store(true, Ordering::Relaxed);
    }

    pub(super) fn are_all_down(&self) -> bool {
        self.all_down.load(Ordering::Relaxed)
    }
}

/// The cluster that sinks write to: the real one, or the simulation's.
pub(super) fn cluster() -> Arc<dyn KafkaCluster> {
    seine_simulation_hooks::outside::replacement::<Arc<dyn KafkaCluster>>().unwrap_or_else(|| Arc::new(Librdkafka))
}
