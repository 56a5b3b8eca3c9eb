//! Pages that are gone, come back, or are unchanged: the index ends up with the live ones, whatever the order of
//! arrival.

use std::sync::Arc;

use seine_delivery::Entry;
use seine_parse::page::{
    Doubt, DuplicateOf, Failure, FailureReason, Likeness, Outcome, PageChange, PageEvent, TextChange, WasDuplicate,
    Withheld,
};

use crate::support::server::Answer;
use seine::config::{Answers, Removed, Unchanged, Upkeep};
use seine::sinks::SinkContext;
use seine::sinks::elasticsearch::ElasticSink;
use serde_json::{Value, json};

use crate::conformance::{ache_mapping, deliver, document_of};
use crate::node::Node;
use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, counted, links};
use crate::{FETCHED, at, config, entries, numbered, open, response};

const PAGE: &str = "http://a.example/1";

pub fn conforms(node: &Node) {
    a_page_goes_and_comes_back(node);
    an_older_page_does_not_come_back_after_a_deletion(node);
    a_page_that_is_as_it_was_is_touched(node);
    what_may_not_be_delivered_leaves(node);
    what_is_to_be_kept_is_kept(node);
    what_is_withheld_takes_no_documents_place(node);
    small_changes_are_touched_or_left_out(node);
    duplicates_have_no_document_where_they_are_skipped(node);
    deletions_are_remembered_for_long(node);
}

/// The page `after` milliseconds, with content of that time.
fn look(after: u64, change: PageChange, status: u16) -> PageEvent {
    let mut event = at(numbered(1), FETCHED + after);
    event.change = Some(change);
    response(&mut event).status = status;
    if status == 200 {
        response(&mut event).body = format!("<title>After {after}</title><body>Text").into();
    }
    event
}

fn page(after: u64) -> PageEvent {
    look(after, PageChange::Changed, 200)
}

fn gone(after: u64) -> PageEvent {
    look(after, PageChange::Gone, 404)
}

fn unchanged(after: u64) -> PageEvent {
    look(after, PageChange::Unchanged, 304)
}

/// Title, time and version of the page's document; none if it does not exist.
fn found(node: &Node, index: &str) -> Option<(String, String, u64)> {
    (node.count_all(index) > 0).then(|| {
        let found = node.document(index, PAGE);
        let text = |field: &str| found["_source"][field].as_str().unwrap().to_owned();
        (text("title"), text("retrieved"), found["_version"].as_u64().unwrap() - FETCHED)
    })
}

fn title(node: &Node, index: &str) -> Option<String> {
    found(node, index).map(|(title, _, _)| title)
}

/// With a sink of its own. Everything is delivered.
fn deliver_all(node: &Node, index: &str, events: &[PageEvent]) {
    let mut sink = open(&config(&[&node.url], index));
    let delivered = deliver(&mut sink, &entries(events.iter().cloned())).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (events.len() as u64, 0, 0));
}

fn a_page_goes_and_comes_back(node: &Node) {
    let index = "gone-and-back";
    // In one bulk each.
    let story = [page(0), gone(10), page(20), gone(30)];
    deliver_all(node, index, &story[..2]);
    assert_eq!(title(node, index), None);
    deliver_all(node, index, &story[2..3]);
    assert_eq!(title(node, index).as_deref(), Some("After 20"));
    // Again from the beginning, as after a crash.
    deliver_all(node, index, &story[..3]);
    assert_eq!(title(node, index).as_deref(), Some("After 20"));
    deliver_all(node, index, &story);
    assert_eq!(title(node, index), None);
}

fn an_older_page_does_not_come_back_after_a_deletion(node: &Node) {
    let index = "gone-late";
    // The deletion comes first, for a document that never existed.
    deliver_all(node, index, &[gone(10)]);
    deliver_all(node, index, &[page(0)]);
    deliver_all(node, index, &[page(5), gone(7)]);
    assert_eq!(title(node, index), None);
    deliver_all(node, index, &[page(11)]);
    deliver_all(node, index, &[gone(10)]);
    assert_eq!(title(node, index).as_deref(), Some("After 11"));
}

