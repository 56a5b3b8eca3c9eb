//! A Kafka cluster at the end of a network, and librdkafka's producer on this side of it.
//!
//! The producer does what librdkafka does with the sink's properties. It knows the number of partitions for some minutes, waits
//! for a batch, and sends each message until it is acknowledged. Without `enable.idempotence`, a batch whose acknowledgement was
//! lost is sent again behind later batches.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use percent_encoding::percent_decode;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::message::Headers;
use tokio::time::sleep;

use seine::config::KafkaConfig;
use seine::sinks::kafka::cluster::{
    ClusterMetadata, KafkaCluster, KafkaLink, OutgoingMessage, PartitionMetadata, Report, Reports, SettingOf,
    TopicMetadata, TopicToCreate,
};
use seine_formats::Format;
use seine_formats::records::{ArchiveRecord, ReaderInput};
use seine_simulation_hooks::outside;
use seine_system::blocking;

use super::kafka_model::{Batch, Broker, NewRecord, partition_of};
use super::mishaps::Mishaps;
use super::{TrueTime, files, note};
use crate::world::{Change, Done, Held, Trouble};

/// Time between two queries of the topic's partitions (`topic.metadata.refresh.interval.ms`).
const METADATA_MS: u64 = 300_000;
/// How long to wait for a missing topic (`topic.metadata.propagation.max.ms`).
const PROPAGATION: Duration = Duration::from_secs(30);
/// When to give up a request without an answer (`request.timeout.ms`, `socket.timeout.ms`).
const REQUEST: Duration = Duration::from_secs(30);
const BATCH_BYTES: usize = 1_000_000;
const ID: i32 = 1;

pub struct Kafka(Arc<Shared>);

struct Shared {
    clock: TrueTime,
    state: Mutex<State>,
}

struct State {
    broker: Broker,
    mishaps: Mishaps,
    chance: fastrand::Rng,
    log: Vec<Change>,
    /// Messages that were refused for good.
    refused: Vec<Change>,
}

/// One producer.
struct Link(Arc<Producer>);

struct Producer {
    shared: Arc<Shared>,
    reports: Arc<Reports>,
    number: u64,
    is_idempotent: bool,
    makes_topics: bool,
    largest: usize,
    room: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    is_sending: bool,
    is_closed: bool,
    /// The number of partitions, and when it was asked for.
    partitions: Option<(usize, u64)>,
    /// The sequence number of the next batch, by partition.
    batches: HashMap<usize, u64>,
}

#[derive(Clone)]
struct Waiting {
    topic: String,
    partition: Option<i32>,
    sequence: usize,
    record: NewRecord,
}

/// How an attempt to deliver a batch ended.
enum Sent {
    Done,
    /// The batch is sent again at once.
    Again,
    /// The messages are queued again, behind all others.
    Later,
    /// The broker rejected the messages for good.
    Refused(Code),
    /// The broker rejected the batch, because of these messages.
    Invalid(Vec<bool>),
}

impl Kafka {
    pub fn new(seed: u64, clock: TrueTime) -> Kafka {
        let state = State {
            broker: Broker::new(format!("model-{seed}")),
            mishaps: Mishaps::default(),
            chance: fastrand::Rng::with_seed(seed ^ 0x0ca7),
            log: Vec::new(),
            refused: Vec::new(),
        };
        Kafka(Arc::new(Shared { clock, state: Mutex::new(state) }))
    }

    pub fn happen(&self, trouble: &Trouble, topic: &str, now_ms: u64) {
        let state = &mut *self.0.state.lock();
        if state.mishaps.begin(trouble, now_ms) {
            return;
        }
        let State { broker, chance, .. } = state;
        match trouble {
            Trouble::Emptied => {
                if let Some(topic) = broker.topics.get_mut(topic) {
                    topic.clear();
                }
            }
            Trouble::Replaced => *broker = Broker::new(format!("model-{}", chance.u64(..))),
            Trouble::Recreated if broker.delete(topic).is_ok() => {
                let _ = broker.create(topic, Some(chance.usize(1..6)), None, &[]);
            }
            Trouble::PartitionsAdded(more) => {
                let now = broker.topics.get(topic).map_or(0, |topic| topic.partitions.len());
                let _ = broker.add_partitions(topic, now + *more as usize);
            }
            Trouble::Compacted => {
                if let Some(topic) = broker.topics.get_mut(topic) {
                    topic.compact(now_ms);
                }
            }
            _ => {}
        }
    }

