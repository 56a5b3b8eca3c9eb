//! The whole program with this sink.

use std::collections::BTreeMap;

use crate::support::server::Answer;

use crate::broker::{BROKER, Seen};
use crate::gone::compacted;
use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, counted, links};

/// Pages that behave differently at a second request.
fn site() -> Running {
    Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", _) => Answer::html(links(&["/same", "/changing", "/leaving", "/busy", "/never"])),
            ("/same", _) => Answer::html("always the same"),
            ("/changing", times) => Answer::html(format!("version {times}")),
            ("/leaving", 1) => Answer::html("here today"),
            // Busy in between: the last content counts, not the last answer.
            ("/busy", 2) => Answer::text("").status(503),
            ("/busy", times) => Answer::html(if times < 3 { "first" } else { "second" }),
            _ => Answer::text("").status(404),
        }),
    )
}

pub fn path_of(message: &Seen, origin: &str) -> String {
    let url = percent_encoding::percent_decode_str(&message.key).decode_utf8().unwrap().into_owned();
    url.strip_prefix(origin).unwrap().to_owned()
}

/// Each path's `change` headers, in order.
fn changes(seen: &[Seen], origin: &str) -> BTreeMap<String, Vec<String>> {
    let mut ordered: Vec<&Seen> = seen.iter().collect();
    ordered.sort_by_key(|message| message.id());
    let mut changes = BTreeMap::<String, Vec<String>>::new();
    for message in ordered {
        let path = path_of(message, origin);
        changes.entry(path).or_default().push(message.headers["change"].clone());
    }
    changes
}

#[test]
fn each_message_says_what_became_of_its_page() {
    BROKER.make_topic("crawled", &[]);
    let site = site();
    let place = Place::with(
        "link_storage.recrawl: {interval: 1s, confirm_gone: 0}\n\
         target_storage.data_format.kafka.topic_name: of-the-file\n\
         target_storage.data_format.kafka.properties: {bootstrap: {servers: 'nowhere.invalid:1'}, linger.ms: 5}\n",
    );
    let options = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "crawled", "--kafka-servers", &BROKER.plain];
    let seeds = [site.origin(0) + "/"];
    Process::start(place.crawl(&seeds, &options)).wait().ok();
    let first = changes(&BROKER.read("crawled"), &site.origin(0));
    assert_eq!(first.keys().collect::<Vec<_>>(), ["/", "/busy", "/changing", "/leaving", "/same"]);
    assert!(first.values().all(|changes| changes[0] == "new"), "{first:?}");

    // A run does what is due and ends, so a later run rechecks the pages.
    let mut both = first;
    eventually("every page that is there was looked at again", || {
        Process::start(place.crawl(&seeds, &options)).wait().ok();
        both = changes(&BROKER.read("crawled"), &site.origin(0));
        both.values().all(|changes| changes.len() >= 2)
    });
    for (path, again) in [("/", "unchanged"), ("/same", "unchanged"), ("/changing", "changed"), ("/busy", "changed")] {
        assert_eq!((both[path][0].as_str(), both[path][1].as_str()), ("new", again), "{path}");
    }
    assert_eq!(both["/leaving"], ["new", "gone"]);
    assert!(both["/busy"][2..].iter().all(|change| change == "unchanged"));
    assert!(!both.contains_key("/never"));
    // A compacted topic holds the same pages as the frontier, and the counters agree.
    let live = compacted(BROKER.read("crawled"));
    let paths: Vec<String> = live.values().map(|message| path_of(message, &site.origin(0))).collect();
    assert_eq!(paths, ["/", "/busy", "/changing", "/same"]);
    assert_eq!(place.stats()["frontier"]["live"], paths.len());
    run(&["audit", place.data().to_str().unwrap(), "--destinations"]).ok();
}

