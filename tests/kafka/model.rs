//! Compares the simulation's model of a Kafka broker (`tests/simulate/destinations/kafka_model`) with a real one. The
//! same random and hand-written operations must have the same outcomes and leave the same messages.

#[path = "../simulate/destinations/kafka_model/mod.rs"]
mod kafka_model;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::message::{Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, NoCustomPartitioner, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use self::kafka_model::{Batch, Broker as Model, NewRecord, Record, partition_of};
use crate::LONG;
use crate::broker::{BROKER, Broker};

const SEQUENCES: u64 = 3;
const OPERATIONS: usize = 40;
const NAMES: [&str; 2] = ["one", "two"];

/// The outcome for a message.
type Told = Result<(i32, i64), Code>;

/// The reports on messages, by number.
#[derive(Default)]
struct Reports(Mutex<HashMap<usize, Told>>);

impl ClientContext for Reports {}

impl ProducerContext<NoCustomPartitioner> for Reports {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let told = match result {
            Ok(message) => Ok((message.partition(), message.offset())),
            Err((error, _)) => Err(code_of(error)),
        };
        self.0.lock().insert(number, told);
    }
}

/// For a deleted topic the producer first passes on the broker's error, then its own.
fn code_of(error: &KafkaError) -> Code {
    match error.rdkafka_error_code().unwrap_or(Code::Unknown) {
        Code::UnknownTopicOrPartition => Code::UnknownTopic,
        code => code,
    }
}

/// The real broker and the model.
struct Both {
    real: &'static Broker,
    admin: AdminClient<DefaultClientContext>,
    runtime: tokio::runtime::Runtime,
    model: Model,
    prefix: String,
    said: Vec<String>,
    sent: usize,
}

impl Both {
    fn new() -> Both {
        let real = &*BROKER;
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", &real.plain);
        let admin = client.create().expect("an admin client");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let model = Model::new("model".into());
        Both { real, admin, runtime, model, prefix: String::new(), said: Vec::new(), sent: 0 }
    }

    fn begin(&mut self, prefix: String) {
        self.prefix = prefix;
        self.model = Model::new("model".into());
        self.said.clear();
    }

    fn topic(&self, name: &str) -> String {
        format!("model-{}-{name}", self.prefix)
    }

    fn compare<T: std::fmt::Debug + PartialEq>(&mut self, did: String, real: T, model: T) {
        self.said.push(did);
        let last = &self.said[self.said.len().saturating_sub(8)..];
        assert_eq!(real, model, "left the real broker, right the model, after\n{}", last.join("\n"));
    }

    fn create(&mut self, name: &str, partitions: i32, replicas: i32, settings: &[(&str, &str)]) {
        let topic = self.topic(name);
        let new = NewTopic::new(&topic, partitions, TopicReplication::Fixed(replicas));
        let new = settings.iter().fold(new, |new, (name, value)| new.set(name, value));
        let made = self.runtime.block_on(self.admin.create_topics(&[new], &options()));
        let real = outcome(made);
        let count = (partitions >= 0).then_some(partitions as usize);
        let replicas_given = (replicas >= 0).then_some(replicas as u16);
        let model = self.model.create(&topic, count, replicas_given, settings).err();
        let created = real.is_none();
        self.compare(
            format!("create {topic}: {partitions} partitions, {replicas} replicas, {settings:?}"),
            real,
            model,
        );
        if created {
            self.real.partitions(&topic);
        }
    }

    fn delete(&mut self, name: &str) {
        let topic = self.topic(name);
        let real = outcome(self.runtime.block_on(self.admin.delete_topics(&[&topic], &options())));
        let model = self.model.delete(&topic).err();
        self.compare(format!("delete {topic}"), real, model);
        // The topic disappears from a request by name at once, and from a list of all topics a moment later.
        let consumer: BaseConsumer = self.client().create().expect("a consumer");
        let is_there = || consumer.fetch_metadata(None, LONG).unwrap().topics().iter().any(|it| it.name() == topic);
        let started = Instant::now();
        while is_there() {
            assert!(started.elapsed() < LONG, "{topic} stays");
        }
    }

