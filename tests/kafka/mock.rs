//! A broker that misbehaves as the test tells it.

use std::time::{Duration, Instant};

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use seine::sinks::{Sink, dead_letters};

use crate::{LONG, ToKafka, finish, kafka_config, open, pages};

fn cluster() -> (MockCluster<'static, DefaultProducerContext>, ToKafka) {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("t", 2, 1).unwrap();
    let more = "target_storage.data_format.kafka.stuck_after: 500ms\n";
    let config = kafka_config(&cluster.bootstrap_servers(), "t", more);
    (cluster, config)
}

/// The error that ends the delivery.
fn failure(cluster: &MockCluster<'_, DefaultProducerContext>, config: &ToKafka, error: RDKafkaRespErr) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(config, folder.path()).unwrap();
    cluster.request_errors(RDKafkaApiKey::Produce, &vec![error; 10_000]);
    let started = Instant::now();
    let told = sink.deliver(&pages(0..10, 100)).and_then(|_| finish(&mut sink, 10)).unwrap_err().to_string();
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(dead_letters::files(folder.path()).unwrap().is_empty());
    told
}

#[test]
fn a_producer_that_delivers_nothing_while_the_broker_answers_is_given_up_and_a_new_one_delivers() {
    let (cluster, config) = cluster();
    let told = failure(&cluster, &config, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
    assert!(told.contains("10 messages were not delivered") && told.contains("although the broker answers"), "{told}");

    cluster.clear_request_errors(RDKafkaApiKey::Produce);
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&config, folder.path()).unwrap();
    sink.deliver(&pages(0..10, 100)).unwrap();
    assert_eq!(finish(&mut sink, 10).unwrap().delivered, 10);
}

#[test]
fn what_is_wrong_with_more_than_one_message_is_an_error_and_no_dead_letter() {
    let (cluster, config) = cluster();
    let told = failure(&cluster, &config, RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    assert!(told.contains("uthoriz"), "{told}");
    assert!(told.contains("recreated"), "{told}");
}

#[test]
fn errors_that_pass_are_waited_out() {
    let (cluster, mut config) = cluster();
    config.stuck_after = LONG;
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&config, folder.path()).unwrap();
    use RDKafkaRespErr::*;
    let passing = [
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR__TRANSPORT,
    ];
    cluster.request_errors(RDKafkaApiKey::Produce, &passing);
    sink.deliver(&pages(0..100, 100)).unwrap();
    let delivered = finish(&mut sink, 100).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (100, 0));
}

#[test]
fn a_refused_record_is_a_dead_letter_only_when_it_is_refused_alone() {
    let (cluster, mut config) = cluster();
    config.stuck_after = LONG;
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&config, folder.path()).unwrap();
    // The first batch, and one of its messages, are rejected.
    let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    cluster.request_errors(RDKafkaApiKey::Produce, &[refused, refused]);
    let one_partition: Vec<_> = pages(0..1, 100);
    sink.deliver(&one_partition).unwrap();
    let delivered = finish(&mut sink, 1).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (0, 1));

    cluster.request_errors(RDKafkaApiKey::Produce, &[refused]);
    sink.deliver(&pages(1..2, 100)).unwrap();
    let delivered = finish(&mut sink, 2).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (1, 1));
}

#[test]
fn an_outage_is_no_reason_to_give_a_producer_up_and_holds_up_no_flush_and_no_end() {
    let (cluster, mut config) = cluster();
    config.stuck_after = Duration::from_millis(200);
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&config, folder.path()).unwrap();
    sink.deliver(&pages(0..10, 100)).unwrap();
    finish(&mut sink, 10).unwrap();
    // `broker_down` would bind the broker's port once more, and abort the process if a connection of another test has it by then.
    drop(cluster);
    sink.deliver(&pages(10..20, 100)).unwrap();
    // Long enough to give up a producer without asking whether the broker answers.
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(15) {
        let delivered = sink.flush().unwrap();
        assert_eq!((delivered.up_to.index, delivered.delivered), (10, 10));
    }
    assert!(started.elapsed() < Duration::from_secs(40), "a flush comes back");
    // An outage does not delay the end, either.
    let started = Instant::now();
    drop(sink);
    assert!(started.elapsed() < Duration::from_secs(20));
}
