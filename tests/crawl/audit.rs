//! `seine audit`: balanced counters pass, and manipulated ones fail.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use seine::sinks::dead_letters::DeadLetters;
use seine_parse::page::{Failure, FailureReason, Outcome, PageEvent};
use serde_json::Value;

use crate::event;
use crate::support::program::{Place, Process, Ran, command, eventually, run};
use crate::support::{Plan, TestSite};

fn site() -> TestSite {
    TestSite::start(Plan { pages: 60, hosts: 3, ..Plan::default() })
}

/// The folder of a finished crawl.
fn crawled() -> Place {
    let place = Place::new();
    Process::start(place.crawl(&site().seeds(), &["--delay", "0"])).wait().ok();
    place
}

fn audit(folder: &Path, more: &[&str]) -> Ran {
    let mut arguments = vec!["audit".as_ref(), folder.as_os_str()];
    arguments.extend(more.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
    run(&arguments)
}

fn book(ran: &Ran, name: &str) -> Value {
    let audit: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let books = audit["checks"].as_array().expect("checks");
    books.iter().find(|book| book["name"] == name).unwrap_or_else(|| panic!("{name} is not in {audit}")).clone()
}

/// A part of a balance.
fn part(book: &Value, what: &str) -> u64 {
    let parts = book["parts"].as_array().expect("parts");
    parts.iter().find(|part| part["what"] == what).unwrap_or_else(|| panic!("no {what}"))["count"].as_u64().unwrap()
}

#[test]
fn a_finished_crawl_balances() {
    let site = site();
    let place = Place::new();
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    let table = audit(&place.data(), &["--destinations"]).ok();
    assert!(table.stdout.lines().count() > 10, "{}", table.stdout);
    assert!(table.stdout.lines().all(|line| line.starts_with('✓')), "{}", table.stdout);
    assert_eq!(table.stderr, "");

    // Even if nobody reads the output, the exit status tells.
    let (unread, stdout) = Process::start_unread(command(&["audit".as_ref(), place.data().as_os_str()]));
    drop(stdout);
    unread.wait().ok();

    let ran = audit(&place.data(), &["--destinations", "--json"]).ok();
    let pages = site.pages().len() as u64;
    assert_eq!(part(&book(&ran, "sink files"), "delivered"), pages);
    assert_eq!(part(&book(&ran, "at files"), "readable records"), pages);
    assert_eq!(part(&book(&ran, "at files by id"), "found there by id"), pages);
    assert_eq!(part(&book(&ran, "page"), "in page"), site.oracle().len() as u64);
    assert_eq!(part(&book(&ran, "validator"), "waiting"), 0);
    assert_eq!(book(&ran, "work_proposed")["total"]["count"], 0);
}

#[test]
fn a_killed_crawl_balances_with_what_is_left_to_do() {
    let site = site();
    let place = Place::with("page_log.segment_size: 64KiB\n");
    let child = Process::start(place.crawl(&site.seeds(), &["--delay", "30"]));
    eventually("the crawl goes on", || site.running.visits.len() >= 40);
    audit(&place.data(), &[]).fails_naming(&["is running", "stop it first"]);
    assert!(child.kill());
    let ran = audit(&place.data(), &["--destinations", "--json"]).ok();
    let queue = book(&ran, "work_proposed");
    assert!(queue["total"]["count"].as_u64() > Some(0), "{queue}");
    assert_eq!(part(&book(&ran, "validator"), "validated") + part(&book(&ran, "validator"), "waiting"), {
        part(&book(&ran, "page log"), "no longer needed") + part(&book(&ran, "page log"), "readable")
    });
}

/// A copy to manipulate.
fn copy_of(place: &Place) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-a").arg(place.data()).arg(folder.path()).status().unwrap();
    assert!(copied.success());
    let data = folder.path().join("data");
    (folder, data)
}