    fn add_partitions(&mut self, name: &str, total: usize) {
        let topic = self.topic(name);
        let new = NewPartitions::new(&topic, total);
        let real = outcome(self.runtime.block_on(self.admin.create_partitions([&new], &options())));
        let model = self.model.add_partitions(&topic, total).err();
        let added = real.is_none();
        self.compare(format!("{topic} gets {total} partitions"), real, model);
        let started = Instant::now();
        while added && self.real.partitions(&topic) < total {
            assert!(started.elapsed() < LONG, "{topic} gets no more partitions");
        }
    }

    fn setting(&mut self, name: &str, setting: &str) {
        let topic = self.topic(name);
        let of = [ResourceSpecifier::Topic(&topic)];
        let asked = self.admin.describe_configs(&of, &options());
        let described = self.runtime.block_on(asked).expect("the broker answers").remove(0);
        let real = described.ok().and_then(|all| all.get(setting)?.value.clone());
        let model = self.model.topic_setting(&topic, setting);
        self.compare(format!("{setting} of {topic}"), real, model);
    }

    /// Sends messages one by one with a new producer, configured like the sink's but without lingering.
    fn produce(&mut self, name: &str, partition: Option<i32>, records: &[NewRecord]) {
        let topic = self.topic(name);
        let mut client = self.client();
        client.set("partitioner", "murmur2_random").set("message.max.bytes", "5000000").set("linger.ms", "0");
        client.set("allow.auto.create.topics", "false").set("topic.metadata.propagation.max.ms", "1000");
        let producer: ThreadedProducer<Reports> = client.create_with_context(Reports::default()).expect("a producer");
        for record in records {
            self.sent += 1;
            let real = send(&producer, &topic, partition, record, self.sent);
            let model = self.produce_in_model(&topic, partition, record);
            let did = format!(
                "to {topic}, {partition:?}: {} {:?}",
                String::from_utf8_lossy(&record.key),
                record.value.as_ref().map(Vec::len)
            );
            self.compare(did, real, model);
        }
    }

    fn produce_in_model(&mut self, topic: &str, partition: Option<i32>, record: &NewRecord) -> Told {
        let Some(count) = self.model.topics.get(topic).map(|topic| topic.partitions.len()) else {
            // As the producer reports it.
            return Err(Code::UnknownTopic);
        };
        let chosen = partition.map_or_else(|| partition_of(&record.key, count), |it| it as usize);
        if chosen >= count {
            return Err(Code::UnknownPartition);
        }
        let batch = Batch { producer: None, records: vec![record.clone()] };
        let offset = self.model.produce(topic, chosen, &batch, now_ms())?;
        Ok((chosen as i32, offset))
    }

    /// Compares everything that a reader from the beginning gets.
    fn compare_contents(&mut self, name: &str) {
        let topic = self.topic(name);
        let real = match self.model.topics.contains_key(&topic) {
            true => read(&self.client(), &topic, self.real.partitions(&topic)),
            false => BTreeMap::new(),
        };
        let mut model: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
        for (partition, record) in self.model.read(&topic) {
            model.entry(partition).or_default().push(record.clone());
        }
        self.compare(format!("all of {topic}"), real, model);
    }

    fn client(&self) -> ClientConfig {
        let mut client = ClientConfig::new();
        client.set("bootstrap.servers", &self.real.plain).set("group.id", "model");
        client
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(LONG)).operation_timeout(Some(LONG))
}

/// Why it was refused, if it was.
fn outcome(result: KafkaResult<Vec<Result<String, (String, Code)>>>) -> Option<Code> {
    let results = result.expect("the broker answers");
    results.into_iter().find_map(Result::err).map(|(_, code)| code)
}