fn a_page_that_is_as_it_was_is_touched(node: &Node) {
    let index = "touched";
    let retrieved = |after: u64| format!("2026-11-21T14:37:{:06.3}+0000", 5.985 + after as f64 / 1000.0);
    let is = |title: &str, time: u64, version: u64| {
        assert_eq!(found(node, index), Some((title.to_owned(), retrieved(time), version)));
    };
    // An unchanged page does not create a document.
    deliver_all(node, index, &[unchanged(5)]);
    assert_eq!(title(node, index), None);
    // In one bulk with its page, and twice.
    deliver_all(node, index, &[page(10), unchanged(100), unchanged(200)]);
    is("After 10", 200, 11);
    let mut expected = document_of(&entries([page(10)])[0]);
    expected["retrieved"] = json!(retrieved(200));
    assert_eq!(node.document(index, PAGE)["_source"], expected);
    // Late or repeated touches change nothing; neither does an older page.
    deliver_all(node, index, &[unchanged(100)]);
    deliver_all(node, index, &[page(10), unchanged(200)]);
    deliver_all(node, index, &[page(5)]);
    is("After 10", 200, 11);
    // A newer page does, and no earlier touch sets its time back.
    deliver_all(node, index, &[page(300)]);
    deliver_all(node, index, &[unchanged(200)]);
    is("After 300", 300, 300);
    deliver_all(node, index, &[unchanged(400), gone(500), unchanged(450)]);
    assert_eq!(title(node, index), None);
}

fn what_may_not_be_delivered_leaves(node: &Node) {
    let index = "withheld";
    let unlisted = |after| PageEvent { withheld: Some(Withheld::Noindex), ..look(after, PageChange::Gone, 200) };
    let failure = Failure { reason: FailureReason::RobotsDenied, message: "robots.txt disallows it".into() };
    let denied = |after| PageEvent { outcome: Outcome::Failure(failure.clone()), ..gone(after) };
    for leaves in [unlisted(10), denied(30)] {
        let before = leaves.ended_ms - FETCHED;
        deliver_all(node, index, &[page(before - 5)]);
        assert!(title(node, index).is_some());
        deliver_all(node, index, &[leaves]);
        assert_eq!(title(node, index), None);
    }
    // A page that was withheld from the beginning never gets a document.
    let never = PageEvent { change: None, ..unlisted(40) };
    let mut sink = open(&config(&[&node.url], index));
    let delivered = deliver(&mut sink, &entries([never])).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, title(node, index)), (0, 1, None));
}

fn what_is_to_be_kept_is_kept(node: &Node) {
    let index = "kept";
    let deliver_as = |unchanged: Unchanged, events: Vec<PageEvent>| {
        let folder = tempfile::tempdir().unwrap();
        let upkeep =
            Upkeep { unchanged, removed: Removed::Keep, min_change: 0, skip_duplicates: false, answers: Answers::None };
        let mut sink =
            ElasticSink::open(&config(&[&node.url], index), upkeep, &SinkContext::new(folder.path())).unwrap();
        let entries: Vec<Arc<Entry>> = entries(events);
        let delivered = deliver(&mut sink, &entries).unwrap();
        assert_eq!(delivered.up_to, entries.last().unwrap().end);
        (delivered.delivered, delivered.skipped)
    };
    let again = |after| look(after, PageChange::Unchanged, 200);
    assert_eq!(deliver_as(Unchanged::Skip, vec![page(0), again(10), unchanged(20), gone(30)]), (1, 3));
    assert_eq!(title(node, index).as_deref(), Some("After 0"));
    assert_eq!(deliver_as(Unchanged::Send, vec![again(10), unchanged(20), gone(30)]), (1, 2));
    assert_eq!(found(node, index).map(|(title, _, version)| (title, version)), Some(("After 10".to_owned(), 10)));
}

