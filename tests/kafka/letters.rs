//! Dead letters: on disk, on the command line, and replayed.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use seine_formats::letters::{Note, Tally};
use seine_parse::page::Outcome;
use seine_parse::page::wire::Wire;

use crate::support::server::Answer;
use seine::sinks::Sink;
use seine::sinks::dead_letters::{self, DeadLetters, LetterAction};
use serde_json::Value;

use crate::broker::{BROKER, counted};
use crate::support::program::{Place, Process, run};
use crate::support::{Running, links};
use crate::{entries, finish, html, kafka_config, noise, open};

/// A sink's folder with letters of events 1 to `count`.
fn folder_with(count: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut letters = DeadLetters::open(folder.path()).unwrap();
    for number in 1..=count {
        letters.add(&html(number, &noise(number, 500)), "too odd").unwrap();
    }
    letters.sync().unwrap();
    folder
}

fn notes(folder: &Path) -> Vec<Note> {
    let mut notes = Vec::new();
    for path in dead_letters::files(folder).unwrap() {
        dead_letters::for_each(&path, &mut |note, reader| {
            let event = reader.event()?;
            assert_eq!((&event.id, &event.url), (&note.id, &note.url));
            notes.push(note);
            Ok(())
        })
        .unwrap();
    }
    notes
}

fn only_file(folder: &Path) -> PathBuf {
    let files = dead_letters::files(folder).unwrap();
    assert_eq!(files.len(), 1);
    files[0].clone()
}

#[test]
fn a_letter_holds_the_whole_event_and_why() {
    let folder = folder_with(3);
    let notes = notes(folder.path());
    assert_eq!(notes.len(), 3);
    assert_eq!((notes[0].attempts, notes[0].reason.as_str()), (1, "too odd"));
    dead_letters::for_each(&only_file(folder.path()), &mut |note, reader| {
        let number = u64::from_str_radix(&note.id, 16).unwrap();
        assert_eq!(reader.event()?, html(number, &noise(number, 500)));
        Ok(())
    })
    .unwrap();
    let size = dead_letters::size(folder.path()).unwrap();
    assert!(size > 1500, "{size}");
    assert_eq!(dead_letters::files(folder.path()).unwrap().len(), 1);
}