    /// The last message of each key in each partition. A reader of two partitions cannot tell which of two messages is newer.
    pub fn contents(&self, topic: &str) -> BTreeMap<String, Held> {
        let broker = &self.0.state.lock().broker;
        let mut last = HashMap::new();
        for (partition, record) in broker.read(topic) {
            last.insert((partition, record.key.as_slice()), record);
        }
        let mut all = BTreeMap::new();
        for ((_, key), record) in last {
            if let Done::Delivered { fetched_ms, digest } = what(&record.headers, record.value.as_deref()) {
                note(&mut all, url_of(key), Held { body_digest: digest, fetched_ms });
            }
        }
        all
    }

    pub fn log(&self) -> Vec<Change> {
        self.0.state.lock().log.clone()
    }

    pub fn refused(&self) -> Vec<Change> {
        self.0.state.lock().refused.clone()
    }
}

impl KafkaCluster for Kafka {
    fn connect(&self, config: &KafkaConfig, reports: &Arc<Reports>) -> KafkaResult<Box<dyn KafkaLink>> {
        let property = |name: &str| config.properties.get(name).map(|value| value.expose().trim().to_owned());
        let number = |name: &str, default: usize| property(name).and_then(|it| it.parse().ok()).unwrap_or(default);
        let is = |name: &str, default: bool| property(name).map_or(default, |value| value == "true");
        Ok(Box::new(Link(Arc::new(Producer {
            shared: self.0.clone(),
            reports: reports.clone(),
            number: self.0.state.lock().broker.new_producer(),
            is_idempotent: is("enable.idempotence", false),
            makes_topics: is("allow.auto.create.topics", true),
            largest: number("message.max.bytes", 1_000_000),
            room: number("queue.buffering.max.kbytes", 1 << 20) << 10,
            queue: Mutex::default(),
        }))))
    }
}

impl KafkaLink for Link {
    fn send(&self, message: OutgoingMessage<'_>) -> Result<(), Code> {
        if outside::is_dead() {
            return Ok(());
        }
        let headers = message.headers.iter();
        let record = NewRecord {
            timestamp_ms: message.timestamp_ms.unwrap_or(self.0.shared.clock.now_ms() as i64),
            key: message.key.as_bytes().to_vec(),
            value: message.value.map(<[u8]>::to_vec),
            headers: headers.map(|it| (it.key.to_owned(), it.value.unwrap_or_default().to_vec())).collect(),
        };
        let size = record.size();
        let queue = &mut *self.0.queue.lock();
        if size > self.0.largest {
            return Err(Code::MessageSizeTooLarge);
        }
        if queue.bytes > 0 && queue.bytes + size > self.0.room {
            return Err(Code::QueueFull);
        }
        queue.bytes += size;
        let OutgoingMessage { topic, partition, sequence, .. } = message;
        queue.waiting.push_back(Waiting { topic: topic.to_owned(), partition, sequence, record });
        if !std::mem::replace(&mut queue.is_sending, true) {
            tokio::spawn(send_all(self.0.clone()));
        }
        Ok(())
    }

    fn fatal_error(&self) -> Option<(Code, String)> {
        None
    }

    fn metadata(&self, topic: Option<&str>, patience: Duration) -> KafkaResult<ClusterMetadata> {
        self.0.shared.ask(patience, &self.0.reports).map_err(KafkaError::MetadataFetch)?;
        let broker = &mut self.0.shared.state.lock().broker;
        if let Some(topic) = topic.filter(|_| self.0.makes_topics) {
            broker.create_by_itself(topic);
        }
        let shown = |name: &String, partitions: usize| TopicMetadata {
            name: name.clone(),
            error: None,
            partitions: (0..partitions as i32).map(|id| PartitionMetadata { id, leader: ID, error: None }).collect(),
        };
        let wanted = broker.topics.iter().filter(|(name, _)| topic.is_none_or(|topic| topic == name.as_str()));
        let mut topics: Vec<TopicMetadata> = wanted.map(|(name, it)| shown(name, it.partitions.len())).collect();
        if let Some(topic) = topic.filter(|_| topics.is_empty()) {
            let error = Some(Code::UnknownTopicOrPartition);
            topics.push(TopicMetadata { name: topic.to_owned(), error, partitions: Vec::new() });
        }
        Ok(ClusterMetadata { brokers: vec![ID], topics })
    }

