//! Pages that are gone or unchanged: a compacted topic ends up with the live ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seine_delivery::Entry;
use seine_parse::page::{
    Doubt, Failure, FailureReason, Outcome, PageChange, PageEvent, TextChange, Truncated, Withheld,
};

use crate::support::server::{Answer, Ask};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use seine::archive::inputs::{ArchiveInputs, FoundInput, InputOptions};
use seine::sinks::dead_letters::DeadLetters;
use seine::sinks::{Delivered, Sink};
use serde_json::json;

use crate::broker::{BROKER, Seen};
use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, links};
use crate::{entries, event, finish, html, kafka_config, open, response};

const KEYS: &str = "target_storage.data_format.kafka";

/// Event `number` of page `page`.
fn seen(number: u64, page: u64, change: PageChange, status: u16) -> PageEvent {
    let url = format!("http://a.example/{page}");
    let mut event = html(number, &format!("<title>{number}</title>"));
    (event.url, event.final_url, event.change) = (url.clone(), url, Some(change));
    response(&mut event).status = status;
    event
}

/// Two pages. One disappears for good. The other disappears, comes back, and is fetched twice more: a 304, and a 200.
fn story() -> Vec<Arc<Entry>> {
    use PageChange::{Gone, New, Unchanged};
    entries([
        seen(0, 1, New, 200),
        seen(1, 2, New, 200),
        seen(2, 1, Gone, 404),
        seen(3, 2, Gone, 410),
        seen(4, 2, New, 200),
        seen(5, 2, Unchanged, 304),
        seen(6, 2, Unchanged, 200),
    ])
}

fn deliver(topic: &str, more: &str, story: &[Arc<Entry>]) -> Delivered {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&kafka_config(&BROKER.plain, topic, more), folder.path()).unwrap();
    sink.deliver(story).unwrap();
    let delivered = finish(&mut sink, story.last().unwrap().end.index).unwrap();
    assert_eq!(delivered.dead, 0);
    sink.close().unwrap();
    delivered
}

/// The final result of compaction: the last message of each key, without tombstones.
pub fn compacted(mut messages: Vec<Seen>) -> BTreeMap<String, Seen> {
    messages.sort_by_key(|message| (message.partition, message.offset));
    let last: BTreeMap<String, Seen> = messages.into_iter().map(|it| (it.key.clone(), it)).collect();
    last.into_iter().filter(|(_, message)| !message.is_tombstone).collect()
}

