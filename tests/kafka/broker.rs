//! A real broker, and a reader of its topics.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{Offset, TopicPartitionList};

use crate::LONG;

/// One broker for all tests that do not disturb it. It ends with this process.
pub static BROKER: LazyLock<Broker> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap().keep();
    Broker::start(folder, &[])
});

pub struct Broker {
    pub folder: PathBuf,
    /// Stops the broker and removes its folder when its standard input closes.
    keeper: Child,
    pid: String,
    pub plain: String,
    /// SASL_SSL.
    pub secure: String,
}

/// A message as a reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub partition: i32,
    pub offset: i64,
    /// In milliseconds.
    pub timestamp: i64,
    pub key: String,
    /// Empty for a tombstone.
    pub value: Vec<u8>,
    pub is_tombstone: bool,
    pub headers: HashMap<String, String>,
}

impl Broker {
    /// In a folder that a broker may have used before. `settings`: server properties of a new broker, `key=value`.
    pub fn start(folder: PathBuf, settings: &[String]) -> Broker {
        let mut command = Broker::script();
        command.arg("start").arg(&folder).arg("remove").args(settings).stdin(Stdio::piped()).stdout(Stdio::piped());
        let keeper = command.spawn().expect("scripts/services/kafka runs");
        let mut broker = Broker { folder, keeper, pid: String::new(), plain: String::new(), secure: String::new() };
        for line in BufReader::new(broker.keeper.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            match line.split_once(' ') {
                Some(("plain", address)) => broker.plain = address.to_owned(),
                Some(("secure", address)) => broker.secure = address.to_owned(),
                Some(("pid", pid)) => broker.pid = pid.to_owned(),
                _ if line == "ready" => return broker,
                _ => {}
            }
        }
        panic!("no broker: type scripts/services/kafka install, and see above what it lacks");
    }

    pub fn script() -> Command {
        Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/services/kafka"))
    }

    pub fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.pid]).status().unwrap().success());
    }

    /// SIGKILL. Its folder stays, so that [`Broker::start`] can use it with the same ports.
    pub fn kill(mut self) -> PathBuf {
        self.signal("-KILL");
        let mut input = self.keeper.stdin.take().unwrap();
        input.write_all(b"keep\n").unwrap();
        drop(input);
        self.keeper.wait().unwrap();
        self.folder.clone()
    }

    /// Kills the broker and starts it again on the same ports.
    pub fn restart(self) -> Broker {
        Broker::start(self.kill(), &[])
    }

    /// The CA of its certificate.
    pub fn ca(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// Creates a topic with two partitions, and waits until it is served.
    pub fn make_topic(&self, name: &str, settings: &[(&str, &str)]) {
        self.make(NewTopic::new(name, 2, TopicReplication::Fixed(1)), name, settings);
    }

    /// Creates a topic with these brokers for each partition; the first of them is the leader.
    pub fn make_topic_on(&self, name: &str, brokers: &[&[i32]], settings: &[(&str, &str)]) {
        self.make(NewTopic::new(name, brokers.len() as i32, TopicReplication::Variable(brokers)), name, settings);
    }

    fn make(&self, topic: NewTopic<'_>, name: &str, settings: &[(&str, &str)]) {
        let topic = settings.iter().fold(topic, |topic, (key, value)| topic.set(key, value));
        let admin: AdminClient<DefaultClientContext> = self.client().create().unwrap();
        let options = AdminOptions::new().operation_timeout(Some(LONG));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(admin.create_topics(&[topic], &options)).unwrap().remove(0).unwrap();
        self.partitions(name);
    }

    /// Number of partitions, once each has a leader.
    pub fn partitions(&self, name: &str) -> usize {
        let consumer: BaseConsumer = self.client().create().unwrap();
        let started = Instant::now();
        loop {
            let metadata = consumer.fetch_metadata(Some(name), LONG).unwrap();
            let topic = &metadata.topics()[0];
            if topic.error().is_none()
                && !topic.partitions().is_empty()
                && topic.partitions().iter().all(|it| it.leader() >= 0)
            {
                return topic.partitions().len();
            }
            assert!(started.elapsed() < LONG, "{name} is not served");
        }
    }

    /// The broker that leads each partition of a topic.
    pub fn leaders(&self, name: &str) -> Vec<i32> {
        self.partitions(name);
        let consumer: BaseConsumer = self.client().create().unwrap();
        let metadata = consumer.fetch_metadata(Some(name), LONG).unwrap();
        metadata.topics()[0].partitions().iter().map(|partition| partition.leader()).collect()
    }

    /// Number of messages in a topic.
    pub fn count(&self, name: &str) -> i64 {
        let consumer: BaseConsumer = self.client().create().unwrap();
        let held = |partition| {
            let (low, high) = watermarks(&consumer, name, partition);
            high - low
        };
        (0..self.partitions(name) as i32).map(held).sum()
    }

    /// Everything in a topic.
    pub fn read(&self, name: &str) -> Vec<Seen> {
        let consumer: BaseConsumer = self.client().create().unwrap();
        let mut left = HashMap::new();
        let mut assigned = TopicPartitionList::new();
        for partition in 0..self.partitions(name) as i32 {
            let (low, high) = watermarks(&consumer, name, partition);
            left.insert(partition, high - low);
            assigned.add_partition_offset(name, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&assigned).unwrap();
        let started = Instant::now();
        let mut seen = Vec::new();
        while left.values().any(|count| *count > 0) {
            assert!(started.elapsed() < LONG, "{name} cannot be read: {left:?} are missing");
            let Some(message) = consumer.poll(Duration::from_millis(200)) else { continue };
            let message = message.unwrap();
            *left.get_mut(&message.partition()).unwrap() -= 1;
            let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap().to_vec()).unwrap();
            let headers = message.headers().unwrap();
            seen.push(Seen {
                partition: message.partition(),
                offset: message.offset(),
                timestamp: message.timestamp().to_millis().unwrap_or_default(),
                key: text(message.key()),
                value: message.payload().unwrap_or_default().to_vec(),
                is_tombstone: message.payload().is_none(),
                headers: headers.iter().map(|header| (header.key.to_owned(), text(header.value))).collect(),
            });
        }
        seen
    }

    fn client(&self) -> ClientConfig {
        let mut client = ClientConfig::new();
        client
            .set("bootstrap.servers", &self.plain)
            .set("group.id", "tests")
            .set("fetch.message.max.bytes", "50000000");
        client
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

impl Seen {
    pub fn id(&self) -> &str {
        &self.headers["event_id"]
    }
}

/// A partition's first offset and the next one. A broker that has just become its leader may deny that for a moment, so
/// this asks again, as clients do.
fn watermarks(consumer: &BaseConsumer, topic: &str, partition: i32) -> (i64, i64) {
    let started = Instant::now();
    loop {
        match consumer.fetch_watermarks(topic, partition, LONG) {
            Ok(offsets) => return offsets,
            Err(e) => assert!(started.elapsed() < LONG, "{topic}-{partition} has no offsets: {e}"),
        }
    }
}

/// How often each event occurs.
pub fn counted(seen: &[Seen]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for message in seen {
        *counts.entry(message.id()).or_default() += 1;
    }
    counts
}