fn only_file(folder: &Path, extension: &str) -> PathBuf {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Rewrites both slots of a cursor with correct checksums.
fn change_cursor(data: &Path, change: impl Fn(&mut Value)) {
    let path = data.join("log/cursors/files.cursor");
    let mut bytes = fs::read(&path).unwrap();
    let size = bytes.len() / 2;
    for slot in bytes.chunks_exact_mut(size) {
        let text = std::str::from_utf8(slot).unwrap().trim_end();
        let Some((_, json)) = text.split_once(' ') else { continue };
        let mut stored: Value = serde_json::from_str(json).unwrap();
        change(&mut stored["cursor"]);
        let json = stored.to_string();
        let text = format!("{:08x} {json}", crc32fast::hash(json.as_bytes()));
        slot.fill(b' ');
        slot[..text.len()].copy_from_slice(text.as_bytes());
        slot[size - 1] = b'\n';
    }
    fs::write(path, bytes).unwrap();
}

fn add(value: &mut Value, by: i64) {
    *value = (value.as_i64().unwrap() + by).into();
}

#[test]
fn tampering_is_found_and_named() {
    let place = crawled();
    let (_folder, data) = copy_of(&place);
    change_cursor(&data, |_| {});
    audit(&data, &[]).ok();

    change_cursor(&data, |cursor| add(&mut cursor["delivered"], -3));
    let ran = audit(&data, &[]).fails_naming(&["do not balance", "sink files is off by 3", "log/cursors"]);
    assert!(ran.stdout.lines().any(|line| line.starts_with("✗ sink files")), "{}", ran.stdout);
    let ran = audit(&data, &["--json"]);
    assert_eq!(book(&ran, "sink files")["off_by"], 3);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["balances"], false);

    // Bytes of a page are changed in the log.
    let (_folder, data) = copy_of(&place);
    let segment = only_file(&data.join("log"), "log");
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    audit(&data, &[]).fails_naming(&["page log is off by 1"]);

    // The last event is cut off, as by a disk that loses synced data.
    let (_folder, data) = copy_of(&place);
    let segment = only_file(&data.join("log"), "log");
    let length = fs::metadata(&segment).unwrap().len();
    fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 1).unwrap();
    audit(&data, &[]).fails_naming(&["page log is off by 1", "restore"]);

    // The file that pages were delivered to.
    let (_folder, data) = copy_of(&place);
    fs::remove_file(only_file(&data.join("files"), "deflate")).unwrap();
    audit(&data, &[]).ok();
    audit(&data, &["--destinations"]).fails_naming(&[
        "at files is off by",
        "at files by page is off by",
        "files were moved",
    ]);

    // The log of another crawl, which had seen less than this frontier.
    let (_folder, data) = copy_of(&place);
    let other = Place::new();
    Process::start(other.crawl(&site().seeds(), &["--delay", "0", "--max-pages", "5"])).wait().ok();
    fs::remove_dir_all(data.join("log")).unwrap();
    fs::rename(other.data().join("log"), data.join("log")).unwrap();
    audit(&data, &[]).fails_naming(&["page log is off by", "sink files is off by"]);
}

#[test]
fn what_is_no_crawl_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    audit(folder.path(), &[]).fails_naming(&["has no crawl"]);
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "an audit makes nothing");
    let place = crawled();
    audit(&place.data(), &["--destinations", "-c", "/nowhere/seine.yml"]).fails_naming(&["/nowhere/seine.yml"]);
}

fn failed(number: u64) -> PageEvent {
    let reason = FailureReason::Dns;
    let outcome = Outcome::Failure(Failure { reason, message: String::new() });
    PageEvent { id: event::id(number), outcome, ..event::page(format!("http://a.example/{number}"), &[], "") }
}

