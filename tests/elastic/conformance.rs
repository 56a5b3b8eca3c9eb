//! The promises of the sink, on every supported server.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use seine::sinks::elasticsearch::ElasticSink;
use seine::sinks::{Delivered, Sink, SinkError};
use seine_delivery::Entry;
use seine_formats::elastic::{ElasticDocument, document_id, parse_document, write_event};
use seine_formats::elastic_mapping::{self, HeaderType};
use seine_parse::page::{PageEvent, Relevance};
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

use crate::node::{MAX_REQUEST, Node, wait_until};
use crate::proxy::{Break, Proxy};
use crate::{FETCHED, at, changed, config, entries, event, numbered, open, page, response, text};
use crate::{crawl, fault, gone, hosts, letters, refill, replaced};

#[test]
fn elasticsearch_8() {
    let mut node = Node::start("elasticsearch", "8.19.21");
    conforms(&mut node, "flattened");
    fault::a_page_that_breaks_its_request_is_set_aside(&node, Break::Hang);
    crawl::every_page_of_a_crawl_is_a_document(&node);
    gone::a_crawl_leaves_the_live_pages(&node);
    gone::what_is_forbidden_leaves_the_index(&node);
    letters::a_letter_is_delivered_once_the_server_takes_it(&node);
    refill::an_index_is_filled_from_an_archive_beside_the_crawl(&node);
    replaced::an_index_that_was_replaced_is_filled_anew(&node);
    crawl::a_crawl_ends_without_its_server_and_goes_on_with_it(&node);
}

#[test]
fn elasticsearch_7() {
    conforms(&mut Node::start("elasticsearch", "7.17.29"), "flattened");
}

#[test]
fn opensearch_2() {
    conforms(&mut Node::start("opensearch", "2.19.0"), "flat_object");
}

fn conforms(node: &mut Node, headers: &str) {
    the_index_is_made_as_described(node, headers);
    documents_are_those_of_the_format(node);
    the_newest_content_stays(node);
    an_index_of_ache_goes_on(node);
    every_conflict_is_named(node);
    what_is_refused_is_dead_and_the_rest_flows_on(node);
    a_blocked_index_is_waited_for(node);
    what_is_too_much_at_once_comes_in_halves(node);
    hosts::a_dead_host_is_passed_over(node);
    hosts::a_host_that_answers_nonsense_is_passed_over(node);
    credentials_are_sent(node);
    tls_with_a_certificate_of_ones_own(node);
    fault::a_data_stream_is_refused_at_the_start(node);
    fault::an_index_that_refuses_any_page_is_an_outage(node);
    fault::an_index_that_cannot_be_made_anew_is_an_outage(node);
    fault::an_alias_that_points_elsewhere_makes_no_dead_letters(node);
    fault::a_refusal_of_the_only_page_is_its_own(node);
    fault::a_page_that_breaks_its_request_is_set_aside(node, Break::Reset);
    fault::a_page_that_the_server_fails_at_is_set_aside(node);
    fault::a_server_that_fails_at_every_page_is_waited_for(node);
    a_server_that_stands_still_is_waited_for(node);
    gone::conforms(node);
    replaced::another_index_is_noticed(node);
    replaced::a_page_has_one_document_behind_an_alias_that_was_rolled_over(node);
    a_killed_server_loses_nothing(node);
}

/// Delivers everything and waits until it is indexed.
pub fn deliver(sink: &mut ElasticSink, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
    sink.deliver(entries)?;
    sink.flush()
}

pub fn document_of(entry: &Entry) -> Value {
    let mut json = Vec::new();
    assert!(write_event(&entry.event, &text(&entry.event), 0, &mut json));
    serde_json::from_slice(&json).expect("the document is JSON")
}

