//! A page that became an alias leaves the index after the page it leads to was indexed, and not before.

use std::sync::{Arc, Mutex};

use seine_parse::page::{PageChange, PageEvent, Withheld};
use serde_json::{Value, json};

use crate::conformance::deliver;
use crate::stand_in::{self, Asked};
use crate::{FETCHED, at, config, entries, numbered, open};

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