fn send(
    producer: &ThreadedProducer<Reports>,
    topic: &str,
    partition: Option<i32>,
    record: &NewRecord,
    number: usize,
) -> Told {
    let mut headers = OwnedHeaders::new();
    for (key, value) in &record.headers {
        headers = headers.insert(Header { key, value: Some(value) });
    }
    let mut sent: BaseRecord<'_, [u8], [u8], usize> = BaseRecord::with_opaque_to(topic, number);
    sent = sent.headers(headers).timestamp(record.timestamp_ms);
    sent.key = (!record.key.is_empty()).then_some(record.key.as_slice());
    sent.payload = record.value.as_deref();
    sent.partition = partition;
    if let Err((error, _)) = producer.send(sent) {
        return Err(code_of(&error));
    }
    producer.flush(LONG).expect("the broker answers");
    producer.context().0.lock().remove(&number).expect("every message is reported on")
}

fn read(client: &ClientConfig, topic: &str, partitions: usize) -> BTreeMap<usize, Vec<Record>> {
    let consumer: BaseConsumer = client.clone().set("enable.partition.eof", "true").create().expect("a consumer");
    let mut assigned = TopicPartitionList::new();
    for partition in 0..partitions as i32 {
        assigned.add_partition_offset(topic, partition, Offset::Beginning).expect("a partition");
    }
    consumer.assign(&assigned).expect("an assignment");
    let (mut all, mut left): (BTreeMap<usize, Vec<Record>>, _) = (BTreeMap::new(), partitions);
    let started = Instant::now();
    while left > 0 {
        assert!(started.elapsed() < LONG, "{topic} cannot be read");
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => all.entry(message.partition() as usize).or_default().push(record_of(&message)),
            Some(Err(KafkaError::PartitionEOF(_))) => left -= 1,
            Some(Err(error)) => panic!("{error}"),
            None => {}
        }
    }
    all
}

