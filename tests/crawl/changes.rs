//! How much a page has changed: reported, and small changes skipped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use seine_parse::simhash::simhash;

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, eventually, free_port, get, json_lines};
use crate::support::{Running, counted, links};

const PATHS: [&str; 4] = ["/dated", "/edited", "/drifting", "/same"];
const MIN_CHANGE: u32 = 8;

/// An article of 400 words between a menu and a footer with a date.
fn article(word: impl Fn(u32) -> String, date: u32) -> Answer {
    let words: Vec<String> = (0..400).map(word).collect();
    let paragraphs: String = words.chunks(50).map(|words| format!("<p>{}</p>", words.join(" "))).collect();
    Answer::html(format!(
        "<title>Article</title><body><ul><li><a href=/>Home</a></ul>{paragraphs}<ul><li><a href=/>Home</a></ul>\
         <div>Look {date}</div>"
    ))
}

fn answer(ask: &Ask, times: u32) -> Answer {
    match ask.path() {
        "/" => Answer::html(links(&PATHS)),
        "/dated" => article(|n| format!("word{n}"), times),
        "/edited" => article(|n| format!("version{times}-{n}"), 1),
        // At each fetch four more consecutive words have changed.
        "/drifting" => article(|n| if n < 4 * times { format!("new{n}") } else { format!("old{n}") }, 1),
        "/same" => article(|n| format!("same{n}"), 1),
        _ => Answer::text("").status(404),
    }
}

/// The documents of each path, in the order they were written.
fn documents(folder: &Path, origin: &str) -> BTreeMap<String, Vec<Value>> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let mut documents = BTreeMap::<String, Vec<Value>>::new();
    for document in files.iter().flat_map(|file| json_lines(&std::fs::read_to_string(file).unwrap())) {
        let path = document["url"].as_str().unwrap().strip_prefix(origin).unwrap().to_owned();
        documents.entry(path).or_default().push(document);
    }
    documents
}

fn bits(one: &Value, other: &Value) -> u32 {
    let text = |document: &Value| simhash(document["text"].as_str().unwrap()).expect("an article has a text");
    (text(one) ^ text(other)).count_ones()
}

#[test]
fn a_sink_gets_changes_that_are_large_enough_however_many_steps_they_take() {
    let site = Running::start(1, counted(answer));
    let place = Place::with(&format!(
        "link_storage.recrawl: {{interval: 200ms, min_interval: 100ms}}\n\
         target_storage.sinks: [{{name: told, format: ELASTIC}}, \
         {{name: spare, format: ELASTIC, options: {{unchanged: skip, min_change: {MIN_CHANGE}}}}}]\n"
    ));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let start = || {
        let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
        Process::start(place.crawl(&[site.origin(0) + "/"], &more))
    };
    let changed = || {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        let line = metrics.lines().find_map(|line| line.strip_prefix("seine_validated_total{change=\"changed\"} "));
        line.map_or(0, |value| value.parse::<u32>().unwrap())
    };
    // The stored texts survive the process.
    for _ in 0..2 {
        let process = start();
        eventually("pages have changed", || changed() >= 36);
        process.signal("TERM");
        process.wait().ok();
    }
    // The rest that was not delivered at the signal, and nothing more.
    place.set("link_storage.recrawl", "{interval: null}");
    Process::start(place.crawl(&[], &[])).wait().ok();

    let [told, spare] = ["told", "spare"].map(|sink| documents(&place.data().join(sink), &site.origin(0)));
    let ids = |documents: &[Value]| documents.iter().map(|it| it["eventId"].clone()).collect::<Vec<_>>();
    for (path, documents) in told.iter().filter(|(path, _)| *path != "/") {
        let looks: Vec<&Value> = documents.iter().filter(|it| it["change"] != "unchanged").collect();
        assert_eq!((&looks[0]["change"], looks[0].get("distance")), (&Value::from("new"), None), "{path}");
        let mut due = vec![looks[0].clone()];
        for look in looks.windows(2) {
            assert_eq!(look[1]["distance"], bits(look[0], look[1]), "{path}");
            let distance = bits(due.last().unwrap(), look[1]);
            if distance >= MIN_CHANGE {
                due.push(look[1].clone());
            }
        }
        assert_eq!(ids(&spare[path]), ids(&due), "{path}");
        let from_last = spare[path].windows(2).map(|pair| (pair[1]["distance"].clone(), bits(&pair[0], &pair[1])));
        from_last.for_each(|(told, bits)| assert_eq!(told, bits, "{path}"));
        match path.as_str() {
            "/dated" => assert!(looks.len() > 5 && due.len() == 1),
            "/edited" => assert!(looks.len() > 5 && due.len() == looks.len()),
            "/drifting" => assert!(due.len() > 1 && due.len() < looks.len(), "{} of {}", due.len(), looks.len()),
            _ => assert_eq!((looks.len(), due.len()), (1, 1)),
        }
    }
    // Skipped changes are counted.
    let stats = place.stats();
    let books = |name: &str| stats["sinks"].as_array().unwrap().iter().find(|sink| sink["name"] == name).unwrap();
    let skipped = |name: &str| books(name)["skipped"].as_u64().unwrap();
    let left_out = told.values().flatten().count() - spare.values().flatten().count();
    assert_eq!(skipped("spare") - skipped("told"), left_out as u64);
}
