//! Whether one page is at fault and is set aside, or the index, which is waited for.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use seine::sinks::Sink;
use seine_delivery::Entry;
use serde_json::{Value, json};

use crate::conformance::{ache_mapping, deliver};
use crate::node::{Node, wait_until};
use crate::proxy::{Break, Proxy};
use crate::{Opened, config, entries, numbered, open, page};

/// Delivers to an index that rejects every page, and repairs it after three attempts. No page becomes a dead letter,
/// and all are delivered.
fn waits(proxy: &Proxy, sink: &mut Opened, pages: &[Arc<Entry>], mend: impl FnOnce()) {
    let before = proxy.bulks();
    std::thread::scope(|scope| {
        let delivering = scope.spawn(|| deliver(sink, pages));
        // Each attempt is followed by a probe.
        wait_until("it was tried three times", || proxy.bulks() >= before + 6);
        assert!(!delivering.is_finished());
        mend();
        let delivered = delivering.join().unwrap().unwrap();
        assert_eq!((delivered.dead, delivered.up_to), (0, pages.last().unwrap().end));
    });
    assert_eq!(sink.dead(), []);
}

/// The error of the sink after it has waited long enough.
fn told(node: &Node, index: &str) -> String {
    let mut config = config(&[&node.url], index);
    config.max_retry = Duration::ZERO;
    let mut sink = open(&config);
    let error = deliver(&mut sink, &entries((1..=20).map(numbered))).unwrap_err().to_string();
    assert_eq!(sink.dead(), []);
    error
}

pub fn an_index_that_refuses_any_page_is_an_outage(node: &Node) {
    node.put("/piped", &json!({ "settings": { "index.default_pipeline": "not-there" } }));
    let error = told(node, "piped");
    for words in ["not-there", "index.default_pipeline", "rejects every page", "pages wait"] {
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
    let proxy = Proxy::start(&node.url, None, None);
    let mut sink = open(&config(&[&proxy.url()], "piped"));
    let pages = entries((1..=20).map(numbered));
    waits(&proxy, &mut sink, &pages, || node.put("/_ingest/pipeline/not-there", &json!({ "processors": [] })));
    // The probe leaves nothing behind.
    assert_eq!(node.count_all("piped"), 20);
}

pub fn an_index_that_cannot_be_made_anew_is_an_outage(node: &Node) {
    let limit = |shards: Value| {
        node.put("/_cluster/settings", &json!({ "persistent": { "cluster.max_shards_per_node": shards } }));
    };
    let proxy = Proxy::start(&node.url, None, None);
    let mut sink = open(&config(&[&proxy.url()], "crowded"));
    let pages = entries((1..=20).map(numbered));
    deliver(&mut sink, &pages[..1]).unwrap();
    assert_eq!(node.ask(Method::DELETE, "/crowded", None).0, 200);
    limit(json!(1));
    let error = told(node, "crowded-too");
    assert!(error.contains("max_shards_per_node"), "{error}");
    // The index is missing and cannot be created again, so a recreated sink keeps failing until it can.
    let error = deliver(&mut sink, &pages[1..]).unwrap_err().to_string();
    assert!(error.contains("crowded is gone"), "{error}");
    let error = deliver(&mut open(&config(&[&proxy.url()], "crowded")), &pages[1..]).unwrap_err().to_string();
    assert!(error.contains("max_shards_per_node"), "{error}");
    assert_eq!(sink.dead(), []);
    limit(Value::Null);
    let mut sink = open(&config(&[&proxy.url()], "crowded"));
    assert_eq!(deliver(&mut sink, &pages[1..]).unwrap().delivered, 19);
    assert_eq!(node.count_all("crowded"), 19);
}

pub fn an_alias_that_points_elsewhere_makes_no_dead_letters(node: &Node) {
    node.put("/behind-1", &json!({ "aliases": { "swapped": {} } }));
    let mut sink = open(&config(&[&node.url], "swapped"));
    let pages = entries((1..=20).map(numbered));
    assert_eq!(deliver(&mut sink, &pages[..5]).unwrap().delivered, 5);
    node.put("/behind-2", &json!({ "mappings": { "properties": { "title": { "type": "date" } } } }));
    let actions = json!({ "actions": [
        { "remove": { "index": "behind-1", "alias": "swapped" } },
        { "add": { "index": "behind-2", "alias": "swapped" } },
    ]});
    assert_eq!(node.ask(Method::POST, "/_aliases", Some(&actions)).0, 200);
    let error = deliver(&mut sink, &pages[5..]).unwrap_err().to_string();
    assert!(error.contains("behind-1 behind swapped is gone") && error.contains("behind-2"), "{error}");
    let error = deliver(&mut open(&config(&[&node.url], "swapped")), &pages[5..]).unwrap_err().to_string();
    assert!(error.contains("title is date") && error.contains("behind-2"), "{error}");
    assert_eq!(sink.dead(), []);
}

pub fn a_data_stream_is_refused_at_the_start(node: &Node) {
    let template = json!({ "index_patterns": ["streamed"], "data_stream": {}, "priority": 700 });
    // The Elasticsearch from Maven Central lacks the module for data streams: version 7 rejects the template, version 8
    // ignores it. OpenSearch supports them.
    let (status, answer) = node.ask(Method::PUT, "/_index_template/streamed", Some(&template));
    if status != 200 {
        return assert!(answer.to_string().contains("unknown field [data_stream]"), "{answer}");
    }
    let refused = |what: &str| {
        let mut sink = open(&config(&[&node.url], "streamed"));
        let mut error = String::new();
        // No page was sent yet.
        wait_until(what, || {
            error = sink.flush().err().map(|error| error.to_string()).unwrap_or_default();
            !error.is_empty()
        });
        assert!(error.contains("data stream") && error.contains("-e or index_name"), "{error}");
    };
    refused("a template that makes data streams only is refused");
    let (status, answer) = node.ask(Method::PUT, "/_data_stream/streamed", None);
    if status != 200 {
        return assert!(answer.to_string().contains("Incorrect HTTP method"), "{answer}");
    }
    refused("a data stream is refused");
}

pub fn a_refusal_of_the_only_page_is_its_own(node: &Node) {
    // ACHE's mapping has no ignore_above: a URL longer than a Lucene term is rejected.
    node.put("/lonely", &ache_mapping());
    let long = page(&format!("http://a.example/{}", "u".repeat(40_000)), "text/html", "<p>long");
    let mut sink = open(&config(&[&node.url], "lonely"));
    let delivered = deliver(&mut sink, &entries([long])).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (0, 1));
    assert_eq!((sink.dead().len(), node.count_all("lonely")), (1, 0));
}

