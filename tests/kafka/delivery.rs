//! Each page is delivered once, as the format writes it.

use std::collections::HashMap;
use std::io::Write;

use seine::sinks::Sink;
use seine_formats::{cdr31, elastic, files};
use seine_parse::page::{Failure, FailureReason, Headers, Hop, Kind, Outcome, PageEvent, Relevance};

use crate::broker::{BROKER, Seen, counted};
use crate::{derive, entries, finish, html, kafka_config, noise, open, page, pages, response};

/// Pages that are hard to encode, and events that the format does not store.
fn nasty() -> Vec<PageEvent> {
    let mut made = vec![
        html(0, ""),
        html(1, "<title>ünïcode — 日本語 \u{1F980}</title>\u{2028}</script>\"\\"),
        page(2, "text/html; charset=ISO-8859-1", b"<p>caf\xe9 na\xefve</p>"),
        page(3, "text/html; charset=utf-8", b"<p>not utf-8: \xff\xfe\x80</p>\0\x01\x1f\x7f"),
        page(4, "image/png", &(0..=255).collect::<Vec<u8>>()),
        page(5, "text/html", noise(5, 2_000_000).as_bytes()),
        page(6, "application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'><p>x</p></html>"),
    ];
    let mut odd_url = html(7, "<p>x</p>");
    odd_url.url = "http://a.example/q?x=%C3%A9&y=a+b c*d~e_f-g.h#é日\u{1F980}".into();
    made.push(odd_url);

    let mut gzipped = html(8, "");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"<title>was gzip</title>").unwrap();
    response(&mut gzipped).body = encoder.finish().unwrap().into();
    response(&mut gzipped).headers.push("content-encoding", "gzip");
    made.push(gzipped);

    let mut redirected = html(9, "<p>there</p>");
    redirected.final_url = "http://b.example/there".into();
    redirected.hops.push(Hop {
        url: redirected.url.clone(),
        status: 301,
        headers: Headers::default(),
        target: "http://b.example/there".into(),
        ip: None,
    });
    for number in 0..500 {
        response(&mut redirected).headers.push(format!("x-{}", number % 250), format!("é{number}"));
    }
    redirected.relevance = Relevance { relevance: 0.912345, is_relevant: true };
    redirected.model = Some("topic@0a1b2c3d".into());
    made.push(redirected);

    let mut no_content = html(10, "");
    response(&mut no_content).status = 204;
    response(&mut no_content).headers = Headers::default();
    made.push(no_content);

    let mut missing = html(11, "no such page");
    response(&mut missing).status = 404;
    made.push(missing);
    let mut sitemap = page(12, "application/xml", b"<urlset/>");
    sitemap.kind = Kind::Sitemap;
    made.push(sitemap);
    let mut failed = html(13, "");
    failed.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    made.push(failed);
    made
}

fn by_id(seen: Vec<Seen>) -> HashMap<String, Seen> {
    let count = seen.len();
    let by_id: HashMap<_, _> = seen.into_iter().map(|message| (message.id().to_owned(), message)).collect();
    assert_eq!(by_id.len(), count, "an event is there twice");
    by_id
}

#[test]
fn a_message_is_the_files_record_under_the_encoded_url() {
    BROKER.make_topic("json", &[("max.message.bytes", "10000000")]);
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&BROKER.plain, "json", ""), folder.path()).unwrap();
    let events = entries(nasty());
    sink.deliver(&events[..5]).unwrap();
    sink.deliver(&events[5..]).unwrap();
    let delivered = finish(&mut sink, 14).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (11, 3, 0));
    assert_eq!(delivered.up_to, events[13].end);
    sink.close().unwrap();

    let mut seen = by_id(BROKER.read("json"));
    for entry in &events[..11] {
        let event = &entry.event;
        let message = seen.remove(&event.id).unwrap_or_else(|| panic!("{} is not there", event.url));
        let mut expected = Vec::new();
        assert!(files::write_event(event, &derive(event).body, &mut expected));
        assert_eq!(expected.pop(), Some(b'\n'));
        assert!(message.value == expected, "{}", event.url);
        let status = event.response().unwrap().status.to_string();
        let mut headers = vec![("event_id", event.id.as_str()), ("schema", "files"), ("status", &status)];
        let relevance = event.relevance.relevance.to_string();
        if let Some(model) = &event.model {
            let is_relevant = if event.relevance.is_relevant { "true" } else { "false" };
            headers.extend([("relevance", &*relevance), ("is_relevant", is_relevant), ("relevance_model", &**model)]);
        }
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(message.headers, headers);
        if event.id.ends_with('7') {
            // As Java's URLEncoder.
            let key =
                "http%3A%2F%2Fa.example%2Fq%3Fx%3D%25C3%25A9%26y%3Da%2Bb+c*d%7Ee_f-g.h%23%C3%A9%E6%97%A5%F0%9F%A6%80";
            assert_eq!(message.key, key);
        } else {
            assert_eq!(message.key, event.url.replace(':', "%3A").replace('/', "%2F"));
        }
    }
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn cdr_is_written_of_html_pages() {
    BROKER.make_topic("cdr", &[("max.message.bytes", "10000000")]);
    let folder = tempfile::tempdir().unwrap();
    let more = "target_storage.data_format.kafka.format: CDR31\ntarget_storage.data_format.kafka.team: NYU\n";
    let mut sink = open(&kafka_config(&BROKER.plain, "cdr", more), folder.path()).unwrap();
    let events = entries(nasty());
    sink.deliver(&events).unwrap();
    let delivered = finish(&mut sink, 14).unwrap();
    // Skipped: the image, the empty 204 without a type, and the three that are not pages.
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (9, 5, 0));

    let seen = by_id(BROKER.read("cdr"));
    for entry in &events {
        let mut expected = Vec::new();
        let derived = derive(&entry.event);
        let message = seen.get(&entry.event.id);
        let index_ms = message.map_or(0, |it| cdr31::parse_document(&it.value).unwrap().timestamp_index.unwrap().0);
        let held = cdr31::write_event(&entry.event, &derived, Some("NYU"), index_ms, &mut expected);
        assert_eq!(held, message.is_some(), "{}", entry.event.url);
        if let Some(message) = message {
            assert!(message.value == expected, "{}", entry.event.url);
            assert_eq!(message.headers["schema"], "cdr-3.1");
        }
    }
}

