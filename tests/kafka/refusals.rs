//! Messages that the broker rejects: one, or all.

use seine::sinks::{Sink, dead_letters};
use seine_formats::letters::Note;

use crate::broker::{BROKER, Broker, counted};
use crate::{entries, finish, html, kafka_config, noise, open, pages};

fn letters(folder: &std::path::Path) -> Vec<Note> {
    let mut notes = Vec::new();
    for path in dead_letters::files(folder).unwrap() {
        dead_letters::for_each(&path, &mut |note, _| {
            notes.push(note);
            Ok(())
        })
        .unwrap();
    }
    notes
}

#[test]
fn a_message_over_the_topics_limit_is_a_dead_letter_and_the_rest_is_delivered() {
    BROKER.make_topic("limited", &[("max.message.bytes", "20000")]);
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&BROKER.plain, "limited", ""), folder.path()).unwrap();
    // Many small messages form batches over the limit as well, which is not their fault. Noise does not compress.
    let event = |number: u64| html(number, &noise(number, if number % 50 == 7 { 40_000 } else { 1000 }));
    let events = entries((0..200).map(event));
    sink.deliver(&events).unwrap();
    let delivered = finish(&mut sink, 200).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (196, 4));
    assert_eq!(delivered.up_to, events[199].end);

    let seen = BROKER.read("limited");
    assert_eq!((counted(&seen).len(), seen.len()), (196, 196));
    let letters = letters(folder.path());
    let refused: Vec<_> = letters.iter().map(|note| note.url.as_str()).collect();
    assert_eq!(refused, [7, 57, 107, 157].map(|number| format!("http://a.example/{number}")));
    let reason = &letters[0].reason;
    assert!(reason.contains("20000") && reason.contains("max.message.bytes"), "{reason}");
    let size: usize = reason.split(' ').next().unwrap().parse().unwrap();
    assert!((53_000..55_000).contains(&size), "40 kB as base64, and the rest of the record: {reason}");
}

#[test]
fn a_message_over_the_users_own_limit_is_a_dead_letter() {
    BROKER.make_topic("own-limit", &[]);
    let folder = tempfile::tempdir().unwrap();
    let more = "target_storage.data_format.kafka.properties.max.request.size: 30000\n";
    let mut sink = open(&kafka_config(&BROKER.plain, "own-limit", more), folder.path()).unwrap();
    let mut events = pages(0..3, 1000);
    events[1] = pages(1..2, 40_000).remove(0);
    sink.deliver(&events).unwrap();
    let delivered = finish(&mut sink, 3).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (2, 1));
    let reason = &letters(folder.path())[0].reason;
    assert!(reason.contains("30000") && reason.contains("max.request.size"), "{reason}");
}

#[test]
fn a_topic_that_is_not_there_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(&kafka_config(&BROKER.plain, "nowhere", ""), folder.path()).err().unwrap().to_string();
    assert!(error.contains("nowhere") && error.contains("create_topic: true"), "{error}");
    // Asking for the topic must not have created it.
    let again = open(&kafka_config(&BROKER.plain, "nowhere", ""), folder.path()).err().unwrap().to_string();
    assert_eq!(error, again);
}

#[test]
fn a_topic_is_made_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let more = "target_storage.data_format.kafka.create_topic: true\n\
                target_storage.data_format.kafka.partitions: 3\n\
                target_storage.data_format.kafka.replication_factor: 1\n";
    let config = kafka_config(&BROKER.plain, "made", more);
    let mut sink = open(&config, folder.path()).unwrap();
    sink.deliver(&pages(0..50, 1000)).unwrap();
    assert_eq!(finish(&mut sink, 50).unwrap().delivered, 50);
    assert_eq!(BROKER.partitions("made"), 3);
    assert_eq!(BROKER.read("made").len(), 50);
    // The topic exists now, so there is no problem.
    open(&config, folder.path()).unwrap();

    let more =
        "target_storage.data_format.kafka.create_topic: true\ntarget_storage.data_format.kafka.replication_factor: 5\n";
    let error = open(&kafka_config(&BROKER.plain, "five", more), folder.path()).err().unwrap().to_string();
    assert!(error.contains("five cannot be created") && error.contains("replication_factor"), "{error}");
}

/// In base64 it is 4 MB; the usual limit of a topic is 1 MB.
fn large() -> Vec<std::sync::Arc<seine_delivery::Entry>> {
    pages(0..1, 3_000_000)
}

#[test]
fn a_topic_that_is_made_takes_pages_as_large_as_seine_sends_them() {
    let folder = tempfile::tempdir().unwrap();
    let more = "target_storage.data_format.kafka.create_topic: true\n";
    let mut sink = open(&kafka_config(&BROKER.plain, "made-large", more), folder.path()).unwrap();
    sink.deliver(&large()).unwrap();
    let delivered = finish(&mut sink, 1).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (1, 0));
}

/// Uses only settings that ACHE's own configuration would have.
#[test]
fn where_brokers_make_topics_one_is_made_without_being_asked_for() {
    let settings = ["auto.create.topics.enable=true".to_owned()];
    let broker = Broker::start(tempfile::tempdir().unwrap().keep(), &settings);
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&broker.plain, "of-ache", ""), folder.path()).unwrap();
    sink.deliver(&large()).unwrap();
    let delivered = finish(&mut sink, 1).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (1, 0));
    assert_eq!(broker.count("of-ache"), 1);
}

#[test]
fn nobody_listening_is_an_error_that_names_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    drop(held);
    let error = open(&kafka_config(&address, "any", ""), folder.path()).err().unwrap().to_string();
    assert!(error.contains(&address) && error.contains("Connection refused"), "{error}");
}
