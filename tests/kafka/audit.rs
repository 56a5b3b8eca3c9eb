//! An audit of a topic counts events, not messages.

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::LONG;
use crate::broker::{BROKER, Seen};
use crate::support::program::{Place, Process, Ran, run};
use crate::support::{Plan, TestSite};

fn send(topic: &str, messages: &[&Seen]) {
    let mut client = ClientConfig::new();
    let producer: BaseProducer = client.set("bootstrap.servers", &BROKER.plain).create().unwrap();
    for message in messages {
        let header = |headers: OwnedHeaders, (key, value): (&String, &String)| {
            headers.insert(Header { key, value: Some(value) })
        };
        let headers = message.headers.iter().fold(OwnedHeaders::new(), header);
        let mut record = BaseRecord::to(topic).key(&message.key).headers(headers);
        record.payload = (!message.is_tombstone).then_some(&message.value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(LONG).unwrap();
}

#[test]
fn a_message_that_is_there_twice_makes_up_for_none_that_is_lost() {
    BROKER.make_topic("audited", &[]);
    BROKER.make_topic("with-a-loss", &[]);
    let site = TestSite::start(Plan { pages: 40, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let to_topic = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "audited", "--kafka-servers", &BROKER.plain];
    Process::start(place.crawl(&site.seeds(), &to_topic)).wait().ok();
    let data = place.data();
    let audit = |more: &[&str]| -> Ran { run(&[&["audit", data.to_str().unwrap(), "--destinations"], more].concat()) };
    let whole = audit(&[]).ok();
    assert!(whole.stdout.contains("✓ at kafka by id"), "{}", whole.stdout);

    // As many messages as were delivered: one event is missing, another is there twice.
    let seen = BROKER.read("audited");
    let messages: Vec<&Seen> = seen[1..].iter().chain([&seen[1]]).collect();
    send("with-a-loss", &messages);
    assert_eq!(BROKER.count("with-a-loss"), seen.len() as i64);
    let ran = audit(&["--kafka-topic", "with-a-loss"]);
    let ran = ran.fails_naming(&["at kafka is off by 1 ", "at kafka by id is off by 1 "]);
    assert!(ran.stdout.contains("1 messages repeat an event"), "{}", ran.stdout);

    // The missing event arrives; messages of other programs do not count.
    send("with-a-loss", &[&seen[0]]);
    let mut theirs = seen[0].clone();
    theirs.headers.clear();
    send("with-a-loss", &[&theirs]);
    let ran = audit(&["--kafka-topic", "with-a-loss"]).ok();
    assert!(ran.stdout.contains("1 messages of the topic are not Seine's"), "{}", ran.stdout);
}