#[test]
fn the_elasticsearch_document_is_written_of_any_page() {
    BROKER.make_topic("elastic", &[("max.message.bytes", "10000000")]);
    let folder = tempfile::tempdir().unwrap();
    let more = "target_storage.data_format.kafka.format: ELASTIC\n";
    let mut sink = open(&kafka_config(&BROKER.plain, "elastic", more), folder.path()).unwrap();
    let events = entries(nasty());
    sink.deliver(&events).unwrap();
    let delivered = finish(&mut sink, 14).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (11, 3, 0));

    let mut seen = by_id(BROKER.read("elastic"));
    for entry in &events[..11] {
        let message = seen.remove(&entry.event.id).unwrap_or_else(|| panic!("{} is not there", entry.event.url));
        let mut expected = Vec::new();
        assert!(elastic::write_event(&entry.event, &entry.text(), 0, &mut expected));
        assert!(message.value == expected, "{}", entry.event.url);
        assert_eq!(message.headers["schema"], "elastic");
        let judged =
            ["relevance", "is_relevant", "relevance_model"].map(|it| message.headers.get(it).map(String::as_str));
        let said = entry.event.model.is_some();
        assert_eq!(judged, [Some("0.912345"), Some("true"), Some("topic@0a1b2c3d")].map(|it| it.filter(|_| said)));
    }
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn many_messages_are_in_flight_and_each_is_there_once() {
    BROKER.make_topic("many", &[]);
    let folder = tempfile::tempdir().unwrap();
    // Without batching, one page per request would take minutes.
    let mut sink = open(&kafka_config(&BROKER.plain, "many", ""), folder.path()).unwrap();
    let mut last = 0;
    for batch in 0..20 {
        let delivered = sink.deliver(&pages(batch * 250..(batch + 1) * 250, 1000)).unwrap();
        assert!(delivered.up_to.index >= last && delivered.delivered == delivered.up_to.index);
        last = delivered.up_to.index;
    }
    assert_eq!(finish(&mut sink, 5000).unwrap().delivered, 5000);
    let seen = BROKER.read("many");
    let counts = counted(&seen);
    assert_eq!((counts.len(), seen.len()), (5000, 5000));
}

#[test]
fn a_queue_smaller_than_a_batch_blocks_and_loses_nothing() {
    BROKER.make_topic("small", &[]);
    let folder = tempfile::tempdir().unwrap();
    let more = "target_storage.data_format.kafka.properties.buffer.memory: 20480\n";
    let mut sink = open(&kafka_config(&BROKER.plain, "small", more), folder.path()).unwrap();
    sink.deliver(&pages(0..300, 5000)).unwrap();
    assert_eq!(finish(&mut sink, 300).unwrap().delivered, 300);
    assert_eq!(counted(&BROKER.read("small")).len(), 300);
}

/// Consumers by time, and retention by time, use the time of the fetch, not of sending.
#[test]
fn a_messages_time_is_that_of_the_fetch_where_the_topic_takes_it() {
    let fetched = |number: u64| 1_700_000_000_000 + number;
    let event = |number: u64| PageEvent { ended_ms: fetched(number), ..html(number, "<p>x</p>") };
    let folder = tempfile::tempdir().unwrap();
    let deliver = |topic: &str| {
        let mut sink = open(&kafka_config(&BROKER.plain, topic, ""), &folder.path().join(topic)).unwrap();
        let pages = entries((0..20).map(event));
        sink.deliver(&pages).unwrap();
        finish(&mut sink, pages.last().unwrap().end.index).unwrap();
        BROKER.read(topic)
    };
    BROKER.make_topic("times", &[]);
    // The topic keeps old messages, but rejects new ones with such a timestamp.
    BROKER.make_topic("late-times", &[("message.timestamp.before.max.ms", "86400000")]);
    for message in deliver("times") {
        assert_eq!(message.timestamp as u64, fetched(u64::from_str_radix(message.id(), 16).unwrap()));
    }
    let late = deliver("late-times");
    assert_eq!(counted(&late).len(), 20);
    assert!(late.iter().all(|message| message.timestamp as u64 > fetched(1000)));
}
