//! A dead letter from rejection through a failed replay to delivery, once the server takes it.

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};

use reqwest::Method;
use seine::sinks::dead_letters::DeadLetters;
use seine::sinks::elasticsearch::ElasticSink;
use seine::sinks::{Sink, SinkContext};
use seine_formats::elastic::document_id;
use seine_parse::page::PageEvent;
use serde_json::json;

use crate::conformance::{ache_mapping, document_of};
use crate::node::Node;
use crate::support::program::{DEADLINE, Place, Process, command, run};
use crate::{UPKEEP, config, entries, event, numbered, page, stand_in};

const INDEX: &str = "replayed";

pub fn a_letter_is_delivered_once_the_server_takes_it(node: &Node) {
    let place = Place::with(&format!(
        "target_storage.data_formats: [ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: ['{}']\n\
         target_storage.data_format.elasticsearch.index_name: {INDEX}\n",
        node.url
    ));
    // ACHE's mapping has no ignore_above: a URL longer than a Lucene term is rejected.
    node.put(&format!("/{INDEX}"), &ache_mapping());
    let long = page(&format!("http://a.example/{}", "u".repeat(40_000)), "text/html", "<title>Long</title>");
    let pages = entries([numbered(1), long]);
    refuse(node, &place.data().join("elasticsearch"), &pages);

    let letters = |action: &[&str]| {
        let data = place.data();
        let place = ["--sink", "elasticsearch", "-o", data.to_str().unwrap()];
        run(&[&["dead-letters", action[0]], &place[..], &action[1..]].concat())
    };
    let list = || letters(&["list", "--json"]).ok().json_lines();
    let file = place.config();
    let replay = || letters(&["replay", "--all", "-c", file.to_str().unwrap()]);

    assert_eq!((list().len(), &list()[0]["attempts"]), (1, &json!(1)));
    assert!(replay().exits(5).stdout.contains("0 delivered, 1 refused again"));
    let left = list();
    assert_eq!((left.len(), &left[0]["attempts"], &left[0]["url"]), (1, &json!(2), &json!(pages[1].event.url)));
    assert!(left[0]["reason"].as_str().unwrap().contains("immense term"), "{}", left[0]["reason"]);

    // Somebody repairs the index.
    let mended = json!({ "properties": { "url": { "type": "keyword", "index": true, "ignore_above": 8191 } } });
    let (status, answer) = node.ask(Method::PUT, &format!("/{INDEX}/_mapping"), Some(&mended));
    assert_eq!(status, 200, "{answer}");
    assert!(replay().ok().stdout.contains("1 delivered, 0 refused again"));
    assert_eq!(list().len(), 0);
    assert_eq!(node.count_all(INDEX), 2);
    for entry in &pages {
        assert_eq!(node.document(INDEX, &document_id(&entry.event.url))["_source"], document_of(entry));
    }
    assert!(replay().ok().stdout.contains("0 delivered, 0 refused again"));
}

/// Delivers as a crawl would, with its sink's own folder.
fn refuse(node: &Node, folder: &Path, pages: &[std::sync::Arc<seine_delivery::Entry>]) {
    std::fs::create_dir_all(folder).unwrap();
    let mut sink = ElasticSink::open(&config(&[&node.url], INDEX), UPKEEP, &SinkContext::new(folder)).unwrap();
    sink.deliver(pages).unwrap();
    let delivered = sink.flush().unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (1, 1));
    sink.close().unwrap();
}

/// Two replays at once would remove each other's rejections, and count the letters as delivered.
#[test]
fn of_two_replays_at_once_the_second_is_refused_and_no_letter_is_lost() {
    let (came, third_came) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (came, may_go_on) = (Mutex::new(Some(came)), Mutex::new(may_go_on));
    let url = stand_in::serve(Arc::new(move |asked| {
        if !asked.is_bulk_of_pages() {
            return None;
        }
        // When the third page is sent, the rejection of the first is already recorded.
        if String::from_utf8_lossy(&asked.body).contains("http://a.example/3\"")
            && let Some(came) = came.lock().unwrap().take()
        {
            came.send(()).unwrap();
            let _ = may_go_on.lock().unwrap().recv_timeout(DEADLINE);
        }
        let error = json!({ "type": "document_parsing_exception", "reason": "no such page is wanted" });
        Some((200, json!({ "items": [{ "index": { "status": 400, "error": error } }] })))
    }));
    let place = Place::with(&format!(
        "target_storage.data_formats: [ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: ['{url}']\n\
         target_storage.data_format.elasticsearch.bulk_documents: 1\n"
    ));
    let folder = place.data().join("elasticsearch");
    for pages in [1..=4, 5..=5] {
        let mut letters = DeadLetters::open(&folder).unwrap();
        let page = |number: usize| PageEvent { id: event::id(number as u64), ..numbered(number) };
        pages.for_each(|number| letters.add(&page(number), "refused before").unwrap());
        letters.sync().unwrap();
    }
    let (config, data) = (place.config(), place.data());
    let of = ["--sink", "elasticsearch", "-o", data.to_str().unwrap()];
    let replay = [&["dead-letters", "replay", "--all", "-c", config.to_str().unwrap()], &of[..]].concat();
    let first = Process::start(command(&replay));
    third_came.recv_timeout(DEADLINE).unwrap();
    let second = run(&replay);
    let dropping = run(&[&["dead-letters", "drop", "--all"], &of[..]].concat());
    go_on.send(()).unwrap();
    let first = first.wait().exits(5);
    assert!(first.stdout.contains("0 delivered, 5 refused again"), "{}", first.stdout);
    second.fails_naming(&["another", "wait until it ends"]);
    dropping.fails_naming(&["another", "wait until it ends"]);
    let left = run(&[&["dead-letters", "list", "--json"], &of[..]].concat()).ok();
    assert_eq!(left.json_lines().len(), 5);
}