    fn end(&self, topic: &str, partition: i32, patience: Duration) -> KafkaResult<i64> {
        self.0.shared.ask(patience, &self.0.reports).map_err(KafkaError::MetadataFetch)?;
        let broker = &self.0.shared.state.lock().broker;
        let found = broker.topics.get(topic).and_then(|topic| topic.partitions.get(partition as usize));
        found.map(|it| it.next_offset).ok_or(KafkaError::MetadataFetch(Code::UnknownTopicOrPartition))
    }

    fn setting(&self, of: SettingOf<'_>, name: &str) -> Option<String> {
        self.0.shared.ask(Duration::from_secs(10), &self.0.reports).ok()?;
        let broker = &self.0.shared.state.lock().broker;
        match of {
            SettingOf::Broker(_) => (name == "auto.create.topics.enable").then(|| broker.auto_create.to_string()),
            SettingOf::Topic(topic) => broker.topic_setting(topic, name),
        }
    }

    fn create_topic(&self, topic: &TopicToCreate<'_>) -> KafkaResult<Option<Code>> {
        self.0.shared.ask(Duration::from_secs(10), &self.0.reports).map_err(KafkaError::AdminOp)?;
        let broker = &mut self.0.shared.state.lock().broker;
        let partitions = topic.partitions.map(usize::from);
        Ok(broker.create(topic.name, partitions, topic.replicas, topic.settings).err())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.0.queue.lock().is_closed = true;
    }
}

impl Shared {
    /// Asks a question and blocks the caller's thread. An error: there was no answer in time.
    fn ask(&self, patience: Duration, reports: &Reports) -> Result<(), Code> {
        let (away, delay) = {
            let state = &mut *self.state.lock();
            let now = self.clock.now_ms();
            let delay = Duration::from_millis(state.chance.u64(2..20) + state.mishaps.late(now));
            (state.mishaps.away(now).is_some(), delay)
        };
        if away {
            reports.complain("model: Connect to the broker failed: Connection refused");
            reports.set_all_down();
            blocking::sleep(patience.min(Duration::from_millis(200)));
            return Err(Code::BrokerTransportFailure);
        }
        blocking::sleep(patience.min(delay));
        if delay > patience { Err(Code::OperationTimedOut) } else { Ok(()) }
    }
}

/// Sends queued messages until none is left.
async fn send_all(producer: Arc<Producer>) {
    loop {
        sleep(Duration::from_millis(20)).await;
        let taken = {
            let queue = &mut *producer.queue.lock();
            if queue.waiting.is_empty() || queue.is_closed {
                queue.is_sending = false;
                return;
            }
            std::mem::take(&mut queue.waiting)
        };
        for (topic, messages) in by_topic(taken) {
            producer.send_to(&topic, messages).await;
        }
    }
}

fn by_topic(messages: VecDeque<Waiting>) -> BTreeMap<String, Vec<Waiting>> {
    let mut topics: BTreeMap<String, Vec<Waiting>> = BTreeMap::new();
    for message in messages {
        topics.entry(message.topic.clone()).or_default().push(message);
    }
    topics
}

impl Producer {
    async fn send_to(&self, topic: &str, messages: Vec<Waiting>) {
        let Some(count) = self.partitions(topic).await else {
            return messages.iter().for_each(|message| self.report(message, Err(Code::UnknownTopic)));
        };
        let mut partitions: BTreeMap<usize, Vec<Waiting>> = BTreeMap::new();
        for message in messages {
            let chosen = message.partition.map_or_else(|| partition_of(&message.record.key, count), |it| it as usize);
            match chosen < count {
                true => partitions.entry(chosen).or_default().push(message),
                false => self.report(&message, Err(Code::UnknownPartition)),
            }
        }
        let mut partitions: Vec<(usize, Vec<Waiting>)> = partitions.into_iter().collect();
        self.shared.state.lock().chance.shuffle(&mut partitions);
        for (partition, messages) in partitions {
            for batch in batches(messages) {
                self.deliver(topic, partition, batch).await;
            }
        }
    }