fn record_of(message: &impl Message) -> Record {
    use rdkafka::message::Headers;
    let headers = message
        .headers()
        .map(|headers| headers.iter().map(|it| (it.key.to_owned(), it.value.unwrap_or_default().to_vec())).collect());
    Record {
        offset: message.offset(),
        timestamp_ms: message.timestamp().to_millis().unwrap_or_default(),
        key: message.key().unwrap_or_default().to_vec(),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_millis() as u64
}

fn record(random: &mut fastrand::Rng) -> NewRecord {
    let key = format!("http%3A%2F%2Fa.example%2F{}", random.u32(..12)).repeat(random.usize(1..3));
    let size = if random.u32(..12) == 0 { 1_100_000 } else { random.usize(..200) };
    let value: Vec<u8> = (0..size).map(|_| random.alphanumeric() as u8).collect();
    let day = 86_400_000;
    let timestamp_ms = match random.u32(..10) {
        0 => now_ms() - 400 * day,
        1 => now_ms() + 2 * day,
        _ => now_ms() - 1000,
    };
    NewRecord {
        timestamp_ms: timestamp_ms as i64,
        key: key.into_bytes(),
        value: (random.u32(..4) > 0).then_some(value),
        headers: vec![("event_id".into(), b"1".to_vec())],
    }
}

fn step(both: &mut Both, random: &mut fastrand::Rng) {
    let name = NAMES[random.usize(..NAMES.len())];
    let compacted =
        [("cleanup.policy", "compact"), ("delete.retention.ms", "604800000"), ("max.message.bytes", "2000000")];
    match random.u32(..24) {
        0 => both.create(name, 3, 1, &compacted),
        1 => both.create(name, random.i32(-1..4), 1, &[]),
        2 => both.create(name, 1, 7, &[]),
        3 => both.create(name, 1, 1, &[("cleanup.policy", "sometimes")]),
        4 => both.create(name, 1, 1, &[("no.such.setting", "1")]),
        5 => both.create("a/b", 1, 1, &[]),
        6 => both.create(name, 2, 1, &[("message.timestamp.before.max.ms", "86400000"), ("max.message.bytes", "1000")]),
        7 => both.delete(name),
        8..10 => both.add_partitions(name, random.usize(1..6)),
        10..13 => {
            let settings =
                ["cleanup.policy", "delete.retention.ms", "max.message.bytes", "message.timestamp.after.max.ms"];
            both.setting(name, settings[random.usize(..settings.len())]);
        }
        13 => both.produce(name, Some(random.i32(..4)), &[record(random)]),
        14 => {
            let keyless = NewRecord { key: Vec::new(), ..record(random) };
            both.produce(name, Some(0), &[keyless]);
        }
        _ => {
            let records: Vec<NewRecord> = (0..random.usize(1..8)).map(|_| record(random)).collect();
            both.produce(name, None, &records);
        }
    }
}

#[test]
fn the_model_does_as_a_broker_does() {
    let mut both = Both::new();
    for seed in 0..SEQUENCES {
        both.begin(seed.to_string());
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..OPERATIONS {
            step(&mut both, &mut random);
        }
        NAMES.iter().for_each(|name| both.compare_contents(name));
    }
}

/// After compaction the last message of each key is left, as by the broker's own cleaner.
#[test]
fn the_model_compacts_as_a_broker_does() {
    let settings = [format!("log.cleaner.backoff.ms={}", 100)];
    let broker = Broker::start(tempfile::tempdir().unwrap().keep(), &settings);
    let compacted = [
        ("cleanup.policy", "compact"),
        ("min.cleanable.dirty.ratio", "0.0"),
        ("segment.ms", "100"),
        ("delete.retention.ms", "0"),
        ("min.compaction.lag.ms", "0"),
    ];
    broker.make_topic("compacted", &compacted);
    let mut model = Model::new("model".into());
    model.create("compacted", Some(2), None, &compacted[..2]).expect("a topic");
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", &broker.plain).set("partitioner", "murmur2_random").set("group.id", "model");
    let producer: ThreadedProducer<Reports> = client.create_with_context(Reports::default()).expect("a producer");
    let mut random = fastrand::Rng::with_seed(7);
    let mut put = |number: usize, key: String, value: Option<Vec<u8>>| {
        let record = NewRecord { timestamp_ms: now_ms() as i64, key: key.into_bytes(), value, headers: Vec::new() };
        let (partition, offset) = send(&producer, "compacted", None, &record, number).expect("it is taken");
        assert_eq!(partition, partition_of(&record.key, 2) as i32);
        let batch = Batch { producer: None, records: vec![record] };
        assert_eq!(model.produce("compacted", partition as usize, &batch, now_ms()), Ok(offset));
    };
    for number in 0..60 {
        let is_there = random.u32(..3) > 0;
        put(number, format!("key-{}", random.u32(..9)), is_there.then(|| number.to_string().into_bytes()));
    }
    // A segment ends when another message follows. So each partition gets one final message.
    std::thread::sleep(Duration::from_millis(300));
    (0..)
        .map(|n| format!("last-{n}"))
        .filter(|key| partition_of(key.as_bytes(), 2) == 0)
        .take(1)
        .for_each(|key| put(100, key, Some(vec![1])));
    (0..)
        .map(|n| format!("last-{n}"))
        .filter(|key| partition_of(key.as_bytes(), 2) == 1)
        .take(1)
        .for_each(|key| put(101, key, Some(vec![1])));
    // Twice: a tombstone is removed when its time has passed since the first compaction.
    model.topics.get_mut("compacted").unwrap().settings.insert("delete.retention.ms".into(), "0".into());
    let topic = model.topics.get_mut("compacted").unwrap();
    topic.compact(now_ms());
    let pages = |all: &BTreeMap<usize, Vec<Record>>| -> Vec<(i64, Vec<u8>, Vec<u8>)> {
        let records = all.values().flatten();
        records.filter_map(|it| Some((it.offset, it.key.clone(), it.value.clone()?))).collect()
    };
    let mut left: BTreeMap<usize, Vec<Record>> = BTreeMap::new();
    for (partition, record) in model.read("compacted") {
        left.entry(partition).or_default().push(record.clone());
    }
    let started = Instant::now();
    loop {
        let found = read(&client, "compacted", 2);
        if pages(&found) == pages(&left) {
            break;
        }
        assert!(started.elapsed() < LONG, "left\n{:?}\nright\n{:?}", pages(&found), pages(&left));
        std::thread::sleep(Duration::from_millis(200));
    }
}
