//! Replays that are killed, limited to a rate, or refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::BROKER;
use crate::support::program::{Process, Ran, command, eventually, run};
use crate::{events, pages, write};

const PAGES: u64 = 3_000;

struct Place(tempfile::TempDir);

impl Place {
    /// An archive of two files, and a configuration.
    fn new(settings: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let all: Vec<_> = (0..PAGES).map(|n| events::page(n, format!("<p>{n}</p>").repeat(50))).collect();
        let (first, second) = all.split_at(all.len() / 2);
        write(crate::FILES, first, &place.at("from/1"));
        write(crate::FILES, second, &place.at("from/2"));
        std::fs::write(place.at("seine.yml"), settings).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn replay(&self, to: &str, more: &[&str]) -> std::process::Command {
        let mut command = command(&["replay", "--to", to]);
        command.arg(self.at("from")).arg("-c").arg(self.at("seine.yml")).arg("-o").arg(self.at("out")).args(more);
        command
    }

    fn state(&self, to: &str) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.at(&format!("out/{to}.json"))).ok()?).ok()
    }

    fn settled(&self, to: &str) -> u64 {
        self.state(to).map_or(0, |state| state["cursor"]["position"]["index"].as_u64().unwrap())
    }
}

fn ended(command: std::process::Command) -> Ran {
    Process::start(command).wait()
}

fn numbers(folder: &Path) -> Vec<u64> {
    pages(folder).iter().map(|page| number(&page.event.url)).collect()
}

fn number(url: &str) -> u64 {
    url.rsplit('/').next().unwrap().split('?').next().unwrap().parse().unwrap()
}

/// Kills replays until one ends by itself. Each continues after the last acknowledgement.
fn kill_until_done(place: &Place, to: &str) -> u64 {
    let mut kills = 0;
    loop {
        let before = place.settled(to);
        let mut process = Process::start(place.replay(to, &["--rate", "1000"]));
        let wanted = before + 400;
        eventually("progress", || process.has_ended() || place.settled(to) >= wanted);
        if process.has_ended() {
            process.wait().ok();
            return kills;
        }
        process.kill();
        kills += 1;
        assert!(kills < 50, "it never gets done");
    }
}

#[test]
fn killed_replays_into_files_go_on_and_write_every_page_once() {
    let place = Place::new("");
    assert!(kill_until_done(&place, "files") >= 2, "it was killed on its way");
    let mut found = numbers(&place.at("out/files"));
    found.sort_unstable();
    assert_eq!(found, (0..PAGES).collect::<Vec<_>>());
    let state = place.state("files").unwrap();
    assert_eq!((&state["done"], &state["cursor"]["delivered"]), (&Value::Bool(true), &Value::from(PAGES)));

    let again = ended(place.replay("files", &[])).ok();
    assert!(again.stderr.contains("all 3,000 pages were already delivered"), "{}", again.stderr);
    ended(place.replay("files", &["--status", "200"]))
        .fails_naming(&["belongs to another task", "started with replay"]);
}

#[test]
fn killed_replays_into_kafka_lose_nothing_and_repeat_only_what_was_in_flight() {
    BROKER.make_topic("replayed-from-files", &[]);
    let place = Place::new(&format!(
        "target_storage.data_format.kafka.topic_name: replayed-from-files\n\
         target_storage.data_format.kafka.properties.bootstrap.servers: '{}'\n",
        BROKER.plain
    ));
    let kills = kill_until_done(&place, "kafka");
    assert!(kills >= 2, "it was killed on its way");
    let seen = BROKER.read("replayed-from-files");
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for message in &seen {
        let record = seine_formats::files::parse_line(&message.value).unwrap();
        *times.entry(number(&record.url)).or_default() += 1;
    }
    assert_eq!(times.keys().copied().collect::<Vec<_>>(), (0..PAGES).collect::<Vec<_>>());
    let ids: BTreeSet<&str> = seen.iter().map(|message| message.id()).collect();
    assert_eq!(ids.len() as u64, PAGES, "a page that comes twice has one id");
    assert!(seen.len() as u64 - PAGES <= kills * 2_000, "{} messages after {kills} kills", seen.len());
}