#[test]
fn nothing_refused_leaves_nothing_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut letters = DeadLetters::open(folder.path()).unwrap();
    letters.sync().unwrap();
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn an_event_that_comes_again_after_a_crash_is_one_letter() {
    let folder = folder_with(3);
    let mut letters = DeadLetters::open(folder.path()).unwrap();
    for number in 2..=4 {
        letters.add(&html(number, "x"), "again").unwrap();
    }
    letters.sync().unwrap();
    let ids: Vec<_> = notes(folder.path()).into_iter().map(|note| u64::from_str_radix(&note.id, 16).unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
}

#[test]
fn a_file_cut_anywhere_gives_every_whole_letter() {
    let folder = folder_with(3);
    let path = only_file(folder.path());
    let length = std::fs::metadata(&path).unwrap().len();
    let each = length / 3;
    for cut in [0, 1, 23, 24, 30, each - 1, each, each + 1, 2 * each + 100, length - 1] {
        let folder = folder_with(3);
        let path = only_file(folder.path());
        OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
        assert_eq!(notes(folder.path()).len() as u64, cut / each, "cut to {cut}");
    }
}

#[test]
fn damage_is_told_and_what_comes_before_is_read() {
    let folder = folder_with(3);
    let path = only_file(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let second = bytes.len() / 3 + 30;
    bytes[second] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let mut read = 0;
    let error = dead_letters::for_each(&path, &mut |_, _| {
        read += 1;
        Ok(())
    })
    .unwrap_err();
    assert_eq!(read, 1);
    assert!(error.to_string().contains("damaged at byte"), "{error}");
    // The file is not rewritten, which would lose the rest, …
    dead_letters::rewrite(&path, &mut |note| LetterAction::Keep(note.clone())).unwrap_err();
    assert!(std::fs::read(&path).unwrap().len() > second);
    // … and new letters are stored.
    let mut letters = DeadLetters::open(folder.path()).unwrap();
    letters.add(&html(9, "x"), "new").unwrap();
    letters.sync().unwrap();
    assert_eq!(dead_letters::files(folder.path()).unwrap().len(), 2);
}

#[test]
fn the_file_that_is_written_to_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let mut letters = DeadLetters::open(folder.path()).unwrap();
    letters.add(&html(1, "x"), "odd").unwrap();
    letters.sync().unwrap();
    let path = only_file(folder.path());
    assert!(dead_letters::lock(&path).unwrap().is_none());
    assert_eq!(notes(folder.path()).len(), 1);
    drop(letters);
    assert!(dead_letters::lock(&path).unwrap().is_some());
}

fn seine(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
    command.arg("dead-letters").args(arguments).args(["--sink", "kafka", "-o"]).arg(data);
    command.output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn letters_are_listed_shown_and_dropped() {
    let data = tempfile::tempdir().unwrap();
    let mut letters = DeadLetters::open(&data.path().join("kafka")).unwrap();
    for number in 1..=3 {
        letters.add(&html(number, "<p>café</p>"), "too\nodd").unwrap();
    }
    letters.sync().unwrap();
    drop(letters);

    let listed = lines(&seine(data.path(), &["list", "--json"]));
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[1]["url"], "http://a.example/2");
    assert_eq!(listed[1]["reason"], "too\nodd");
    let text = String::from_utf8(seine(data.path(), &["list"]).stdout).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");

    let id = format!("{:032x}", 2);
    let shown = lines(&seine(data.path(), &["show", &id]));
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["content"], "<p>café</p>");
    assert_eq!(shown[0]["event"]["outcome"]["response"]["status"], 200);

    assert!(seine(data.path(), &["drop", &id]).status.success());
    assert_eq!(lines(&seine(data.path(), &["list", "--json"])).len(), 2);
    let missing = seine(data.path(), &["drop", &id]);
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains(&id));
    assert!(!seine(data.path(), &["drop"]).status.success(), "all of them must be asked for");
    assert!(seine(data.path(), &["drop", "--all"]).status.success());
    assert!(lines(&seine(data.path(), &["list", "--json"])).is_empty());

    let nothing = seine(&data.path().join("elsewhere"), &["list"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("has no destination kafka"));
    // A crawl whose sink never had a dead letter.
    let well = data.path().join("well");
    std::fs::create_dir_all(well.join("log/cursors")).unwrap();
    std::fs::write(well.join("log/cursors/kafka.cursor"), "").unwrap();
    let none = seine(&well, &["list"]);
    assert!(none.status.success() && lines(&none).is_empty(), "{}", String::from_utf8_lossy(&none.stderr));
}

#[test]
fn a_letter_is_shown_without_cookies() {
    let data = tempfile::tempdir().unwrap();
    let mut letters = DeadLetters::open(&data.path().join("kafka")).unwrap();
    // As in an archive with credentials, and in every event of versions that did not remove them.
    let mut event = html(1, "<p>page</p>");
    event.request_headers.push("Cookie", "session=topsecret");
    if let Outcome::Response(response) = &mut event.outcome {
        let request = "GET / HTTP/1.1\r\nCookie: session=topsecret\r\n\r\n".into();
        response.wire = Some(Wire { request, ..Wire::default() });
    }
    letters.add(&event, "odd").unwrap();
    letters.sync().unwrap();
    drop(letters);
    let output = seine(data.path(), &["show", "--all"]);
    let shown = lines(&output);
    assert_eq!(shown[0]["event"]["request_headers"], serde_json::json!([["Cookie", "***"]]));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("topsecret"));
}

