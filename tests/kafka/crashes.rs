//! A sink that is recreated starts at its cursor: nothing is missing, and only messages that were in flight can occur
//! twice.

use seine::sinks::Sink;

use crate::broker::{BROKER, counted};
use crate::{finish, kafka_config, open, pages};

#[test]
fn a_sink_made_anew_repeats_no_more_than_was_in_flight() {
    BROKER.make_topic("anew", &[]);
    let folder = tempfile::tempdir().unwrap();
    let config = kafka_config(&BROKER.plain, "anew", "");
    let (mut committed, mut most_twice) = (0, 0);
    for life in 1..=5 {
        let mut sink = open(&config, folder.path()).unwrap();
        let before = committed;
        for batch in 0..4 {
            let start = before + batch * 100;
            let delivered = sink.deliver(&pages(start..start + 100, 2000)).unwrap();
            committed = committed.max(delivered.up_to.index);
        }
        most_twice += before + 400 - committed;
        // Dropped with messages in flight, as in a crash; the last sink ends properly.
        if life == 5 {
            committed = finish(&mut sink, before + 400).unwrap().up_to.index;
        }
    }
    let seen = BROKER.read("anew");
    let counts = counted(&seen);
    let all: Vec<_> = (0..committed).map(|number| format!("{number:032x}")).collect();
    assert!(all.iter().all(|id| counts.contains_key(id.as_str())));
    let twice = seen.len() as u64 - counts.len() as u64;
    assert!(twice <= most_twice, "{twice} repeated, {most_twice} were in flight");
}