    /// The number of the topic's partitions as the producer knows it. None: there is no such topic.
    async fn partitions(&self, topic: &str) -> Option<usize> {
        let mut waited = false;
        loop {
            if self.is_closed() {
                return Some(1);
            }
            let now = self.shared.clock.now_ms();
            let known = self.queue.lock().partitions.filter(|(_, asked)| now < asked + METADATA_MS);
            if let Some((count, _)) = known {
                return Some(count);
            }
            self.reach().await;
            let found = {
                let broker = &mut self.shared.state.lock().broker;
                if self.makes_topics {
                    broker.create_by_itself(topic);
                }
                broker.topics.get(topic).map(|topic| topic.partitions.len())
            };
            match found {
                Some(count) => self.queue.lock().partitions = Some((count, self.shared.clock.now_ms())),
                None if waited => return None,
                None => {
                    waited = true;
                    sleep(PROPAGATION).await;
                }
            }
        }
    }

    /// Waits until the broker can be reached, then for the network's latency.
    async fn reach(&self) {
        loop {
            let (away, delay) = {
                let state = &mut *self.shared.state.lock();
                let now = self.shared.clock.now_ms();
                let away = state.mishaps.away(now).map(|until| until - now + state.chance.u64(100..10_000));
                (away, state.chance.u64(1..10) + state.mishaps.late(now) / 2)
            };
            let Some(away) = away else { return sleep(Duration::from_millis(delay)).await };
            self.reports.complain("model: Connect to the broker failed: Connection refused");
            self.reports.set_all_down();
            sleep(Duration::from_millis(away)).await;
        }
    }

    fn is_closed(&self) -> bool {
        self.queue.lock().is_closed || outside::is_dead()
    }

    async fn deliver(&self, topic: &str, partition: usize, messages: Vec<Waiting>) {
        let number = {
            let queue = &mut *self.queue.lock();
            let next = queue.batches.entry(partition).or_default();
            *next += 1;
            *next
        };
        let producer = self.is_idempotent.then_some((self.number, number));
        let batch = Batch { producer, records: messages.iter().map(|message| message.record.clone()).collect() };
        loop {
            match self.try_once(topic, partition, &batch, &messages).await {
                Sent::Done => return,
                Sent::Again => {}
                Sent::Refused(code) => {
                    self.gives_back(partition);
                    return messages.iter().for_each(|message| self.report(message, Err(code)));
                }
                Sent::Invalid(which) => {
                    self.gives_back(partition);
                    let code = |is_invalid| if is_invalid { Code::InvalidRecord } else { Code::InvalidDifferentRecord };
                    return messages.iter().zip(which).for_each(|(it, which)| self.report(it, Err(code(which))));
                }
                Sent::Later => {
                    self.gives_back(partition);
                    return self.queue.lock().waiting.extend(messages);
                }
            }
        }
    }

    /// The broker has not counted the last batch. So the next batch of an idempotent producer gets the same sequence number, as in
    /// librdkafka, which begins a new epoch then.
    fn gives_back(&self, partition: usize) {
        if let Some(number) = self.queue.lock().batches.get_mut(&partition) {
            *number -= 1;
        }
    }

    async fn try_once(&self, topic: &str, partition: usize, batch: &Batch, messages: &[Waiting]) -> Sent {
        self.reach().await;
        if self.is_closed() {
            return Sent::Done;
        }
        let now = self.shared.clock.now_ms();
        let (refused, invalid, appended, is_lost, back) = {
            let state = &mut *self.shared.state.lock();
            let refused = state.mishaps.refused(now);
            let away = state.mishaps.away(now);
            let invalid = if refused.is_none() && away.is_none() { state.reject(batch, now) } else { None };
            let appended = match (refused, away) {
                (None, None) if invalid.is_none() => Some(state.append(topic, partition, batch, now)),
                _ => None,
            };
            let is_lost = state.mishaps.loses(now) && state.chance.u32(..3) > 0;
            let back = Duration::from_millis(state.chance.u64(1..10) + state.mishaps.late(now) / 2);
            (refused, invalid, appended, is_lost || back > REQUEST, back)
        };
        if let Some(which) = invalid {
            sleep(back).await;
            return Sent::Invalid(which);
        }
        match (refused, appended) {
            (Some((401 | 403, _)), _) => {
                sleep(back).await;
                Sent::Refused(Code::TopicAuthorizationFailed)
            }
            // NOT_ENOUGH_REPLICAS, say: the producer tries again.
            (Some((_, until)), _) => {
                sleep(Duration::from_millis(until.saturating_sub(now).min(1000))).await;
                Sent::Again
            }
            (None, None) => Sent::Again,
            (None, Some(_)) if is_lost => {
                sleep(REQUEST).await;
                if self.is_idempotent { Sent::Again } else { Sent::Later }
            }
            (None, Some(Ok(first))) => {
                sleep(back).await;
                for (nth, message) in messages.iter().enumerate() {
                    self.report(message, Ok(Some((partition as i32, first + nth as i64))));
                }
                Sent::Done
            }
            (None, Some(Err(Code::UnknownTopicOrPartition))) => {
                self.queue.lock().partitions = None;
                Sent::Later
            }
            (None, Some(Err(code))) => {
                sleep(back).await;
                Sent::Refused(code)
            }
        }
    }

