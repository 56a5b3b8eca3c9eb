//! The sink without a server.

use std::time::{Duration, Instant};

use seine::shutdown::Shutdown;
use seine::sinks::elasticsearch::ElasticSink;
use seine::sinks::{Sink, SinkContext};

use crate::{closed_port, config, entries, numbered, open, open_until};

#[test]
fn after_the_retry_timeout_the_failure_is_told_and_nothing_counts() {
    let host = closed_port();
    let mut config = config(&[&host], "pages");
    config.max_retry = Duration::from_millis(300);
    let mut sink = open(&config);
    assert_eq!(sink.deliver(&entries([numbered(1)])).unwrap().delivered, 0);
    let error = sink.flush().unwrap_err().to_string();
    assert!(error.contains(&host) && error.contains("refused"), "{error}");
}

#[test]
fn told_to_hurry_it_ends_soon_and_says_what_was_written() {
    let mut config = config(&[&closed_port()], "pages");
    config.bulk_documents = 2;
    let shutdown = Shutdown::default();
    let mut sink = open_until(&config, shutdown.clone());
    let pages = entries((1..=3).map(numbered));
    sink.deliver(&pages).unwrap();
    let flushing = std::thread::spawn(move || (sink.flush(), sink));
    shutdown.hurry();
    let told = Instant::now();
    let (delivered, mut sink) = flushing.join().unwrap();
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
    assert_eq!(delivered.unwrap(), Default::default());
    sink.close().unwrap();
}

#[test]
fn what_the_format_does_not_hold_is_skipped_without_asking_anybody() {
    let mut events: Vec<_> = (1..=3).map(numbered).collect();
    events.iter_mut().for_each(|event| event.kind = seine_parse::page::Kind::Sitemap);
    let pages = entries(events);
    let mut sink = open(&config(&[&closed_port()], "pages"));
    sink.deliver(&pages).unwrap();
    let delivered = sink.flush().unwrap();
    assert_eq!((delivered.skipped, delivered.delivered, delivered.up_to), (3, 0, pages[2].end));
}

#[test]
fn a_ca_file_that_is_not_there_is_named() {
    let mut config = config(&[&closed_port()], "pages");
    config.ca_file = Some("/nowhere/ca.pem".into());
    let folder = tempfile::tempdir().unwrap();
    let context = SinkContext::new(folder.path());
    let opened = ElasticSink::open(&config, seine::config::Upkeep::default(), &context);
    let error = opened.err().unwrap().to_string();
    assert!(error.contains("/nowhere/ca.pem") && error.contains("rest.ca_file"), "{error}");
}