/// An index that keeps what has gone gets no answer that is not the page of its URL, either.
fn what_is_withheld_takes_no_documents_place(node: &Node) {
    let index = "kept-withheld";
    let place = Place::with(
        "target_storage.data_formats: [ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.removed: keep\n",
    );
    let upkeep = seine::config::load(Some(&place.config()), &[]).unwrap().config.sinks[0].upkeep;
    assert_eq!(upkeep.removed, Removed::Keep);
    let deliver_as = |events: Vec<PageEvent>| {
        let folder = tempfile::tempdir().unwrap();
        let context = SinkContext::new(folder.path());
        let mut sink = ElasticSink::open(&config(&[&node.url], index), upkeep, &context).unwrap();
        let delivered = deliver(&mut sink, &entries(events)).unwrap();
        (delivered.delivered, delivered.skipped, delivered.dead)
    };
    assert_eq!(deliver_as(vec![page(0)]), (1, 0, 0));
    let alias = Withheld::Alias { of: "http://a.example/2".into(), target: "http://a.example/2".into() };
    let doubted = Withheld::Doubted { doubt: Doubt::Empty, seen_ms: FETCHED + 10 };
    for (withheld, after) in [Withheld::Noindex, Withheld::Cut, doubted, alias].into_iter().zip(10..) {
        for change in [None, Some(PageChange::Gone)] {
            let event = PageEvent { withheld: Some(withheld.clone()), change, ..page(after) };
            assert_eq!(deliver_as(vec![event]), (0, 1, 0), "{withheld:?}, {change:?}");
            assert_eq!(found(node, index).map(|(title, _, version)| (title, version)), Some(("After 0".into(), 0)));
        }
    }
}

/// For other destinations they are new, changed or unchanged; here that does not matter.
fn duplicates_have_no_document_where_they_are_skipped(node: &Node) {
    let of = DuplicateOf { url: "http://a.example/first".into(), distance: 1, text: Some(7), ..DuplicateOf::default() };
    let judged = |event: PageEvent, is_duplicate: bool, was_duplicate| {
        let of = is_duplicate.then(|| of.clone());
        PageEvent { likeness: Some(Likeness::new(None, of, 3)), was_duplicate, ..event }
    };
    let same = |after| look(after, PageChange::Unchanged, 200);
    let (no, yes, unknown) = (WasDuplicate::No, WasDuplicate::Yes, WasDuplicate::Unknown);
    let story = [
        (judged(look(5, PageChange::New, 200), false, no), Some(5), Some(5)),
        (judged(gone(6), false, no), None, None),
        (judged(look(10, PageChange::New, 200), true, no), None, Some(10)),
        (judged(page(20), true, yes), None, Some(20)),
        (judged(same(30), false, yes), Some(30), Some(30)),
        (judged(same(40), true, no), None, Some(40)),
        (judged(gone(50), false, yes), None, None),
        (judged(look(60, PageChange::New, 200), false, no), Some(60), Some(60)),
        (judged(same(70), true, unknown), None, Some(70)),
        (judged(same(80), false, unknown), Some(80), Some(80)),
        (judged(gone(90), false, no), None, None),
    ];
    for skip_duplicates in [true, false] {
        let index = if skip_duplicates { "without-duplicates" } else { "with-duplicates" };
        for (event, without, with) in &story {
            let folder = tempfile::tempdir().unwrap();
            let upkeep = Upkeep { skip_duplicates, ..crate::UPKEEP };
            let config = config(&[&node.url], index);
            let mut sink = ElasticSink::open(&config, upkeep, &SinkContext::new(folder.path())).unwrap();
            assert_eq!(deliver(&mut sink, &entries([event.clone()])).unwrap().dead, 0);
            let expected = if skip_duplicates { without } else { with }.map(|after: u64| format!("After {after}"));
            assert_eq!(title(node, index), expected, "{index}: {event:?}");
            if let Some(document) = expected.map(|_| node.document(index, PAGE)["_source"].clone()) {
                let told = event.duplicate_of().map(|of| json!([of.url, "near", 1]));
                let fields = ["duplicateOf", "duplicateKind", "duplicateDistance"].map(|name| document[name].clone());
                assert_eq!(json!(fields), told.unwrap_or(json!([null, null, null])));
            }
        }
    }
}