    fn report(&self, message: &Waiting, delivered: Result<Option<(i32, i64)>, Code>) {
        {
            let queue = &mut *self.queue.lock();
            if queue.is_closed {
                return;
            }
            queue.bytes = queue.bytes.saturating_sub(message.record.size());
        }
        if !outside::is_dead() {
            self.reports.add(Report { sequence: message.sequence, delivered });
        }
    }
}

impl State {
    /// Which records of a batch are refused for good; none if none is. Tombstones are not.
    fn reject(&mut self, batch: &Batch, now_ms: u64) -> Option<Vec<bool>> {
        let is_one = |it: &NewRecord| it.value.is_some() && self.mishaps.rejects(&it.key, now_ms);
        let which: Vec<bool> = batch.records.iter().map(is_one).collect();
        let refused = batch.records.iter().zip(&which).filter(|(_, is_refused)| **is_refused);
        self.refused.extend(refused.map(|(it, _)| change(it, now_ms)));
        which.contains(&true).then_some(which)
    }

    fn append(&mut self, topic: &str, partition: usize, batch: &Batch, now_ms: u64) -> Result<i64, Code> {
        let next = |broker: &Broker| Some(broker.topics.get(topic)?.partitions.get(partition)?.next_offset);
        let before = next(&self.broker);
        let first = self.broker.produce(topic, partition, batch, now_ms)?;
        // The broker keeps only one copy of a batch that an idempotent producer repeats.
        if before != next(&self.broker) {
            for record in &batch.records {
                // A tombstone for the old partition; the page is in its new one already.
                if record.headers.iter().any(|(name, value)| name == "change" && value == b"moved") {
                    continue;
                }
                self.log.push(change(record, now_ms));
            }
        }
        Ok(first)
    }
}

fn batches(messages: Vec<Waiting>) -> Vec<Vec<Waiting>> {
    let mut all: Vec<Vec<Waiting>> = Vec::new();
    let mut bytes = usize::MAX;
    for message in messages {
        let size = message.record.size();
        if bytes.saturating_add(size) > BATCH_BYTES {
            all.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        all.last_mut().expect("one was just pushed").push(message);
    }
    all
}

fn change(record: &NewRecord, at_ms: u64) -> Change {
    Change { at_ms, url: url_of(&record.key), what: what(&record.headers, record.value.as_deref()) }
}

/// The change of a page that a message announces.
fn what(headers: &[(String, Vec<u8>)], value: Option<&[u8]>) -> Done {
    let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_slice());
    let made = || seine_system::clock::time_of(std::str::from_utf8(header("event_id")?).ok()?);
    let gone = Done::Removed { fetched_ms: made().unwrap_or_default() };
    let format = header("schema").and_then(Format::of_schema);
    let (Some(value), Some(format)) = (value, format) else { return gone };
    let mut reader = (format.reader)(ReaderInput::alone(value.to_vec())).expect("a reader of bytes in memory");
    match reader.next() {
        Some(ArchiveRecord::Page(event)) => {
            let Held { body_digest: digest, fetched_ms } = files::held(&event);
            Done::Delivered { fetched_ms, digest }
        }
        _ => gone,
    }
}

fn url_of(key: &[u8]) -> String {
    // In the encoding of HTML forms.
    let key: Vec<u8> = key.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&key).decode_utf8_lossy().into_owned()
}