/// The number of each event in the topic, in order.
fn numbers(messages: &[Seen]) -> Vec<u64> {
    let mut numbers: Vec<u64> = messages.iter().map(|it| u64::from_str_radix(it.id(), 16).unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_compacted_topic_comes_to_hold_the_live_pages() {
    BROKER.make_topic("tombstones", &[]);
    let delivered = deliver("tombstones", "", &story());
    // A 304 has no message.
    assert_eq!((delivered.delivered, delivered.skipped), (6, 1));
    let messages = BROKER.read("tombstones");
    assert_eq!(numbers(&messages), [0, 1, 2, 3, 4, 6]);
    for message in &messages {
        let reason = match message.id() {
            id if id == event::id(2) => Some("http_404"),
            id if id == event::id(3) => Some("http_410"),
            _ => None,
        };
        assert_eq!(message.headers.get("reason").map(String::as_str), reason);
        assert_eq!((message.is_tombstone, message.headers["change"] == "gone"), (reason.is_some(), reason.is_some()));
        assert_eq!(message.headers["schema"], "files");
    }
    let partition = |page: &str| messages.iter().find(|it| it.key.ends_with(page)).unwrap().partition;
    assert!(messages.iter().all(|it| it.partition == partition(&it.key[it.key.len() - 1..])));
    let live = compacted(messages);
    assert_eq!(live.keys().collect::<Vec<_>>(), ["http%3A%2F%2Fa.example%2F2"]);
    assert_eq!(live.values().next().unwrap().id(), event::id(6));

    // Delivered again from the beginning, as after a crash, the result is the same.
    deliver("tombstones", "", &story());
    let again = compacted(BROKER.read("tombstones"));
    assert_eq!(again.into_values().map(|it| it.id().to_owned()).collect::<Vec<_>>(), [event::id(6)]);
    // A reader of the topic as an archive gets only pages.
    let address = format!("kafka://{}/tombstones", BROKER.plain);
    let parts =
        ArchiveInputs::open(&[address], InputOptions::default()).unwrap().filter_map(|found| match found.unwrap() {
            FoundInput::Input(part) => Some(part),
            _ => None,
        });
    let pages: usize = parts
        .map(|part| seine::archive::read::Pages::open(&part, 0, &Default::default()).unwrap())
        .map(|pages| pages.map(Result::unwrap).count())
        .sum();
    assert_eq!(pages, 8);
}

#[test]
fn messages_say_why_a_page_was_cut() {
    BROKER.make_topic("cut", &[]);
    let mut cut = seen(1, 2, PageChange::New, 200);
    response(&mut cut).truncated = Some(Truncated::Disconnect);
    deliver("cut", "", &entries([seen(0, 1, PageChange::New, 200), cut]));
    let mut messages = BROKER.read("cut");
    messages.sort_by_key(|message| message.id().to_owned());
    let said: Vec<_> = messages.iter().map(|message| message.headers.get("truncated").map(String::as_str)).collect();
    assert_eq!(said, [None, Some("disconnect")]);
}

#[test]
fn messages_say_how_much_has_changed_and_small_changes_are_left_out() {
    use PageChange::{Changed, New};
    let told = |number: u64, change: PageChange, distances: &[(u8, u8)]| {
        let text = TextChange { distances: distances.iter().copied().collect(), ..TextChange::default() };
        PageEvent { text: Some(text), ..seen(number, 1, change, 200) }
    };
    let story = entries([
        told(0, New, &[]),
        told(1, Changed, &[(0, 3), (6, 3)]),
        told(2, Changed, &[(0, 4), (6, 6)]),
        seen(3, 1, Changed, 200),
    ]);
    for (topic, more, expected) in [
        ("distances", String::new(), &[(0, None), (1, Some("3")), (2, Some("4")), (3, None)][..]),
        (
            "min-change",
            format!("{KEYS}: {{unchanged: skip, min_change: 6}}\n"),
            &[(0, None), (2, Some("6")), (3, None)],
        ),
    ] {
        BROKER.make_topic(topic, &[]);
        let delivered = deliver(topic, &more, &story);
        let count = expected.len() as u64;
        assert_eq!((delivered.delivered, delivered.skipped), (count, 4 - count));
        let mut messages = BROKER.read(topic);
        messages.sort_by_key(|message| message.id().to_owned());
        let distance = |message: &Seen| message.headers.get("distance").cloned();
        let found: Vec<_> = numbers(&messages).into_iter().zip(messages.iter().map(distance)).collect();
        let expected: Vec<_> = expected.iter().map(|(number, bits)| (*number, bits.map(str::to_owned))).collect();
        assert_eq!(found, expected, "{topic}");
    }
}

/// With the whole program: a page starts to redirect to another one.
#[test]
fn a_page_that_became_an_alias_leaves_the_topic() {
    BROKER.make_topic("aliases", &[]);
    let has_moved = Arc::new(AtomicBool::new(false));
    let now = has_moved.clone();
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/old", "/new"])),
            "/old" if now.load(Ordering::SeqCst) => Answer::redirect(301, "/new"),
            "/old" | "/new" => Answer::html(ask.path().to_owned()),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(&format!(
        "crawler_manager.downloader.redirects: first\nlink_storage.recrawl: {{interval: 1s, confirm_gone: 0}}\n\
         target_storage.data_formats: [KAFKA]\n{KEYS}.topic_name: aliases\n\
         {KEYS}.properties.bootstrap.servers: '{}'\n",
        BROKER.plain
    ));
    let crawl = || Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    crawl();
    let path = |key: &str| percent_encoding::percent_decode_str(key).decode_utf8().unwrap().into_owned();
    let live = || compacted(BROKER.read("aliases")).keys().map(|key| path(key)).collect::<Vec<_>>();
    let urls = ["/", "/new", "/old"].map(|path| site.origin(0) + path);
    assert_eq!(live(), urls);
    has_moved.store(true, Ordering::SeqCst);
    eventually("it is looked at again", || {
        crawl();
        live().len() < 3
    });
    assert_eq!(live(), urls[..2]);
    let messages = BROKER.read("aliases");
    let tombstones: Vec<&Seen> = messages.iter().filter(|message| message.is_tombstone).collect();
    assert_eq!(tombstones.len(), 1);
    assert_eq!(path(&tombstones[0].key), urls[2]);
    assert_eq!((&*tombstones[0].headers["change"], &*tombstones[0].headers["reason"]), ("gone", "alias"));
}

/// The first page found is delivered in place of the canonical URL, and leaves again.
#[test]
fn a_hundred_pages_that_name_one_are_one_in_the_topic() {
    BROKER.make_topic("canonical", &[]);
    let urls: Vec<String> = (0..100).map(|visit| format!("/page?visit={visit}")).collect();
    let start = links(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(start.clone()),
            "/page" => Answer::html("<link rel=canonical href=/page>"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(&format!(
        "crawler_manager.downloader.canonical: obey\ntarget_storage.data_formats: [KAFKA]\n\
         {KEYS}.topic_name: canonical\n{KEYS}.properties.bootstrap.servers: '{}'\n",
        BROKER.plain
    ));
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let path = |key: &str| percent_encoding::percent_decode_str(key).decode_utf8().unwrap().into_owned();
    let live: Vec<String> = compacted(BROKER.read("canonical")).keys().map(|key| path(key)).collect();
    assert_eq!(live, ["/", "/page"].map(|path| site.origin(0) + path));
    let asked = site.visits.all().iter().filter(|visit| visit.path.starts_with("/page")).count();
    assert!(asked <= 102, "{asked} requests");
}

#[test]
fn what_may_not_be_delivered_leaves_with_its_reason() {
    BROKER.make_topic("withheld", &[]);
    use PageChange::{Gone, New};
    let unlisted = PageEvent { withheld: Some(Withheld::Noindex), ..seen(3, 1, Gone, 200) };
    let never = PageEvent { change: None, withheld: Some(Withheld::Noindex), ..seen(4, 3, New, 200) };
    let failure = Failure { reason: FailureReason::RobotsDenied, message: "robots.txt disallows it".into() };
    let denied = PageEvent { outcome: Outcome::Failure(failure), ..seen(5, 2, Gone, 200) };
    let story = entries([seen(0, 1, New, 200), seen(1, 2, New, 200), unlisted, never, denied]);
    let delivered = deliver("withheld", "", &story);
    assert_eq!((delivered.delivered, delivered.skipped), (4, 1));
    let messages = BROKER.read("withheld");
    let said = |number: u64| {
        let message = messages.iter().find(|it| it.id() == event::id(number)).unwrap();
        let header = |name: &str| message.headers.get(name).map(String::as_str);
        (message.is_tombstone, header("change"), header("reason"), header("status"))
    };
    assert_eq!(said(3), (true, Some("gone"), Some("noindex"), Some("200")));
    assert_eq!(said(5), (true, Some("gone"), Some("robots_denied"), None));
    assert_eq!(compacted(messages).len(), 0);
}

#[test]
fn a_tombstone_does_without_the_format() {
    for format in ["CDR31", "WARC"] {
        let topic = format!("tombstones-{}", format.to_lowercase());
        BROKER.make_topic(&topic, &[]);
        deliver(&topic, &format!("{KEYS}.format: {format}\n"), &story());
        let messages = BROKER.read(&topic);
        assert_eq!(messages.iter().filter(|it| it.is_tombstone).count(), 2, "{format}");
        assert_eq!(compacted(messages).len(), 1, "{format}");
    }
}

#[test]
fn an_event_says_what_is_gone() {
    BROKER.make_topic("events", &[]);
    deliver("events", &format!("{KEYS}.removed: event\n"), &story());
    let messages = BROKER.read("events");
    assert!(messages.iter().all(|it| !it.is_tombstone));
    let last = &compacted(messages)["http%3A%2F%2Fa.example%2F1"];
    assert_eq!((&*last.headers["schema"], &*last.headers["reason"]), ("change", "http_404"));
    let value: serde_json::Value = serde_json::from_slice(&last.value).unwrap();
    let expected = json!({
        "url": "http://a.example/1", "change": "gone", "reason": "http_404", "status": 404, "time": event::FETCHED,
        "event_id": event::id(2),
    });
    assert_eq!(value, expected);
}

#[test]
fn what_is_kept_or_skipped_has_no_message() {
    for format in ["JSON", "WARC"] {
        let topic = format!("kept-{}", format.to_lowercase());
        BROKER.make_topic(&topic, &[]);
        let more = format!("{KEYS}.removed: keep\n{KEYS}.unchanged: skip\n{KEYS}.format: {format}\n");
        let delivered = deliver(&topic, &more, &story());
        assert_eq!((delivered.delivered, delivered.skipped), (3, 4), "{format}");
        assert_eq!(numbers(&BROKER.read(&topic)), [0, 1, 4], "{format}");
    }
}

/// A destination that keeps what has gone gets no answer that is not the page of its URL, either.
#[test]
fn what_is_withheld_has_no_message_where_pages_are_kept() {
    BROKER.make_topic("kept-withheld", &[]);
    let alias = Withheld::Alias { of: "http://a.example/2".into(), target: "http://a.example/2".into() };
    let doubted = Withheld::Doubted { doubt: Doubt::Empty, seen_ms: event::FETCHED };
    let reasons = [Withheld::Noindex, Withheld::Cut, doubted, alias];
    let changes = [None, Some(PageChange::Gone)];
    let withheld = reasons.iter().flat_map(|reason| changes.map(|change| (reason.clone(), change))).zip(1..);
    let withheld = withheld.map(|((reason, change), number)| PageEvent {
        withheld: Some(reason),
        change,
        ..seen(number, number % 2, PageChange::New, 200)
    });
    let story = entries([seen(0, 1, PageChange::New, 200)].into_iter().chain(withheld));
    let delivered = deliver("kept-withheld", &format!("{KEYS}.removed: keep\n"), &story);
    assert_eq!((delivered.delivered, delivered.skipped), (1, 8));
    assert_eq!(numbers(&BROKER.read("kept-withheld")), [0]);
}

#[test]
fn a_letter_of_what_is_gone_is_replayed_as_a_tombstone() {
    BROKER.make_topic("tombstones-late", &[]);
    let place = Place::with(&format!(
        "target_storage.data_formats: [KAFKA]\n{KEYS}.topic_name: tombstones-late\n\
         {KEYS}.properties.bootstrap.servers: '{}'\n",
        BROKER.plain
    ));
    let (data, config) = (place.data(), place.config());
    std::fs::create_dir_all(data.join("kafka")).unwrap();
    let mut letters = DeadLetters::open(&data.join("kafka")).unwrap();
    letters.add(&seen(2, 1, PageChange::Gone, 404), "too odd").unwrap();
    letters.sync().unwrap();
    drop(letters);
    let [data, config] = [&data, &config].map(|path| path.to_str().unwrap());
    let replayed = run(&["dead-letters", "replay", "--all", "--sink", "kafka", "-o", data, "-c", config]).ok();
    assert!(replayed.stdout.contains("1 delivered, 0 refused again"), "{}", replayed.stdout);
    let messages = BROKER.read("tombstones-late");
    assert_eq!((numbers(&messages), messages[0].is_tombstone), (vec![2], true));
}

#[test]
fn a_topic_that_is_made_is_compacted() {
    let folder = tempfile::tempdir().unwrap();
    open(&kafka_config(&BROKER.plain, "made-compacted", &format!("{KEYS}.create_topic: true\n")), folder.path())
        .unwrap();
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &BROKER.plain).create().unwrap();
    let topic = [ResourceSpecifier::Topic("made-compacted")];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let described = runtime.block_on(admin.describe_configs(&topic, &AdminOptions::new())).unwrap().remove(0).unwrap();
    let value = |name: &str| described.get(name).unwrap().value.clone().unwrap();
    assert_eq!((&*value("cleanup.policy"), &*value("delete.retention.ms")), ("compact", "604800000"));
}