/// From its second fetch on, `/unlisted` asks not to be indexed and `/opted` not to train models; robots.txt forbids
/// `/denied`.
fn leaving() -> Running {
    Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", _) => Answer::html(links(&["/unlisted", "/opted", "/denied", "/outside", "/stays"])),
            ("/unlisted", 1) => Answer::html("for everybody"),
            ("/unlisted", _) => Answer::html("for some").header("x-robots-tag", "noindex"),
            ("/opted", 1) => Answer::html("for everything"),
            ("/opted", _) => Answer::html("for people").header("content-usage", "train-ai=n"),
            ("/robots.txt", _) => Answer::text("User-agent: *\nDisallow: /denied\n"),
            ("/denied" | "/outside" | "/stays", _) => Answer::html(ask.path().to_owned()),
            _ => Answer::text("").status(404),
        }),
    )
}

#[test]
fn what_is_forbidden_leaves_the_topic_with_its_reason() {
    const OBEY: &str = "link_storage.disallow_sites_in_robots_file";
    const BLACKLIST: &str = "link_storage.link_strategy.blacklist";
    BROKER.make_topic("forbidden", &[]);
    let site = leaving();
    let place = Place::with(
        "link_storage.recrawl: {interval: 1s, confirm_gone: 0}\nlink_storage.download_sitemap_xml: false\n",
    );
    place.set("purpose", "train-ai");
    place.set(OBEY, "false");
    let options = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "forbidden", "--kafka-servers", &BROKER.plain];
    let live = || {
        let seen = compacted(BROKER.read("forbidden"));
        seen.values().map(|message| path_of(message, &site.origin(0))).collect::<Vec<_>>()
    };
    Process::start(place.crawl(&[site.origin(0) + "/"], &options)).wait().ok();
    assert_eq!(live(), ["/", "/denied", "/opted", "/outside", "/stays", "/unlisted"]);

    place.set(OBEY, "true");
    place.set(BLACKLIST, "['.*/outside']");
    let process = Process::start(place.crawl(&[], &[&options[..], &["--stay"]].concat()));
    eventually("the first has left", || live().len() < 6);
    assert!(process.kill());
    eventually("all have left", || {
        Process::start(place.crawl(&[], &options)).wait().ok();
        live() == ["/", "/stays"]
    });
    let mut reasons = BTreeMap::<String, Vec<String>>::new();
    for message in BROKER.read("forbidden").iter().filter(|message| message.is_tombstone) {
        assert_eq!(message.headers["change"], "gone");
        if message.headers["reason"] == "opted_out" {
            let asked = r#"[{"scheme":"content-usage","source":"header","says":["train-ai=n"]}]"#;
            assert_eq!(message.headers["preferences"], asked);
        }
        let reasons = reasons.entry(path_of(message, &site.origin(0))).or_default();
        reasons.push(message.headers["reason"].clone());
        reasons.dedup(); // sent again after the kill, perhaps
    }
    let of = |reason: &str| vec![reason.to_owned()];
    assert_eq!(
        reasons.into_iter().collect::<Vec<_>>(),
        [("/denied", "robots_denied"), ("/opted", "opted_out"), ("/outside", "out_of_scope"), ("/unlisted", "noindex")]
            .map(|(path, reason)| (path.to_owned(), of(reason)))
    );
    assert_eq!(place.stats()["frontier"]["live"], 2);

    place.set(OBEY, "false");
    place.set(BLACKLIST, "[]");
    Process::start(place.crawl(&[], &options)).wait().ok();
    assert_eq!(live(), ["/", "/denied", "/outside", "/stays"]);
}

/// The answers of `seine why` for URLs in the topic, by path.
fn told(place: &Place, origin: &str, paths: &[String]) -> BTreeMap<String, serde_json::Value> {
    let data = place.data().display().to_string();
    let urls = paths.iter().map(|path| format!("{origin}{path}"));
    let arguments: Vec<String> = ["why", "--json", "-o", &data].map(str::to_owned).into_iter().chain(urls).collect();
    let said = run(&arguments).ok().json_lines();
    let path = |said: &serde_json::Value| said["url"].as_str().unwrap().strip_prefix(origin).unwrap().to_owned();
    said.iter().map(|said| (path(said), said["sinks"][0].clone())).collect()
}

