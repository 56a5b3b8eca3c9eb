//! An index that is no longer the one delivered into: deleted, recreated, or on a server that was replaced by an empty
//! one.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use seine::sinks::elasticsearch::ElasticSink;
use seine::sinks::{Sink, SinkContext, SinkError};
use seine_parse::page::PageChange;
use serde_json::json;

use crate::conformance::deliver;
use crate::node::{Node, wait_until};
use crate::stand_in::{self, Asked};
use crate::support::program::{Place, Process, run};
use crate::support::server::{Answer, Ask};
use crate::support::{Running, links};
use crate::{FETCHED, UPKEEP, at, config, entries, numbered, open, response};

const PAGES: u64 = 60;

/// As on an empty server: neither the index nor its template exists.
fn drop_index(node: &Node, index: &str) {
    assert_eq!(node.ask(Method::DELETE, &format!("/{index}"), None).0, 200);
    node.ask(Method::DELETE, &format!("/_index_template/seine-{index}"), None);
}

/// Only the sink: with and without a page to deliver, and reopened with its saved state.
pub fn another_index_is_noticed(node: &Node) {
    let index = "other";
    let (config, pages) = (config(&[&node.url], index), entries((1..=3).map(numbered)));
    let folder = tempfile::tempdir().unwrap();
    let open = |state| ElasticSink::reopen(&config, UPKEEP, &SinkContext::new(folder.path()), state).unwrap();
    let mut sink = open(&serde_json::Value::Null);
    let kept = deliver(&mut sink, &pages[..1]).unwrap().state;
    // A reopened sink continues, and keeps its state until it has asked the server.
    let mut again = open(&kept);
    assert_eq!(again.flush().unwrap().state, kept);
    assert_eq!(deliver(&mut again, &pages[1..2]).unwrap().state, kept);
    // Somebody creates the index again with a mapping that accepts everything.
    drop_index(node, index);
    node.put("/other", &json!({}));
    for sink in [&mut sink, &mut again, &mut open(&kept)] {
        let error = deliver(sink, &pages[2..]).unwrap_err();
        assert!(matches!(error, SinkError::Replaced { .. }), "{error}");
        assert!(error.to_string().contains("index other was recreated"), "{error}");
    }
    assert_eq!(node.count_all(index), 0);
    // An idle sink checks the index from time to time.
    let mut idle = open(&serde_json::Value::Null);
    wait_until("it knows the index", || !idle.flush().unwrap().state.is_null());
    drop_index(node, index);
    let mut error = None;
    wait_until("it is noticed", || {
        error = idle.flush().err();
        error.is_some()
    });
    assert!(matches!(error, Some(SinkError::Replaced { .. })), "{error:?}");
    assert_eq!(node.ask(Method::HEAD, "/other", None).0, 404);
}

/// Emptied in place, the index keeps its identity. The server says how many documents there are, whatever was delivered.
#[test]
fn an_index_that_is_emptied_in_place_is_told_once() {
    let counted = Arc::new(Mutex::new(0));
    let by_server = counted.clone();
    let url = stand_in::serve(Arc::new(move |asked: &Asked| {
        let documents = *by_server.lock().unwrap();
        asked.path.ends_with("/_count").then(|| (200, json!({ "count": documents, "_shards": { "failed": 0 } })))
    }));
    let (site, place) = (site(), Place::new());
    place.set("target_storage.data_formats", "[VOID]");
    let options = format!("{{index_name: emptied, rest: {{hosts: ['{url}']}}}}");
    place.set("target_storage.sinks", &format!("[{{name: news, destination: elasticsearch, options: {options}}}]"));
    let cursor = place.data().join("log/cursors/news.cursor");
    let kept = |documents: u64| {
        let wanted = format!("\"documents\":{documents}");
        std::fs::read(&cursor).is_ok_and(|kept| String::from_utf8_lossy(&kept).contains(&wanted))
    };
    for (documents, is_told) in [(150, false), (110, false), (10, true), (160, false)] {
        *counted.lock().unwrap() = documents;
        let crawl = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
        match is_told {
            false => wait_until("the count is kept", || kept(documents)),
            true => wait_until("an expectation of so few is not kept", || !kept(110)),
        }
        crawl.signal("TERM");
        let said = crawl.wait().ok().stderr;
        assert_eq!(said.contains("most documents of the index are gone"), is_told, "{documents}: {said}");
        assert!(!is_told || (said.contains("seine sinks refill news") && said.contains("110")), "{said}");
    }
}

/// Pages never change, and answer conditional requests with 304.
fn site() -> Running {
    Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path()[1..].parse::<u64>() {
            Ok(_) if ask.header("if-none-match").is_some() => Answer::new(304, ""),
            Ok(page) => Answer::html(format!("<title>{page}</title>{}", "x ".repeat(4000))).header("etag", "\"1\""),
            Err(_) if ask.path() == "/" => {
                let paths: Vec<String> = (0..PAGES).map(|page| format!("/{page}")).collect();
                Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            Err(_) => Answer::text("").status(404),
        }),
    )
}