fn the_index_is_made_as_described(node: &Node, headers: &str) {
    let index = "made";
    let pages = entries([changed(numbered(1)), numbered(2)]);
    let mut sink = open(&config(&[&node.url], index));
    deliver(&mut sink, &pages[..1]).unwrap();
    let types = [
        ("domain", "keyword"),
        ("url", "keyword"),
        ("title", "text"),
        ("text", "text"),
        ("retrieved", "date"),
        ("words", "keyword"),
        ("wordsMeta", "keyword"),
        ("topPrivateDomain", "keyword"),
        ("html", "text"),
        ("responseHeaders", headers),
        ("isRelevant", "keyword"),
        ("relevance", "double"),
        ("crawlerId", "keyword"),
    ];
    for (field, kind) in types {
        assert_eq!(node.type_of(index, field), kind, "{field}");
    }
    // Header names do not become fields, and the server guesses no mapping.
    let fields = node.get("/made/_mapping")["made"]["mappings"]["properties"].as_object().unwrap().len();
    assert_eq!(fields, elastic_mapping::fields(HeaderType::Flattened).len());
    // The index is deleted during the test, so it no longer holds what was delivered. A reopened sink creates it again
    // as before.
    assert_eq!(node.ask(Method::DELETE, "/made", None).0, 200);
    assert_eq!(node.ask(Method::DELETE, "/_index_template/seine-made", None).0, 200);
    let error = deliver(&mut sink, &pages[1..]).unwrap_err();
    assert!(matches!(error, SinkError::Replaced { .. }) && error.to_string().contains("made is gone"), "{error}");
    assert_eq!(node.ask(Method::HEAD, "/made", None).0, 404);
    let mut sink = open(&config(&[&node.url], index));
    assert_eq!(deliver(&mut sink, &pages[1..]).unwrap().delivered, 1);
    assert_eq!(node.type_of(index, "url"), "keyword");
    assert_eq!(node.type_of(index, "responseHeaders"), headers);
}

fn documents_are_those_of_the_format(node: &Node) {
    let index = "documents";
    let mut odd = numbered(1);
    odd.url = format!("http://www.shop.example.co.uk/{}", "long/".repeat(200));
    response(&mut odd).headers.push("x.y.z", "dots in the name");
    response(&mut odd).headers.push("set-cookie", "a=1");
    response(&mut odd).headers.push("Set-Cookie", "b=2");
    response(&mut odd).headers.push("x-empty", "");
    odd.relevance = Relevance { relevance: 0.912345, is_relevant: true };
    odd.model = Some("topic@0a1b2c3d".into());
    response(&mut odd).headers.push("x-long", "y".repeat(9000));
    let latin = page(
        "http://127.0.0.1:8080/café?q=%C3%A9",
        "text/html; charset=iso-8859-1",
        &b"<title>caf\xe9</title><body>na\xefve \xa9"[..],
    );
    let pages = entries([
        numbered(7),
        odd,
        latin,
        page("http://a.example/x.png", "image/png", &b"\x89PNG\0"[..]),
        page("http://a.example/empty", "text/html", ""),
        // Longer than a term may be, except for ignore_above; and after the year 9999.
        page(&format!("http://a.example/{}", "u".repeat(40_000)), "text/html", "<p>long"),
        at(page("http://a.example/far", "text/html", "<p>far"), 253_402_300_800_000),
    ]);
    let mut sink = open(&config(&[&node.url], index));
    let delivered = deliver(&mut sink, &pages).unwrap();
    assert_eq!(sink.dead(), []);
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (pages.len() as u64, 0, 0));
    assert_eq!(delivered.up_to, pages.last().unwrap().end);
    for entry in &pages {
        let found = node.document(index, &document_id(&entry.event.url));
        assert_eq!(found["_source"], document_of(entry), "{}", entry.event.url);
        assert_eq!(found["_version"], entry.event.ended_ms);
        let hit = node.document_text(index, &document_id(&entry.event.url));
        let text = text(&entry.event);
        // The facts that the page states about itself are not read back.
        let written = ElasticDocument::from_event(&entry.event, &text, 0).unwrap();
        let expected = ElasticDocument { about: Default::default(), ..written };
        assert_eq!(parse_document(hit.as_bytes()).unwrap(), expected);
    }
    // Searches work as the mapping promises.
    assert_eq!(node.count(index, json!({ "term": { "words": "heading" } })), 2);
    assert_eq!(node.count(index, json!({ "match": { "title": "page" } })), 2);
    assert_eq!(node.count(index, json!({ "term": { "topPrivateDomain": "example.co.uk" } })), 1);
    assert_eq!(node.count(index, json!({ "term": { "responseHeaders.set-cookie": "a=1" } })), 1);
    assert_eq!(node.count(index, json!({ "term": { "isRelevant": "irrelevant" } })), 1);
    assert_eq!(node.count(index, json!({ "term": { "relevanceModel": "topic@0a1b2c3d" } })), 1);
    assert_eq!(node.count(index, json!({ "range": { "relevance": { "gt": 0.9, "lt": 1 } } })), 1);
    let on_that_day = json!({ "gte": "2026-11-21T14:37:05.985Z", "lt": "2026-11-21T14:37:05.986Z" });
    assert_eq!(node.count(index, json!({ "range": { "retrieved": on_that_day } })), 6);
}

