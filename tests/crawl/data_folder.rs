//! A data folder of an earlier version, opened by this one, as the README promises. The folders in `tests/data/` come
//! from each version that changed a format (`seine --version` names them), and are never made again. Each is from a
//! crawl with two sinks. FILES has everything, VOID lags behind, so the page log has the later events.
//!
//! To add one: raise the version, then `cargo test --test crawl a_folder_of_this_version_is_packed -- --ignored`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::program::{Place, Process, cat, run};
use crate::support::{Plan, TestSite};

/// The counters when the folder was made, stored with it in the archive.
const COUNTED: &str = "stats.json";

fn folders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn tar(arguments: &[&str], archive: &Path, folder: &Path) {
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(folder).arg("-f").arg(archive).args(arguments);
    assert!(tar.status().expect("tar is there").success(), "{tar:?}");
}

#[test]
#[ignore = "writes into the repository"]
fn a_folder_of_this_version_is_packed() {
    let site = TestSite::start(Plan { pages: 60, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let crawl = |more: &[&str]| {
        let options = [&["--delay", "0", "--quiet"], more].concat();
        Process::start(place.crawl(&site.seeds(), &options)).wait().ok();
    };
    crawl(&["--sink", "files", "--sink", "void", "--max-pages", "10"]);
    crawl(&["--sink", "files", "--max-pages", "20"]);
    place.write(COUNTED, place.stats().to_string());
    let archive = folders().join(format!("{}.tar.gz", env!("CARGO_PKG_VERSION")));
    assert!(!archive.exists(), "{} is what that version wrote", archive.display());
    fs::create_dir_all(folders()).unwrap();
    tar(&["-cz", "--owner=0", "--group=0", "data", COUNTED], &archive, place.config().parent().unwrap());
}

#[test]
fn folders_of_earlier_versions_are_opened() {
    let archives: Vec<PathBuf> = fs::read_dir(folders()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!archives.is_empty());
    for archive in archives {
        println!("{}", archive.display());
        let place = Place::with("crawler_manager.downloader.allow_private_addresses: false\n");
        let folder = place.config().parent().unwrap().to_owned();
        tar(&["-xz"], &archive, &folder);
        let counted: Value = serde_json::from_slice(&fs::read(folder.join(COUNTED)).unwrap()).unwrap();
        is_read_as_it_was(&place, &counted);
        goes_on(&place, &counted);
    }
}

/// The version that opens the folder reports the same counters.
fn is_read_as_it_was(place: &Place, counted: &Value) {
    same(&place.stats(), counted, "stats");
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

fn same(now: &Value, then: &Value, at: &str) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().for_each(|(key, then)| same(&now[key], then, &format!("{at}.{key}")));
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{at}");
            now.iter().zip(then).enumerate().for_each(|(n, (now, then))| same(now, then, &format!("{at}[{n}]")));
        }
        _ => assert_eq!(now, then, "{at}"),
    }
}

/// Continues the crawl with one more sink. The rest is tried (its site is gone, and private addresses are refused), and
/// sinks that lag behind get every event in the log, as FILES has it.
fn goes_on(place: &Place, counted: &Value) {
    let had: BTreeMap<String, Value> = contents(&place.cat());
    Process::start(place.crawl(&[], &["--sink", "files", "--sink", "void", "--sink", "cdr31", "--quiet"])).wait();
    let stats = place.stats();
    let book = |stats: &Value, sink: &str, name: &str| {
        let sinks = stats["sinks"].as_array().unwrap();
        let sink = sinks.iter().find(|it| it["name"] == sink).unwrap_or_else(|| panic!("no {sink} in {stats}"));
        sink[name].as_u64().unwrap()
    };
    let lagged = book(counted, "void", "pending");
    assert!(lagged >= 10, "{counted}");
    assert_eq!(book(&stats, "void", "pending"), 0);
    assert!(book(&stats, "void", "delivered") >= book(counted, "void", "delivered") + 10, "{stats}");
    assert_eq!(contents(&place.cat()), had, "nothing is there twice, nothing is gone");
    let late = contents(&cat(&place.data().join("cdr31")));
    assert!(late.len() >= 10, "{} pages", late.len());
    assert!(late.iter().all(|(url, content)| had[url] == *content));
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

fn contents(pages: &[Value]) -> BTreeMap<String, Value> {
    pages.iter().map(|page| (page["url"].as_str().unwrap().to_owned(), page["content"].clone())).collect()
}

/// Somebody has put an older page log beside a frontier. The frontier has seen events that this log does not have.
#[test]
fn a_frontier_that_is_ahead_of_its_log_goes_on() {
    let site = TestSite::start(Plan { pages: 40, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let crawl = |seeds: &[String], more: &[&str]| {
        Process::start(place.crawl(seeds, &[&["--delay", "0"], more].concat())).wait().ok()
    };
    crawl(&site.seeds(), &["--max-pages", "10"]);
    let (log, older) = (place.data().join("log"), place.data().with_file_name("older"));
    let copied = Command::new("cp").arg("-r").arg(&log).arg(&older).status().unwrap();
    assert!(copied.success());
    crawl(&site.seeds(), &["--max-pages", "20"]);
    fs::remove_dir_all(&log).unwrap();
    fs::rename(&older, &log).unwrap();
    let ran = crawl(&site.seeds(), &["--patience", "10s"]);
    assert!(ran.stderr.contains("the page log has lost accepted events at its end"), "{}", ran.stderr);
    assert_eq!(place.stats()["frontier"]["live"], site.pages().len());
}