fn small_changes_are_touched_or_left_out(node: &Node) {
    let told = |after, distances: &[(u8, u8)]| {
        let text = TextChange { distances: distances.iter().copied().collect(), ..TextChange::default() };
        PageEvent { text: Some(text), ..page(after) }
    };
    let story = [page(0), told(10, &[(0, 3), (6, 3)]), told(20, &[(0, 3), (6, 6)]), told(30, &[(0, 1), (6, 1)])];
    for (unchanged, min_change, steps) in [
        (Unchanged::Touch, 0, [("After 10", 10, Some(3)), ("After 20", 20, Some(3)), ("After 30", 30, Some(1))]),
        (Unchanged::Touch, 6, [("After 0", 1, None), ("After 20", 20, Some(6)), ("After 20", 21, Some(6))]),
        (Unchanged::Skip, 6, [("After 0", 0, None), ("After 20", 20, Some(6)), ("After 20", 20, Some(6))]),
    ] {
        let index = &format!("changes-{}-{min_change}", if unchanged == Unchanged::Skip { "skip" } else { "touch" });
        let upkeep =
            Upkeep { unchanged, removed: Removed::Delete, min_change, skip_duplicates: false, answers: Answers::None };
        let deliver_one = |event: &PageEvent| {
            let folder = tempfile::tempdir().unwrap();
            let mut sink =
                ElasticSink::open(&config(&[&node.url], index), upkeep, &SinkContext::new(folder.path())).unwrap();
            let delivered = deliver(&mut sink, &entries([event.clone()])).unwrap();
            assert_eq!(delivered.dead, 0);
            delivered.skipped
        };
        assert_eq!(deliver_one(&story[0]), 0);
        for (event, (title, version, distance)) in story[1..].iter().zip(steps) {
            let skipped = deliver_one(event);
            let (found_title, retrieved, found_version) = found(node, index).unwrap();
            assert_eq!((found_title.as_str(), found_version), (title, version), "{index}");
            let document = &node.document(index, PAGE)["_source"];
            assert_eq!(document.get("distance").and_then(Value::as_u64), distance, "{index}");
            let is_left_out = unchanged == Unchanged::Skip && title != format!("After {}", event.ended_ms - FETCHED);
            assert_eq!(skipped, u64::from(is_left_out), "{index}");
            let touched = document_of(&entries([event.clone()])[0])["retrieved"].clone();
            assert_eq!(json!(retrieved) == touched, !is_left_out, "{index}");
        }
    }
}

fn gc_deletes(node: &Node, index: &str) -> Value {
    node.get(&format!("/{index}/_settings?flat_settings=true"))[index]["settings"]["index.gc_deletes"].clone()
}

fn deletions_are_remembered_for_long(node: &Node) {
    assert_eq!(gc_deletes(node, "touched"), "7d");
    // Settings of an existing index are not changed.
    node.put("/gone-theirs", &ache_mapping());
    deliver_all(node, "gone-theirs", &[page(0), gone(10)]);
    assert_eq!(gc_deletes(node, "gone-theirs"), Value::Null);
}

/// `/etag` answers 304 when it should, `/leaving` disappears, and `/back` disappears and comes back.
fn site() -> Running {
    Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", _) => Answer::html(links(&["/etag", "/leaving", "/stays"])),
            ("/etag", _) if ask.header("if-none-match") == Some("\"v1\"") => Answer::new(304, ""),
            ("/etag", _) => Answer::html("with an etag").header("etag", "\"v1\""),
            ("/leaving", 1) => Answer::html("here today"),
            ("/stays", _) => Answer::html("always the same"),
            _ => Answer::text("").status(404),
        }),
    )
}