fn the_newest_content_stays(node: &Node) {
    let index = "newest";
    let version = |n: usize, fetched| {
        let mut event = at(numbered(n), fetched);
        event.url = "http://a.example/".into();
        event
    };
    let pages = entries([version(1, FETCHED), version(3, FETCHED + 2), version(2, FETCHED + 1)]);
    let mut sink = open(&config(&[&node.url], index));
    assert_eq!(deliver(&mut sink, &pages).unwrap().delivered, 3);
    let check = || {
        assert_eq!(node.count_all(index), 1);
        let found = node.document(index, "http://a.example/");
        assert_eq!((&found["_source"]["title"], &found["_version"]), (&json!("Page 3"), &json!(FETCHED + 2)));
    };
    check();
    // Delivered again by a new sink, in one bulk and one by one.
    assert_eq!(deliver(&mut open(&config(&[&node.url], index)), &pages).unwrap().delivered, 3);
    let mut one_by_one = config(&[&node.url], index);
    one_by_one.bulk_documents = 1;
    assert_eq!(deliver(&mut open(&one_by_one), &pages).unwrap().delivered, 3);
    check();
}

/// The mapping that ACHE 0.16 puts, for a server without types.
pub fn ache_mapping() -> Value {
    let keyword = || json!({ "type": "keyword", "index": true });
    json!({ "mappings": { "properties": {
        "domain": keyword(), "words": keyword(), "wordsMeta": keyword(),
        "retrieved": { "type": "date", "format": "date_optional_time" },
        "text": { "type": "text" }, "title": { "type": "text" },
        "url": keyword(), "topPrivateDomain": keyword(), "isRelevant": keyword(), "crawlerId": keyword(),
        "relevance": { "type": "double" },
    }}})
}

fn an_index_of_ache_goes_on(node: &Node) {
    let index = "ache-data";
    node.put("/ache-data", &ache_mapping());
    // Fields that ACHE leaves to the server's guesses.
    let theirs = json!({ "url": "http://a.example/old", "html": "<p>x", "responseHeaders": { "Server": ["s"] } });
    assert_eq!(node.ask(Method::POST, "/ache-data/_doc?refresh=true", Some(&theirs)).0, 201);
    assert_eq!(deliver(&mut open(&config(&[&node.url], index)), &entries([numbered(1)])).unwrap().delivered, 1);
    assert_eq!(node.count_all(index), 2);
    assert_eq!(node.type_of(index, "digest"), "keyword");
    assert_eq!(node.document(index, "http://a.example/1")["_source"]["title"], "Page 1");
}

