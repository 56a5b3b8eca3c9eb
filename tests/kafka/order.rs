//! The order of messages with one key, which is a page's: the newest comes last.

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};
use seine::sinks::Sink;
use seine_parse::page::PageEvent;

use crate::broker::BROKER;
use crate::{LONG, entries, event, finish, html, kafka_config, noise, open};

/// The same page at another time.
fn version(number: u64, length: usize) -> PageEvent {
    PageEvent { url: "http://a.example/same".into(), ..html(number, &noise(number, length)) }
}

/// In the topic's only partition, the first of these events precedes the second.
fn check(servers: &str, topic: &str, older: u64, newer: u64) {
    let mut client = ClientConfig::new();
    let consumer: BaseConsumer =
        client.set("bootstrap.servers", servers).set("group.id", "order").create().expect("a consumer");
    let (low, high) = consumer.fetch_watermarks(topic, 0, LONG).unwrap();
    let mut assigned = TopicPartitionList::new();
    assigned.add_partition_offset(topic, 0, Offset::Offset(low)).unwrap();
    consumer.assign(&assigned).unwrap();
    let mut ids = Vec::new();
    while ids.len() < (high - low) as usize {
        let message = consumer.poll(LONG).expect("a message").expect("that can be read");
        let header = message.headers().unwrap().iter().find(|header| header.key == "event_id").unwrap();
        ids.push(String::from_utf8(header.value.unwrap().to_vec()).unwrap());
    }
    let last = |number: u64| ids.iter().rposition(|id| *id == event::id(number)).expect("it is there");
    assert!(last(older) < last(newer), "{ids:?}");
}

#[test]
fn what_is_refused_with_its_batch_stays_before_newer_messages_of_its_key() {
    BROKER.make_topic_on("ordered", &[&[1]], &[("max.message.bytes", "20000")]);
    let properties = "target_storage.data_format.kafka.properties";
    // The first two together exceed the topic's limit, but neither alone: they are sent again, one by one.
    let more = format!("{properties}.batch.num.messages: 2\n{properties}.linger.ms: 300\n");
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&BROKER.plain, "ordered", &more), folder.path()).unwrap();
    let other = |number: u64, length: usize| html(number, &noise(number, length));
    sink.deliver(&entries([version(0, 12_000), other(1, 12_000), version(2, 500), other(3, 500)])).unwrap();
    let delivered = finish(&mut sink, 4).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (4, 0));
    check(&BROKER.plain, "ordered", 0, 2);
}

#[test]
fn what_is_sent_again_stays_before_newer_messages_whatever_the_batches() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("t", 1, 1).unwrap();
    let properties = "target_storage.data_format.kafka.properties";
    let more = format!("{properties}.batch.num.messages: 1\n{properties}.linger.ms: 0\n");
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&cluster.bootstrap_servers(), "t", &more), folder.path()).unwrap();
    cluster.request_errors(RDKafkaApiKey::Produce, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE]);
    sink.deliver(&entries([version(0, 100), version(1, 100), version(2, 100)])).unwrap();
    assert_eq!(finish(&mut sink, 3).unwrap().delivered, 3);
    check(&cluster.bootstrap_servers(), "t", 0, 1);
    check(&cluster.bootstrap_servers(), "t", 1, 2);
}