/// Paths whose message is not where `seine why` says.
fn misplaced(place: &Place, origin: &str, paths: &[String], topic: &str) -> Vec<String> {
    let seen = BROKER.read(topic);
    let is_there = |path: &str, said: &serde_json::Value| {
        let at = (said["location"]["partition"].as_i64(), said["location"]["offset"].as_i64());
        let message = seen.iter().find(|message| (Some(message.partition.into()), Some(message.offset)) == at);
        said["location"]["topic"] == topic && message.is_some_and(|message| path_of(message, origin) == path)
    };
    let all = told(place, origin, paths);
    all.iter().filter(|(path, said)| !is_there(path, said)).map(|(path, said)| format!("{path} {said}")).collect()
}

#[test]
fn a_message_is_where_why_says_live_after_a_kill_and_at_rest() {
    const PAGES: usize = 600;
    let paths: Vec<String> = (0..PAGES).map(|n| format!("/{n}")).collect();
    let all = paths.clone();
    let site = Running::start(
        1,
        counted(move |ask, times| match ask.path() {
            "/robots.txt" => Answer::text("").status(404),
            "/" => Answer::html(links(&all.iter().map(String::as_str).chain(["/leaving"]).collect::<Vec<_>>())),
            "/leaving" if times > 1 => Answer::text("").status(404),
            path => Answer::html(format!("page {path}")),
        }),
    );
    let (topic, origin) = ("placed", site.origin(0));
    BROKER.make_topic(topic, &[]);
    // So long that a busy machine delivers all before they are fetched again.
    let place = Place::with("link_storage.recrawl: {interval: 16s, confirm_gone: 0}\n");
    let options = ["--delay", "0", "--sink", "kafka", "--kafka-topic", topic, "--kafka-servers", &BROKER.plain];
    let asked: Vec<String> = paths.iter().step_by(37).cloned().chain(["/leaving".to_owned()]).collect();
    let process = Process::start(place.crawl(&[origin.clone() + "/"], &[&options[..], &["--stay"]].concat()));
    eventually("all are delivered, and one has left", || {
        let is_up = place.data().join("api.sock").exists();
        is_up
            && told(&place, &origin, &asked).iter().all(|(path, said)| {
                said["state"] == if path == "/leaving" { "removed" } else { "delivered" } && !said["location"].is_null()
            })
    });
    // A refetch could come between the two reads, so the crawl is paused.
    run(&["pause", "-o", place.data().to_str().unwrap()]).ok();
    eventually("what was in flight is delivered", || misplaced(&place, &origin, &asked, topic).is_empty());
    assert!(process.kill(), "it was still running");
    assert_eq!(misplaced(&place, &origin, &asked, topic), Vec::<String>::new(), "after a kill");
    let process = Process::start(place.crawl(&[], &[&options[..], &["--stay"]].concat()));
    eventually("it runs", || {
        let status = run(&["status", "--json", "-o", place.data().to_str().unwrap()]);
        status.json_lines().iter().any(|status| !status["running"].is_null())
    });
    process.signal("TERM");
    process.wait().ok();
    assert_eq!(misplaced(&place, &origin, &asked, topic), Vec::<String>::new(), "at rest");
    let leaving = told(&place, &origin, &asked)["/leaving"].clone();
    let at = leaving["location"]["offset"].as_i64();
    let tombstone =
        BROKER.read(topic).into_iter().find(|seen| Some(seen.offset) == at && path_of(seen, &origin) == "/leaving");
    assert!(tombstone.is_some_and(|message| message.headers["change"] == "gone"), "{leaving}");
}