fn every_conflict_is_named(node: &Node) {
    let body = json!({ "mappings": { "properties": {
        "url": { "type": "text" }, "relevance": { "type": "keyword" }, "title": { "type": "text" },
        "html": { "type": "keyword" }, "theirs": { "type": "ip" },
    }}});
    node.put("/conflict", &body);
    let error = deliver(&mut open(&config(&[&node.url], "conflict")), &entries([numbered(1)])).unwrap_err().to_string();
    for part in
        ["url is text, and has to be keyword", "relevance is keyword", "html is keyword", "index conflict", "-e"]
    {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    assert!(!error.contains("title") && !error.contains("theirs"), "{error}");
    assert_eq!(node.count_all("conflict"), 0);
}

fn what_is_refused_is_dead_and_the_rest_flows_on(node: &Node) {
    // ACHE's mapping has no ignore_above: a URL longer than a Lucene term is rejected.
    node.put("/refusing", &ache_mapping());
    let long = page(&format!("http://a.example/{}", "u".repeat(40_000)), "text/html", "<p>long");
    let mut failed = numbered(4);
    response(&mut failed).status = 404;
    let pages = entries([numbered(1), long, numbered(2), failed, numbered(3)]);
    let mut sink = open(&config(&[&node.url], "refusing"));
    let delivered = deliver(&mut sink, &pages).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (3, 1, 1));
    assert_eq!(delivered.up_to, pages[4].end);
    let dead = sink.dead();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].0, pages[1].event.url);
    assert!(dead[0].1.starts_with("400 ") && dead[0].1.contains("immense term"), "{}", dead[0].1);
    assert_eq!(node.count_all("refusing"), 3);
}

fn a_blocked_index_is_waited_for(node: &Node) {
    let index = "blocked";
    let proxy = Proxy::start(&node.url, None, None);
    let pages = entries((1..=30).map(numbered));
    let mut sink = open(&config(&[&proxy.url()], index));
    deliver(&mut sink, &pages[..10]).unwrap();
    let block = |set: Value| node.put("/blocked/_settings", &json!({ "index.blocks.read_only_allow_delete": set }));
    block(json!(true));
    let before = proxy.bulks();
    std::thread::scope(|scope| {
        let delivering = scope.spawn(|| deliver(&mut sink, &pages[10..]));
        wait_until("it was tried three times", || proxy.bulks() >= before + 3);
        assert!(!delivering.is_finished());
        block(Value::Null);
        let delivered = delivering.join().unwrap().unwrap();
        assert_eq!((delivered.delivered, delivered.dead), (30, 0));
    });
    assert_eq!(node.count_all(index), 30);
}

fn what_is_too_much_at_once_comes_in_halves(node: &Node) {
    let index = "large";
    let padded = |n: usize, bytes: usize| {
        let text = "word ".repeat(bytes / 5);
        page(&format!("http://a.example/{n}"), "text/html", format!("<title>{n}</title><!-- {text} -->"))
    };
    // Together 400 KB: over the limit of a request (413), and each half over the limit of indexing at once (429).
    let mut pages: Vec<_> = (0..40).map(|n| padded(n, 10_000)).collect();
    pages.insert(20, padded(100, MAX_REQUEST + 1000));
    // And a page that is accepted in a request, but exceeds what the node ever indexes at once.
    pages.insert(30, PageEvent { id: event::id(101), ..padded(101, MAX_REQUEST * 3 / 4) });
    let pages = entries(pages);
    let mut sink = open(&config(&[&node.url], index));
    let delivered = deliver(&mut sink, &pages).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (40, 2));
    let dead = sink.dead();
    let reason = |url: &str| match dead.iter().find(|(dead, _)| dead == url) {
        Some((_, reason)) => reason.as_str(),
        None => panic!("{url} is not among {dead:?}"),
    };
    let reason_100 = reason("http://a.example/100");
    assert!(reason_100.contains("413") && reason_100.contains("http.max_content_length"), "{reason_100}");
    assert!(reason("http://a.example/101").starts_with("429 "), "{dead:?}");
    assert_eq!(node.count_all(index), 40);
}

