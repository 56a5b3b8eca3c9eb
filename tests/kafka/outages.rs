//! An outage of the broker delays everything and loses nothing.

use std::sync::mpsc;
use std::time::Instant;

use seine::sinks::{Delivered, Sink};

use crate::broker::{Broker, counted};
use crate::{LONG, finish, kafka_config, open, pages};

const PAGES: u64 = 3000;

/// Delivers in its own thread and reports progress. Returns what it delivered.
fn deliver(
    broker: &Broker,
    topic: &str,
    stuck_after: &str,
) -> (mpsc::Receiver<u64>, std::thread::JoinHandle<Delivered>) {
    let config = kafka_config(
        &broker.plain,
        topic,
        // Most of it must still be unsent when the broker stops.
        &format!(
            "target_storage.data_format.kafka.properties.buffer.memory: 200000\n\
             target_storage.data_format.kafka.stuck_after: {stuck_after}\n"
        ),
    );
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = open(&config, folder.path()).unwrap();
        for start in (0..PAGES).step_by(50) {
            let delivered = sink.deliver(&pages(start..start + 50, 1000)).unwrap();
            let _ = tell.send(delivered.up_to.index);
        }
        finish(&mut sink, PAGES).unwrap()
    });
    (told, thread)
}

fn wait_for(told: &mpsc::Receiver<u64>, index: u64) {
    let started = Instant::now();
    while told.recv_timeout(LONG).expect("delivery goes on") < index {
        assert!(started.elapsed() < LONG);
    }
}

#[test]
fn killed_or_paused_brokers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(folder.path().into(), &[]);

    broker.make_topic("killed", &[]);
    let (told, thread) = deliver(&broker, "killed", "1m");
    wait_for(&told, 300);
    broker = broker.restart();
    let delivered = thread.join().unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (PAGES, 0));
    let seen = broker.read("killed");
    assert_eq!(counted(&seen).len() as u64, PAGES);

    broker.make_topic("paused", &[]);
    let (told, thread) = deliver(&broker, "paused", "1s");
    wait_for(&told, 300);
    broker.signal("-STOP");
    // Longer than `stuck_after`: the sink must find out that the broker is the cause, not its producer.
    let waiting = Instant::now();
    while waiting.elapsed().as_secs() < 4 {
        let _ = told.recv_timeout(std::time::Duration::from_millis(100));
    }
    assert!(!thread.is_finished());
    broker.signal("-CONT");
    let delivered = thread.join().unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (PAGES, 0));
    let seen = broker.read("paused");
    assert_eq!((counted(&seen).len() as u64, seen.len() as u64), (PAGES, PAGES));
}