#[test]
fn a_replay_delivers_what_is_taken_now_and_keeps_what_is_refused_again() {
    BROKER.make_topic("before", &[("max.message.bytes", "20000")]);
    BROKER.make_topic("replayed", &[("max.message.bytes", "100000")]);
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("kafka");
    let mut sink = open(&kafka_config(&BROKER.plain, "before", ""), &folder).unwrap();
    // Too large for the first topic; one of them for the second, too.
    let event = |number: u64| html(number, &noise(number, if number == 3 { 200_000 } else { 40_000 }));
    sink.deliver(&entries((0..5).map(event))).unwrap();
    assert_eq!(finish(&mut sink, 5).unwrap().dead, 5);
    drop(sink);

    let config = data.path().join("seine.yml");
    let yaml = format!(
        "target_storage.data_format.type: KAFKA\ntarget_storage.data_format.kafka.topic_name: replayed\n\
         target_storage.data_format.kafka.properties.bootstrap.servers: '{}'\n",
        BROKER.plain
    );
    std::fs::write(&config, yaml).unwrap();
    let config = config.to_str().unwrap();

    let one = seine(data.path(), &["replay", "-c", config, &format!("{:032x}", 1)]);
    assert!(one.status.success(), "{}", String::from_utf8_lossy(&one.stderr));
    assert_eq!(notes(&folder).len(), 4);

    let all = seine(data.path(), &["replay", "-c", config, "--all"]);
    assert!(String::from_utf8_lossy(&all.stdout).contains("3 delivered, 1 refused again"), "{all:?}");
    let left = notes(&folder);
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].url.as_str(), left[0].attempts), ("http://a.example/3", 2));
    assert!(left[0].reason.contains("100000"), "{}", left[0].reason);
    let account = dead_letters::account(&folder).unwrap();
    assert_eq!((account.ids.len(), account.tally), (1, Tally { replayed: 4, dropped: 0 }));
    let seen = BROKER.read("replayed");
    assert_eq!((counted(&seen).len(), seen.len()), (4, 4));

    let without = seine(data.path(), &["replay", "--all"]);
    assert!(String::from_utf8_lossy(&without.stderr).contains("give the crawl's configuration with -c"), "{without:?}");
}

/// Given on the command line only, not in the configuration.
#[test]
fn replay_and_audit_go_where_the_crawl_went() {
    BROKER.make_topic("of-the-crawl", &[("max.message.bytes", "20000")]);
    BROKER.make_topic("said-otherwise", &[]);
    let site = Running::start_with(1, |_| {
        std::sync::Arc::new(|ask| match ask.path() {
            "/" => Answer::html(links(&["/large", "/small"])),
            "/large" => Answer::html(noise(1, 40_000)),
            path => Answer::html(path.to_owned()),
        })
    });
    let place = Place::new();
    let to_topic = ["--sink", "kafka", "--kafka-topic", "of-the-crawl", "--kafka-servers", &BROKER.plain];
    let options = [&["--delay", "0"], &to_topic[..]].concat();
    Process::start(place.crawl(&[site.origin(0) + "/"], &options)).wait().exits(5);
    let data = place.data();
    let folder = data.join("kafka");
    assert_eq!(notes(&folder).len(), 1);

    let again = seine(&data, &["replay", "--all"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains(&format!("to topic of-the-crawl at {}", BROKER.plain)), "{said}");
    assert!(said.contains("event ids"), "{said}");
    let left = notes(&folder);
    assert_eq!((left.len(), left[0].attempts), (1, 2));
    assert!(left[0].reason.contains("20000"), "{}", left[0].reason);
    run(&["audit".as_ref(), data.as_os_str(), "--destinations".as_ref()]).ok();

    let elsewhere = seine(&data, &["replay", "--all", "--kafka-topic", "said-otherwise"]);
    assert!(String::from_utf8_lossy(&elsewhere.stdout).contains("1 delivered"), "{elsewhere:?}");
    assert_eq!((notes(&folder).len(), BROKER.count("said-otherwise"), BROKER.count("of-the-crawl")), (0, 1, 2));
}