fn credentials_are_sent(node: &Node) {
    let pages = entries([numbered(1)]);
    // The example in RFC 7617.
    let proxy = Proxy::start(&node.url, Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), None);
    let mut config = config(&[&proxy.url()], "secured");
    config.username = Some("Aladdin".into());
    config.password = Some(seine::config::Secret::new("open sesame"));
    assert_eq!(deliver(&mut open(&config), &pages).unwrap().delivered, 1);
    config.password = Some(seine::config::Secret::new("wrong"));
    let error = deliver(&mut open(&config), &pages).unwrap_err().to_string();
    assert!(error.contains("401") && error.contains("username"), "{error}");
    assert!(!error.contains("wrong"), "{error}");

    let proxy = Proxy::start(&node.url, Some("ApiKey VnVhQ2ZHY0JDZGJrUW0="), None);
    config.hosts = vec![proxy.url().parse().unwrap()];
    config.username = None;
    config.password = None;
    config.api_key = Some(seine::config::Secret::new("VnVhQ2ZHY0JDZGJrUW0="));
    assert_eq!(deliver(&mut open(&config), &pages).unwrap().delivered, 1);
}

fn tls_with_a_certificate_of_ones_own(node: &Node) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let proxy = Proxy::start(&node.url, None, Some(TlsAcceptor::from(Arc::new(tls))));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, certified.cert.pem()).unwrap();
    let mut config = config(&[&format!("https://localhost:{}", proxy.address.port())], "tls");
    config.ca_file = Some(file);
    assert_eq!(deliver(&mut open(&config), &entries([numbered(1)])).unwrap().delivered, 1);
    assert_eq!(node.count_all("tls"), 1);
    // Without the CA file no server is trusted.
    config.ca_file = None;
    config.max_retry = Duration::ZERO;
    let error = deliver(&mut open(&config), &entries([numbered(2)])).unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    assert_eq!(node.count_all("tls"), 1);
}

fn a_server_that_stands_still_is_waited_for(node: &Node) {
    let index = "still";
    let proxy = Proxy::start(&node.url, None, None);
    let pages = entries((1..=40).map(numbered));
    let mut config = config(&[&proxy.url()], index);
    config.socket_timeout = Duration::from_millis(500);
    let mut sink = open(&config);
    // Wait for the index, on a slow machine.
    while sink.flush().is_ok_and(|delivered| delivered.delivered == 0) {
        sink.deliver(&pages[..1]).unwrap();
    }
    node.signal("STOP");
    let before = proxy.requests();
    std::thread::scope(|scope| {
        let delivering = scope.spawn(|| deliver(&mut sink, &pages));
        wait_until("it was tried three times", || proxy.requests() >= before + 3);
        assert!(!delivering.is_finished());
        node.signal("CONT");
        assert_eq!(delivering.join().unwrap().unwrap().dead, 0);
    });
    assert_eq!(node.count_all(index), 40);
}

fn a_killed_server_loses_nothing(node: &mut Node) {
    let index = "killed";
    let proxy = Proxy::start(&node.url, None, None);
    let pages = entries((1..=400).map(numbered));
    let mut config = config(&[&proxy.url()], index);
    config.bulk_documents = 5;
    let mut sink = open(&config);
    std::thread::scope(|scope| {
        let delivering = scope.spawn(|| deliver(&mut sink, &pages));
        wait_until("ten bulks are out", || proxy.bulks() >= 10);
        node.signal("KILL");
        let tried = proxy.requests();
        wait_until("it was tried without a server", || proxy.requests() >= tried + 2);
        node.start_again();
        let delivered = delivering.join().unwrap().unwrap();
        assert_eq!((delivered.delivered, delivered.dead, delivered.up_to), (400, 0, pages[399].end));
    });
    assert_eq!(node.count_all(index), 400);
    for entry in &pages {
        assert_eq!(node.document(index, &entry.event.url)["_source"], document_of(entry));
    }
}
