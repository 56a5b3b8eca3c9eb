//! The connection to Kafka: the producer and its delivery reports, and what is asked of the broker about the topic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::{Client, DefaultClientContext};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::metadata::{Metadata, MetadataTopic};
use rdkafka::producer::{DeliveryResult, NoCustomPartitioner, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, ClientContext};

use super::sink::SinkError;
use crate::config::KafkaConfig;
use crate::shutdown::Shutdown;

pub(super) const REMADE: &str = "the producer is made anew and goes on from the last acknowledged page";
/// For one question to the broker.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// After each of these, a look whether there is anybody to answer.
const SLICE: Duration = Duration::from_secs(1);
/// Around the messages of a batch.
const BATCH_OVERHEAD: u64 = 64 << 10;
/// `max.message.bytes` of a topic for which nothing is said.
const KAFKA_DEFAULT: u64 = 1_048_588;
/// Of a topic that is made: it keeps the last message of each page, for as long as the page is there. Readers who were away
/// for up to a week still meet the tombstones.
const COMPACTED: [(&str, &str); 2] = [("cleanup.policy", "compact"), ("delete.retention.ms", "604800000")];
/// The same trouble is told again after so long.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// librdkafka's producer, which reports on every message by its number, in a thread of its own.
pub(super) type KafkaProducer = ThreadedProducer<Reports>;

/// What became of a message.
pub(super) struct Report {
    pub sequence: usize,
    /// Partition and offset, where the broker told, or why it has it not; every broker that must have it has it.
    pub delivered: Result<Option<(i32, i64)>, RDKafkaErrorCode>,
}

/// Where reports wait for the sink, and what the client last complained of.
#[derive(Default)]
pub(super) struct Reports {
    waiting: Mutex<Vec<Report>>,
    arrived: Condvar,
    complaint: Mutex<Option<(String, Instant)>>,
    /// Every broker known was tried and cannot be reached.
    all_down: AtomicBool,
}

impl Reports {
    /// The reports that came since the last call; waits up to `wait` for the first.
    pub fn take(&self, wait: Duration) -> Vec<Report> {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() && !wait.is_zero() {
            self.arrived.wait_for(&mut waiting, wait);
        }
        std::mem::take(&mut waiting)
    }

    /// What went wrong last with a connection.
    pub fn complaint(&self) -> Option<String> {
        self.complaint.lock().as_ref().map(|(complaint, _)| complaint.clone())
    }
}

impl ClientContext for Reports {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, "librdkafka: {message}");
    }

    /// librdkafka goes on trying after each of these.
    fn error(&self, error: KafkaError, reason: &str) {
        if code_of(&error) == RDKafkaErrorCode::AllBrokersDown {
            // Why each is down has been told.
            return self.all_down.store(true, Ordering::Relaxed);
        }
        // Behind it stands how long it took and how often it came.
        let gist = reason.split(" (after ").next().unwrap_or(reason);
        let mut complaint = self.complaint.lock();
        let same = complaint.as_ref().is_some_and(|(last, at)| last == gist && at.elapsed() < TELL_AGAIN);
        if !same {
            tracing::warn!("kafka: {gist}");
            *complaint = Some((gist.to_owned(), Instant::now()));
        }
    }

    fn stats_raw(&self, _json: &[u8]) {}
}

impl ProducerContext<NoCustomPartitioner> for Reports {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, sequence: usize) {
        let delivered = match result {
            // Nobody tells the offset where nobody acknowledges.
            Ok(message) => Ok(Some((message.partition(), message.offset())).filter(|(_, offset)| *offset >= 0)),
            Err((error, _)) => Err(code_of(error)),
        };
        self.waiting.lock().push(Report { sequence, delivered });
        self.arrived.notify_one();
    }
}

pub(super) fn code_of(error: &KafkaError) -> RDKafkaErrorCode {
    error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown)
}