#[test]
fn a_killed_conversion_goes_on_and_writes_every_page_once() {
    let place = Place::new("");
    let convert = || {
        let mut command = command(&["convert", "--to", "FILES"]);
        command.arg(place.at("from")).arg(place.at("converted"));
        command
    };
    let state = place.at("converted/.seine-convert.json");
    let mut kills = 0;
    loop {
        let settled = || -> u64 {
            let text = std::fs::read(&state).unwrap_or_default();
            serde_json::from_slice::<Value>(&text).map_or(0, |it| it["cursor"]["position"]["index"].as_u64().unwrap())
        };
        let before = settled();
        let mut process = Process::start(convert());
        eventually("progress", || process.has_ended() || settled() > before);
        if process.has_ended() {
            process.wait().ok();
            break;
        }
        process.kill();
        kills += 1;
        assert!(kills < 50, "it never gets done");
    }
    let mut found = numbers(&place.at("converted"));
    found.sort_unstable();
    assert_eq!(found, (0..PAGES).collect::<Vec<_>>());
    assert!(!state.exists(), "a conversion that is done leaves its files and nothing else");
}

/// Two would replace each other's open files.
#[test]
fn a_folder_is_written_by_one_at_a_time() {
    let place = Place::new("");
    let run = |words: &[&str], into: &Path| {
        let mut command = command(words);
        Process::start({
            command.arg(place.at("from")).args(if words[0] == "replay" { &["-o"][..] } else { &[] }).arg(into);
            command
        })
        .wait()
    };
    let lock = |folder: &Path| {
        std::fs::create_dir_all(folder).unwrap();
        let file = std::fs::File::open(folder).unwrap();
        file.try_lock().unwrap();
        file
    };
    let (converted, replayed) = (place.at("converted"), place.at("replayed"));
    let locked = [lock(&converted), lock(&replayed.join("files"))];
    run(&["convert", "--to", "FILES"], &converted).fails_naming(&["another seine replay or convert"]);
    run(&["replay", "--to", "files"], &replayed).fails_naming(&["another seine replay or convert"]);
    drop(locked);
    // The folder of a running crawl.
    std::fs::create_dir_all(replayed.join("log")).unwrap();
    let log = std::fs::File::create(replayed.join("log/lock")).unwrap();
    log.try_lock().unwrap();
    run(&["replay", "--to", "files"], &replayed).fails_naming(&["is running", "stop it first"]);
}

#[test]
fn a_rate_is_held() {
    let place = Place::new("");
    let started = Instant::now();
    ended(place.replay("void", &["--rate", "100", "--host", "h1.example", "--url", "/[0-9]{1,2}[?]"])).ok();
    // 33 pages at 100 a second.
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
    run(&["replay", "x", "--to", "void", "--rate", "0"]).fails_naming(&["a number above 0"]);
}

#[test]
fn pages_can_be_printed_as_a_crawl_prints_them() {
    let place = Place::new("");
    let ran = ended(place.replay("stdout", &["--url", "/7[?]"])).ok();
    let lines = ran.json_lines();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["content"].as_str().unwrap().len(), 400);
    assert!(!place.at("out").exists(), "what is printed is not kept");
    ended(place.replay("tape", &[])).fails_naming(&["TAPE", "KAFKA"]);
}

#[test]
fn a_place_that_is_gone_is_said() {
    let place = Place::new("");
    let mut process = Process::start(place.replay("files", &["--rate", "1000"]));
    eventually("progress", || process.has_ended() || place.settled("files") > 100);
    assert!(process.kill(), "it was on its way");
    std::fs::remove_dir_all(place.at("from/1")).unwrap();
    ended(place.replay("files", &[])).fails_naming(&["from/1", "is gone", "files.json"]);
    ended(place.replay("files", &["--again"])).ok();
    let found = numbers(&place.at("out/files"));
    assert!((PAGES / 2..PAGES).all(|number| found.contains(&number)));
}
