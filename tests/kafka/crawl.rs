//! The whole program with this sink.

use std::collections::BTreeMap;

use seine::demo::server::Answer;

use crate::broker::{BROKER, Seen};
use crate::gone::compacted;
use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, counted, links};

/// Pages that behave differently when they are asked for again.
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

fn path_of(message: &Seen, origin: &str) -> String {
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

    // A run does what is due, and ends: pages are looked at again by one of the next.
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
    // What a compacted topic comes to, and the frontier's pages, are the same; and the books say so.
    let live = compacted(BROKER.read("crawled"));
    let paths: Vec<String> = live.values().map(|message| path_of(message, &site.origin(0))).collect();
    assert_eq!(paths, ["/", "/busy", "/changing", "/same"]);
    assert_eq!(place.stats()["frontier"]["live"], paths.len());
    run(&["audit", place.data().to_str().unwrap(), "--destinations"]).ok();
}

/// `/unlisted` asks not to be indexed from its second look on; robots.txt forbids `/denied`.
fn leaving() -> Running {
    Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", _) => Answer::html(links(&["/unlisted", "/denied", "/outside", "/stays"])),
            ("/unlisted", 1) => Answer::html("for everybody"),
            ("/unlisted", _) => Answer::html("for some").header("x-robots-tag", "noindex"),
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
    let place = Place::with("link_storage.recrawl: {interval: 1s}\nlink_storage.download_sitemap_xml: false\n");
    place.set(OBEY, "false");
    let options = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "forbidden", "--kafka-servers", &BROKER.plain];
    let live = || {
        let seen = compacted(BROKER.read("forbidden"));
        seen.values().map(|message| path_of(message, &site.origin(0))).collect::<Vec<_>>()
    };
    Process::start(place.crawl(&[site.origin(0) + "/"], &options)).wait().ok();
    assert_eq!(live(), ["/", "/denied", "/outside", "/stays", "/unlisted"]);

    place.set(OBEY, "true");
    place.set(BLACKLIST, "['.*/outside']");
    let process = Process::start(place.crawl(&[], &[&options[..], &["--stay"]].concat()));
    eventually("the first has left", || live().len() < 5);
    assert!(process.kill());
    eventually("all have left", || {
        Process::start(place.crawl(&[], &options)).wait().ok();
        live() == ["/", "/stays"]
    });
    let mut reasons = BTreeMap::<String, Vec<String>>::new();
    for message in BROKER.read("forbidden").iter().filter(|message| message.is_tombstone) {
        assert_eq!(message.headers["change"], "gone");
        let reasons = reasons.entry(path_of(message, &site.origin(0))).or_default();
        reasons.push(message.headers["reason"].clone());
        reasons.dedup(); // sent again after the kill, perhaps
    }
    let of = |reason: &str| vec![reason.to_owned()];
    assert_eq!(
        reasons.into_iter().collect::<Vec<_>>(),
        [("/denied", "robots_denied"), ("/outside", "out_of_scope"), ("/unlisted", "noindex")]
            .map(|(path, reason)| (path.to_owned(), of(reason)))
    );
    assert_eq!(place.stats()["frontier"]["live"], 2);

    place.set(OBEY, "false");
    place.set(BLACKLIST, "[]");
    Process::start(place.crawl(&[], &options)).wait().ok();
    assert_eq!(live(), ["/", "/denied", "/outside", "/stays"]);
}