/// A producer whose topic is there. No answer is waited for once the process hurries to its end.
pub(super) fn connect(config: &KafkaConfig, shutdown: &Shutdown) -> Result<KafkaProducer, SinkError> {
    let client = client_config(config);
    let producer = new_producer(config).map_err(|e| {
        trouble(format!("no producer can be made: {e}"), "correct target_storage.data_format.kafka.properties")
    })?;
    if !has_topic(producer.client(), config, shutdown)? {
        match config.create_topic || brokers_make_topics(&client, producer.client(), shutdown) {
            true => create_topic(&client, config)?,
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

/// Whether a broker answers and every partition of the topic has a leader. Asked through a connection of its own: the
/// producer's may be what is stuck.
pub(super) fn could_deliver(config: &KafkaConfig, shutdown: &Shutdown) -> bool {
    let metadata = new_producer(config).and_then(|it| fetch_metadata(it.client(), Some(&config.topic), shutdown));
    let Ok(metadata) = metadata else { return false };
    let leads = |topic: &MetadataTopic| {
        topic.error().is_none() && topic.partitions().iter().all(|it| it.error().is_none() && it.leader() >= 0)
    };
    metadata.topics().iter().all(leads)
}

/// The topic's `max.message.bytes`: how large a batch may be, compressed. None when the broker does not tell.
pub(super) fn topic_limit(config: &KafkaConfig) -> Option<u64> {
    setting(&client_config(config), ResourceSpecifier::Topic(&config.topic), "max.message.bytes")?.parse().ok()
}

/// As the broker describes it; none when it does not tell.
fn setting(client: &ClientConfig, of: ResourceSpecifier<'_>, name: &str) -> Option<String> {
    let admin: AdminClient<DefaultClientContext> = client.create().ok()?;
    let described = wait(admin.describe_configs(&[of], &admin_options())).ok()?;
    described.into_iter().next()?.ok()?.get(name)?.value.clone()
}

/// An error when the broker does not show the topic.
pub(super) fn require_topic(config: &KafkaConfig, shutdown: &Shutdown) -> Result<(), SinkError> {
    let producer = new_producer(config)
        .map_err(|error| trouble(format!("no client can be made: {error}"), "correct its properties"))?;
    match has_topic(producer.client(), config, shutdown)? {
        true => Ok(()),
        false => Err(trouble(format!("the broker shows no topic {}", config.topic), "name the crawl's own brokers")),
    }
}

pub(super) fn trouble(problem: String, remedy: &'static str) -> SinkError {
    SinkError::Other { sink: "kafka", problem, remedy }
}

pub(super) fn client_config(config: &KafkaConfig) -> ClientConfig {
    let mut client = ClientConfig::new();
    for (name, value) in &config.properties {
        client.set(name, value.expose());
    }
    client
}

fn new_producer(config: &KafkaConfig) -> KafkaResult<KafkaProducer> {
    client_config(config).create_with_context(Reports::default())
}

/// Asks for all topics: asked for one by name, a broker may make it.
fn has_topic(client: &Client<Reports>, config: &KafkaConfig, shutdown: &Shutdown) -> Result<bool, SinkError> {
    let topic = &config.topic;
    let metadata =
        fetch_metadata(client, None, shutdown).map_err(|error| no_answer(client.context(), config, &error))?;
    match metadata.topics().iter().find(|it| it.name() == topic).map(|it| it.error()) {
        Some(None) => Ok(true),
        Some(Some(error)) => Err(trouble(
            format!("topic {topic}: {}", RDKafkaErrorCode::from(error)),
            "let this user write to it (ACL WRITE and DESCRIBE)",
        )),
        None => Ok(false),
    }
}

/// Whether the brokers would make a topic that they are asked for (`auto.create.topics.enable`). Whoever wrote to them before
/// did not have to say more, and here it is made with a limit that fits. False when they do not tell.
fn brokers_make_topics(config: &ClientConfig, client: &Client<Reports>, shutdown: &Shutdown) -> bool {
    let Ok(metadata) = fetch_metadata(client, None, shutdown) else { return false };
    let Some(broker) = metadata.brokers().first().map(|broker| broker.id()) else { return false };
    let setting = setting(config, ResourceSpecifier::Broker(broker), "auto.create.topics.enable");
    setting.is_some_and(|value| value.trim() == "true")
}

fn fetch_metadata(client: &Client<Reports>, topic: Option<&str>, shutdown: &Shutdown) -> KafkaResult<Metadata> {
    let started = Instant::now();
    loop {
        let answer = client.fetch_metadata(topic, SLICE);
        let give_up =
            client.context().all_down.load(Ordering::Relaxed) || shutdown.is_hurrying() || started.elapsed() >= ANSWER;
        if answer.is_ok() || give_up {
            return answer;
        }
    }
}

fn no_answer(context: &Arc<Reports>, config: &KafkaConfig, error: &KafkaError) -> SinkError {
    let servers = config.properties.get("bootstrap.servers").map_or("", |it| it.expose());
    let why = context.complaint().unwrap_or_else(|| error.to_string());
    trouble(
        format!("no broker answers at {servers}: {why}"),
        "start it, or correct target_storage.data_format.kafka.properties; delivery is tried again",
    )
}

fn create_topic(client: &ClientConfig, config: &KafkaConfig) -> Result<(), SinkError> {
    let failed = |why: String| {
        trouble(
            format!("topic {} cannot be made: {why}", config.topic),
            "create it by hand, or correct partitions and replication_factor",
        )
    };
    // -1 is the broker's default.
    let partitions = config.partitions.map_or(-1, i32::from);
    let replicas = config.replication_factor.map_or(-1, i32::from);
    let admin: AdminClient<DefaultClientContext> = client.create().map_err(|e| failed(e.to_string()))?;
    let largest = largest_batch(config).to_string();
    let plain = || NewTopic::new(&config.topic, partitions, TopicReplication::Fixed(replicas));
    let make = |topic| -> KafkaResult<Option<RDKafkaErrorCode>> {
        let made = wait(admin.create_topics(&[topic], &admin_options()))?;
        Ok(made.into_iter().find_map(Result::err).map(|(_, code)| code))
    };
    let topic = COMPACTED.iter().fold(plain(), |topic, (name, value)| topic.set(name, value));
    let mut refused = make(topic.set("max.message.bytes", &largest)).map_err(|e| failed(e.to_string()))?;
    if let Some(RDKafkaErrorCode::InvalidConfig | RDKafkaErrorCode::PolicyViolation) = refused {
        tracing::warn!(
            topic = config.topic,
            largest,
            "kafka: the broker lets nobody set max.message.bytes or cleanup.policy; its own hold"
        );
        refused = make(plain()).map_err(|e| failed(e.to_string()))?;
    }
    match refused {
        None => tracing::info!(topic = config.topic, largest, "kafka: made the topic"),
        Some(RDKafkaErrorCode::TopicAlreadyExists) => {}
        Some(code) => return Err(failed(code.to_string())),
    }
    Ok(())
}

/// What a topic must take for every message of ours: a broker's default is 1 MB, and a page of 3 MB is a message of 4 MB.
fn largest_batch(config: &KafkaConfig) -> u64 {
    let message = config.properties.get("message.max.bytes").and_then(|it| it.expose().trim().parse::<u64>().ok());
    message.unwrap_or_default().saturating_add(BATCH_OVERHEAD).clamp(KAFKA_DEFAULT, i32::MAX as u64)
}

fn admin_options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ANSWER)).operation_timeout(Some(ANSWER))
}

/// What a message that failed for good, or a queue that took it not, says of the producer.
pub(super) fn failure(producer: &KafkaProducer, topic: &str, error: &KafkaError) -> SinkError {
    match (producer.client().fatal_error(), code_of(error)) {
        (Some((code, reason)), _) => trouble(format!("{code}: {reason}"), REMADE),
        (None, RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownTopicOrPartition) => trouble(
            format!("topic {topic} is gone"),
            "create it, or set target_storage.data_format.kafka.create_topic: true",
        ),
        (None, code) => trouble(code.to_string(), REMADE),
    }
}

/// Waits for an answer, which a thread of librdkafka's brings.
fn wait<T>(answer: impl Future<Output = KafkaResult<T>>) -> KafkaResult<T> {
    match tokio::runtime::Builder::new_current_thread().build() {
        Ok(runtime) => runtime.block_on(answer),
        Err(error) => Err(KafkaError::ClientCreation(error.to_string())),
    }
}