pub fn a_page_that_the_server_fails_at_is_set_aside(node: &Node) {
    let proxy = Proxy::start(&node.url, None, None);
    proxy.break_at("Text of page number 13.", Break::Fail(500));
    let pages = entries((1..=30).map(numbered));
    let mut sink = open(&config(&[&proxy.url()], "failing-at-one"));
    let delivered = deliver(&mut sink, &pages).unwrap();
    assert_eq!((delivered.delivered, delivered.dead, delivered.up_to), (29, 1, pages[29].end));
    let dead = sink.dead();
    assert_eq!(dead[0].0, "http://a.example/13");
    assert!(dead[0].1.contains("with this page alone") && dead[0].1.contains("500 odd_exception"), "{}", dead[0].1);
    assert_eq!(node.count_all("failing-at-one"), 29);
    // Documents at which the server fails get through later, and nothing is given up.
    proxy.break_at("Text of page number 31.", Break::Fail(503));
    let before = proxy.bulks();
    let more = entries((31..=33).map(numbered));
    let delivered = std::thread::scope(|scope| {
        let delivering = scope.spawn(|| deliver(&mut sink, &more));
        wait_until("it was tried again", || proxy.bulks() >= before + 4);
        proxy.mend();
        delivering.join().unwrap().unwrap()
    });
    assert_eq!((delivered.delivered, delivered.dead), (32, 1));
}

/// The probe may get through, since it writes nothing, or fail like the rest. In both cases no single page is at fault.
pub fn a_server_that_fails_at_every_page_is_waited_for(node: &Node) {
    let pages = entries((1..=20).map(numbered));
    for (index, pages, text) in
        [("failing-at-all", &pages[..], "Text of page number"), ("failing-at-any", &pages[..1], "\"index\"")]
    {
        let proxy = Proxy::start(&node.url, None, None);
        proxy.break_at(text, Break::Fail(503));
        let mut sink = open(&config(&[&proxy.url()], index));
        waits(&proxy, &mut sink, pages, || proxy.mend());
        assert_eq!(node.count_all(index), pages.len() as u64);
    }
}

pub fn a_page_that_breaks_its_request_is_set_aside(node: &Node, how: Break) {
    let index = match how {
        Break::Reset => "reset",
        Break::Hang => "hanging",
        Break::Fail(_) => "failing",
    };
    let proxy = Proxy::start(&node.url, None, None);
    proxy.break_at("Text of page number 13.", how);
    let pages = entries((1..=30).map(numbered));
    let mut config = config(&[&proxy.url()], index);
    config.socket_timeout = Duration::from_secs(2);
    // Long before the faulty page is found in a large bulk, but longer than a busy machine takes for one step.
    config.max_retry = Duration::from_millis(50);
    let mut sink = open(&config);
    wait_until("the index is there", || node.ask(Method::HEAD, &format!("/{index}"), None).0 == 200);
    let delivered = match deliver(&mut sink, &pages) {
        Ok(delivered) => delivered,
        Err(error) => panic!("{error}"),
    };
    assert_eq!((delivered.delivered, delivered.dead, delivered.up_to), (29, 1, pages[29].end));
    let dead = sink.dead();
    assert_eq!(dead[0].0, "http://a.example/13");
    assert!(dead[0].1.contains("with this page alone") && dead[0].1.contains(&proxy.url()), "{}", dead[0].1);
    assert_eq!(node.count_all(index), 29);
}
