//! A page that became an alias leaves the index after the page it leads to was indexed, and not before.

use std::sync::{Arc, Mutex};

use seine_formats::elastic::{ElasticDocument, document_id};
use seine_parse::page::{PageChange, PageEvent, Withheld};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::conformance::deliver;
use crate::model::elastic_model::Server;
use crate::stand_in::{self, Asked};
use crate::{FETCHED, at, config, entries, numbered, open, response};

/// How often the server refuses the target page.
const REFUSALS: usize = 3;

#[derive(Default)]
struct Seen {
    refused: usize,
    target_is_there: bool,
    left_before: bool,
    left: bool,
}

/// Page 1 became an alias of page 2.
fn alias() -> PageEvent {
    let mut event = at(numbered(1), FETCHED + 10);
    event.change = Some(PageChange::Gone);
    let (of, target) = ("http://a.example/2".to_owned(), "http://a.example/2".to_owned());
    event.withheld = Some(Withheld::Alias { of, target });
    event
}

/// Takes everything else in a bulk.
fn busy_for_page_2(body: &str) -> Value {
    let lines: Vec<&str> = body.lines().collect();
    let verdict = |(number, line): (usize, &&str)| {
        let is_page_2 = || lines.get(number + 1).is_some_and(|document| document.contains("Page 2"));
        match line {
            line if line.starts_with("{\"delete\"") => Some(json!({ "delete": { "status": 200 } })),
            line if line.starts_with("{\"index\"") && is_page_2() => Some(json!({ "index": { "status": 429 } })),
            line if line.starts_with("{\"index\"") => Some(json!({ "index": { "status": 201 } })),
            _ => None,
        }
    };
    json!({ "items": lines.iter().enumerate().filter_map(verdict).collect::<Vec<_>>() })
}

/// The server is too busy for page 2 at first, whichever bulk it is in.
#[test]
fn an_alias_leaves_when_the_page_it_leads_to_is_there() {
    for bulk_documents in [1, 500] {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let by_server = seen.clone();
        let url = stand_in::serve(Arc::new(move |asked: &Asked| {
            if !asked.is_bulk_of_pages() {
                return None;
            }
            let (mut seen, body) = (by_server.lock().unwrap(), String::from_utf8_lossy(&asked.body).into_owned());
            let is_refused = body.contains("Page 2") && seen.refused < REFUSALS;
            seen.refused += usize::from(is_refused);
            seen.target_is_there |= body.contains("Page 2") && !is_refused;
            seen.left |= body.contains("\"delete\"");
            seen.left_before |= seen.left && !seen.target_is_there;
            is_refused.then(|| (200, busy_for_page_2(&body)))
        }));
        let mut config = config(&[&url], "aliases");
        config.bulk_documents = bulk_documents;
        let mut sink = open(&config);
        deliver(&mut sink, &entries([numbered(1)])).unwrap();
        let delivered = deliver(&mut sink, &entries([numbered(2), alias(), numbered(3)])).unwrap();
        assert_eq!((delivered.delivered, delivered.dead), (4, 0));
        let seen = seen.lock().unwrap();
        assert!(seen.left && seen.refused == REFUSALS);
        assert!(!seen.left_before, "{bulk_documents} a bulk: the alias left while its target was not there");
    }
}

/// The alias has two indices. A 304 sets the time of a document where it is, and never an older time.
#[test]
fn a_304_sets_the_time_behind_an_alias_that_was_rolled_over() {
    let server = Arc::new(Mutex::new(Server::new(1)));
    let ask = move |method: &str, path: &str, body: &[u8]| server.lock().unwrap().answer(method, path, body, 0);
    let (ask, body) = (Arc::new(ask), |value: Value| value.to_string().into_bytes());
    let by_server = ask.clone();
    let url = stand_in::serve(Arc::new(move |asked: &Asked| {
        let reply = by_server(&asked.method, &asked.path, &asked.body);
        Some((reply.status, reply.body))
    }));
    ask("PUT", "/rolled-1", &body(json!({ "aliases": { "rolled": { "is_write_index": true } } })));
    ask("PUT", "/rolled-2", &body(json!({})));
    let mut sink = open(&config(&[&url], "rolled"));
    deliver(&mut sink, &entries([numbered(1), numbered(2)])).unwrap();
    let write = |index: &str, is_write: bool| json!({ "add": { "index": index, "alias": "rolled", "is_write_index": is_write } });
    let rolled =
        ask("POST", "/_aliases", &body(json!({ "actions": [write("rolled-1", false), write("rolled-2", true)] })));
    assert_eq!(rolled.status, 200, "{}", rolled.body);
    let unchanged = |n: usize| {
        let mut event = at(numbered(n), FETCHED + 10);
        event.change = Some(PageChange::Unchanged);
        response(&mut event).status = 304;
        event
    };
    // As after the sink was opened again: page 1 has a newer document than the 304.
    let events = [unchanged(1), at(numbered(1), FETCHED + 20), unchanged(2)];
    let delivered = deliver(&mut sink, &entries(events)).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (5, 0));
    let retrieved = |index: &str, n: usize| {
        let url = format!("http://a.example/{n}");
        let ids = body(json!({ "ids": [document_id(&url)] }));
        let found = ask("POST", &format!("/{index}/_mget"), &ids).body;
        ElasticDocument::deserialize(&found["docs"][0]["_source"]).ok().map(|document| document.retrieved)
    };
    assert_eq!((retrieved("rolled-1", 1), retrieved("rolled-2", 1)), (None, Some(FETCHED + 20)));
    assert_eq!((retrieved("rolled-1", 2), retrieved("rolled-2", 2)), (Some(FETCHED + 10), None));
}