pub fn a_crawl_leaves_the_live_pages(node: &Node) {
    // An index of an older version, which forgets deletions soon.
    node.put("/gone-crawled", &json!({}));
    let site = site();
    let place = Place::with(&format!(
        "link_storage.recrawl.interval: 1s\nlink_storage.recrawl.confirm_gone: 0\n\
         target_storage.data_formats: [ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: ['{}']\n\
         target_storage.data_format.elasticsearch.index_name: gone-crawled\n",
        node.url
    ));
    let crawl = || Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let first = crawl();
    assert!(first.stderr.contains("index.gc_deletes is 60s") && first.stderr.contains("7d"), "{}", first.stderr);
    let url = |path: &str| site.origin(0) + path;
    assert_eq!(node.count_all("gone-crawled"), 4);
    let before = node.document("gone-crawled", &url("/etag"));
    eventually("what has gone is noticed", || {
        crawl();
        place.stats()["frontier"]["gone"] == 1
    });
    assert_eq!(node.count_all("gone-crawled"), 3);
    assert_eq!(place.stats()["frontier"]["live"], 3);
    for path in ["/", "/etag", "/stays"] {
        node.document("gone-crawled", &url(path));
    }
    let after = node.document("gone-crawled", &url("/etag"));
    assert!(after["_source"]["retrieved"].as_str() > before["_source"]["retrieved"].as_str(), "{after}");
    assert_eq!(after["_source"]["html"], before["_source"]["html"]);
    let audit = run(&["audit", place.data().to_str().unwrap(), "--destinations"]).ok();
    assert!(audit.stdout.contains("✓ at elasticsearch"), "{}", audit.stdout);
}

/// From its second fetch on, `/unlisted` asks not to be indexed and `/opted` not to train models; robots.txt forbids
/// `/denied`.
fn leaving() -> Running {
    Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", _) => Answer::html(links(&["/unlisted", "/opted", "/denied", "/outside", "/stays"])),
            ("/unlisted", 1) => Answer::html("for everybody"),
            ("/unlisted", _) => Answer::html("<meta name=robots content=noindex>for some"),
            ("/opted", 1) => Answer::html("for everything").header("content-usage", "search=y"),
            ("/opted", _) => Answer::html("<meta name=tdm-reservation content=1>for people"),
            ("/robots.txt", _) => Answer::text("User-agent: *\nDisallow: /denied\n"),
            ("/denied" | "/outside" | "/stays", _) => Answer::html(ask.path().to_owned()),
            _ => Answer::text("").status(404),
        }),
    )
}

pub fn what_is_forbidden_leaves_the_index(node: &Node) {
    const OBEY: &str = "link_storage.disallow_sites_in_robots_file";
    const BLACKLIST: &str = "link_storage.link_strategy.blacklist";
    let index = "forbidden";
    let site = leaving();
    let place = Place::with(&format!(
        "link_storage.recrawl: {{interval: 1s, confirm_gone: 0}}\nlink_storage.download_sitemap_xml: false\n\
         target_storage.data_formats: [ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: ['{}']\n\
         target_storage.data_format.elasticsearch.index_name: {index}\n",
        node.url
    ));
    place.set("purpose", "train-ai");
    place.set(OBEY, "false");
    let crawl =
        |seeds: &[String], more: &[&str]| Process::start(place.crawl(seeds, &[&["--delay", "0"], more].concat()));
    crawl(&[site.origin(0) + "/"], &[]).wait().ok();
    assert_eq!(node.count_all(index), 6);
    let asked = node.document(index, &(site.origin(0) + "/opted"))["_source"]["preferences"].clone();
    assert_eq!(asked, serde_json::json!([{ "scheme": "content-usage", "source": "header", "says": ["search=y"] }]));

    place.set(OBEY, "true");
    place.set(BLACKLIST, "['.*/outside']");
    let process = crawl(&[], &["--stay"]);
    eventually("the first has left", || node.count_all(index) < 6);
    assert!(process.kill());
    eventually("all have left", || {
        crawl(&[], &[]).wait().ok();
        node.count_all(index) == 2
    });
    for path in ["/", "/stays"] {
        node.document(index, &(site.origin(0) + path));
    }
    assert_eq!(place.stats()["frontier"]["live"], 2);

    place.set(OBEY, "false");
    place.set(BLACKLIST, "[]");
    crawl(&[], &[]).wait().ok();
    assert_eq!(node.count_all(index), 4);
    let audit = run(&["audit", place.data().to_str().unwrap(), "--destinations"]).ok();
    assert!(audit.stdout.contains("✓ at elasticsearch"), "{}", audit.stdout);
}