/// The log has only the last pages. The others are delivered with their next fetch, although the site would answer 304.
pub fn an_index_that_was_replaced_is_filled_anew(node: &Node) {
    let (index, site) = ("replaced", site());
    let elastic = "target_storage.data_format.elasticsearch";
    let place = Place::with(&format!(
        "page_log.segment_size: 64KiB\ntarget_storage.data_formats: [ELASTICSEARCH]\n{elastic}.rest.hosts: ['{}']\n\
         {elastic}.index_name: {index}\n{elastic}.flush_interval: 200ms\n\
         link_storage.recrawl: {{interval: 1s, min_interval: 1s}}\n",
        node.url
    ));
    let crawl = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    let is_full = || {
        let is_there = node.ask(Method::HEAD, &format!("/{index}"), None).0 == 200;
        is_there && node.count_all(index) == PAGES + 1
    };
    wait_until("every page is there", is_full);
    let before = site.visits.len();
    wait_until("the pages were asked for again", || site.visits.len() > before + 2 * PAGES as usize);
    drop_index(node, index);
    wait_until("every page is there again", is_full);
    assert_eq!(node.type_of(index, "url"), "keyword");
    let said = run(&["sinks".as_ref(), "-o".as_ref(), place.data().as_os_str()]).ok().stdout;
    assert!(said.contains("started again") && said.contains("replaced is gone"), "{said}");
    crawl.signal("TERM");
    let ran = crawl.wait().ok();
    assert!(ran.stderr.contains("with empty counters"), "{}", ran.stderr);
    documents_are_audited_by_their_ids(node, &place, &site);
}

/// One page has no document, and one document belongs to a page that has left. So only their number is right.
fn documents_are_audited_by_their_ids(node: &Node, place: &Place, site: &Running) {
    let audit = || run(&["audit".as_ref(), place.data().as_os_str(), "--destinations".as_ref()]);
    assert!(audit().ok().stdout.contains("✓ at elasticsearch by id"));
    let document = |page: u64| {
        let url = format!("{}/{page}", site.origin(0));
        let id = percent_encoding::utf8_percent_encode(&url, percent_encoding::NON_ALPHANUMERIC).to_string();
        format!("/replaced/_doc/{id}")
    };
    // A page out of scope leaves the index, and somebody brings it back.
    place.set("link_storage.link_strategy.blacklist", "['.*/59']");
    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    audit().ok();
    assert_eq!(node.ask(Method::PUT, &document(59), Some(&json!({ "url": "somebody's" }))).0, 201);
    assert_eq!(node.ask(Method::DELETE, &document(7), None).0, 200);
    let ran = audit().fails_naming(&["at elasticsearch by id is off by 1 ", "at elasticsearch, gone is off by 1 "]);
    assert!(ran.stdout.contains("/7") && ran.stdout.contains("/59"), "{}", ran.stdout);
}

/// Older documents are in an index that bulks no longer go to.
pub fn a_page_has_one_document_behind_an_alias_that_was_rolled_over(node: &Node) {
    node.put("/rolled-1", &json!({ "aliases": { "rolled": { "is_write_index": true } } }));
    node.put("/rolled-2", &json!({}));
    let mut sink = open(&config(&[&node.url], "rolled"));
    deliver(&mut sink, &entries((1..=10).map(numbered))).unwrap();
    assert_eq!(node.count_all("rolled-1"), 10);
    let write = |index: &str, is_write: bool| json!({ "add": { "index": index, "alias": "rolled", "is_write_index": is_write } });
    let actions = json!({ "actions": [write("rolled-1", false), write("rolled-2", true)] });
    assert_eq!(node.ask(Method::POST, "/_aliases", Some(&actions)).0, 200);
    let gone = |n: usize| {
        let mut event = at(numbered(n), FETCHED + 10);
        event.change = Some(PageChange::Gone);
        response(&mut event).status = 404;
        event
    };
    let later = (1..=6).map(|n| at(numbered(n), FETCHED + 10)).chain((7..=8).map(gone));
    deliver(&mut sink, &entries(later)).unwrap();
    assert_eq!((node.count_all("rolled-1"), node.count_all("rolled-2")), (2, 6));
    // Delivered again from the beginning, as after a crash: 9 and 10 also come to the new index, with their old
    // versions.
    let delivered = deliver(&mut sink, &entries((1..=10).map(numbered))).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (28, 0));
    assert_eq!((node.count_all("rolled-1"), node.count_all("rolled-2")), (0, 8));
    // The new index has our mapping, too.
    assert_eq!(node.type_of("rolled-2", "url"), "keyword");
}