/// Dropped dead letters stay in the counters; lost ones are missed.
#[test]
fn dead_letters_are_accounted_for() {
    let place = crawled();
    let data = place.data();
    change_cursor(&data, |cursor| {
        add(&mut cursor["delivered"], -3);
        add(&mut cursor["dead"], 3);
    });
    audit(&data, &[]).fails_naming(&["files dead letters is off by 3"]);
    let mut letters = DeadLetters::open(&data.join("files")).unwrap();
    for number in 1..=3 {
        letters.add(&failed(number), "too odd").unwrap();
    }
    letters.sync().unwrap();
    drop(letters);
    audit(&data, &[]).ok();

    let dead_letters = |arguments: &[&str]| {
        let mut all = vec!["dead-letters".as_ref()];
        all.extend(arguments.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
        all.extend(["--sink".as_ref(), "files".as_ref(), "-o".as_ref(), data.as_os_str()]);
        run(&all)
    };
    let (on_disk, dropped) = ("on disk", "dropped");
    for (letters, expected) in [(&[1][..], (2, 1)), (&[2, 3][..], (0, 3))] {
        let ids: Vec<String> = letters.iter().map(|number| format!("{number:032x}")).collect();
        let mut arguments = vec!["drop"];
        arguments.extend(ids.iter().map(String::as_str));
        dead_letters(&arguments).ok();
        let ran = audit(&data, &["--json"]).ok();
        let book = book(&ran, "files dead letters");
        assert_eq!((part(&book, on_disk), part(&book, dropped)), expected, "{book}");
    }
    assert!(dead_letters(&["list", "--json"]).ok().json_lines().is_empty());

    // A new letter starts a new file next to the emptied one.
    change_cursor(&data, |cursor| {
        add(&mut cursor["delivered"], -1);
        add(&mut cursor["dead"], 1);
    });
    let mut letters = DeadLetters::open(&data.join("files")).unwrap();
    letters.add(&failed(4), "too odd").unwrap();
    letters.sync().unwrap();
    drop(letters);
    audit(&data, &[]).ok();
    fs::remove_file(only_file(&data.join("files/dead_letters"), "letters")).unwrap();
    audit(&data, &[]).fails_naming(&["files dead letters is off by 1", "dead_letters/ are gone"]);
}

/// The records of one page are taken out of the file, which stays readable.
#[test]
fn a_page_that_is_missing_in_files_is_named() {
    let place = crawled();
    let file = only_file(&place.data().join("files"), "deflate");
    let records = std::io::read_to_string(ZlibDecoder::new(fs::File::open(&file).unwrap())).unwrap();
    let (first, others) = records.split_once('\n').unwrap();
    let url = serde_json::from_str::<Value>(first).unwrap()["url"].as_str().unwrap().to_owned();
    let mut rewritten = ZlibEncoder::new(fs::File::create(&file).unwrap(), Compression::fast());
    rewritten.write_all(others.as_bytes()).unwrap();
    rewritten.finish().unwrap();
    let ran = audit(&place.data(), &["--destinations"]).fails_naming(&["at files by page is off by 1 "]);
    let note = format!("files: live pages that are not there, such as {url}");
    assert!(ran.stdout.lines().any(|line| line.ends_with(&note)), "{note} is not in {}", ran.stdout);
}

/// As many records as before, but not of the pages that were delivered.
#[test]
fn records_of_files_are_compared_with_the_events_and_not_counted_alone() {
    let (place, other) = (crawled(), crawled());
    let files = |place: &Place| {
        let paths = fs::read_dir(place.data().join("files")).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    fs::copy(&files(&other)[0], &files(&place)[0]).unwrap();
    let ran = audit(&place.data(), &["--destinations", "--json"]);
    let at = book(&ran, "at files");
    assert_eq!(part(&at, "readable records"), at["total"]["count"].as_u64().unwrap());
    assert_eq!(part(&book(&ran, "at files by id"), "found there by id"), 0);
    audit(&place.data(), &["--destinations"]).fails_naming(&["at files by id is off by"]);
}
