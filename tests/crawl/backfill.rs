//! A sink that is added later gets what the page log no longer has from an archive of the crawl: once, whatever is
//! killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;

use crate::support::program::{Place, Process, Ran, cat, count, eventually, run};
use crate::support::{Plan, TestSite};

/// Dozens of segments.
fn site() -> TestSite {
    TestSite::start(Plan { pages: 150, hosts: 3, text: 8000, ..Plan::default() })
}

fn small_segments() -> Place {
    Place::with("page_log.segment_size: 64KiB\n")
}

/// `--from-archive` with the crawl's FILES.
fn archive(place: &Place) -> [String; 2] {
    ["--from-archive".to_owned(), place.data().join("files").display().to_string()]
}

/// A complete run with these sinks. Repeated seeds would be fetched again.
fn go_on(place: &Place, sinks: &[&str], more: &[String]) -> Ran {
    Process::start(command(place, sinks, more)).wait().ok()
}

fn command(place: &Place, sinks: &[&str], more: &[String]) -> Command {
    let sinks = sinks.iter().flat_map(|name| ["--sink", name]);
    let mut command = place.crawl(&[], &["--delay", "0"]);
    command.args(sinks).args(more);
    command
}

/// Only FILES, until it has 100 pages.
fn begin(place: &Place, site: &TestSite) {
    let options = ["--delay", "0", "--sink", "files", "--max-pages", "100"];
    Process::start(place.crawl(&site.seeds(), &options)).wait().ok();
}

fn written(place: &Place, sink: &str) -> BTreeMap<String, usize> {
    // WARC also stores error answers; CDR31 has no status.
    let pages = cat(&place.data().join(sink)).into_iter();
    count(pages.filter(|page| page["status"].as_u64().is_none_or(|it| it / 100 == 2)).collect::<Vec<_>>().iter())
}

/// Every page of the site, once.
#[track_caller]
fn has_all_once(place: &Place, site: &TestSite, sink: &str) {
    let written = written(place, sink);
    assert_eq!(written.keys().cloned().collect::<BTreeSet<_>>(), site.pages(), "{sink}");
    let twice: BTreeMap<_, _> = written.into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(twice.is_empty(), "{sink} has twice: {twice:?}");
}

fn state(place: &Place, sink: &str) -> Option<Value> {
    let text = fs::read(place.data().join("from.archive").join(format!("{sink}.json"))).ok()?;
    serde_json::from_slice(&text).ok()
}

#[test]
fn a_sink_that_comes_later_has_every_page_once() {
    let (site, place) = (site(), small_segments());
    begin(&place, &site);
    // Sinks that exist from the beginning miss nothing.
    assert!(!place.data().join("from.archive").exists());
    let ran = go_on(&place, &["files", "warc", "cdr31"], &archive(&place));
    assert!(!ran.stderr.contains("does not get the events"), "{}", ran.stderr);
    has_all_once(&place, &site, "files");
    has_all_once(&place, &site, "warc");
    let stats = place.stats();
    let missed = |name: &str| {
        let sinks = stats["sinks"].as_array().unwrap();
        sinks.iter().find(|sink| sink["name"] == name).unwrap()["missed"].as_u64().unwrap()
    };
    assert!(missed("warc") > 0, "the log had everything: nothing was filled");
    assert_eq!(missed("files"), 0);
    assert_eq!(state(&place, "warc").unwrap()["done"], true);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();

    // With or without the option again: nothing more is delivered.
    let files: Vec<_> = fs::read_dir(place.data().join("warc")).unwrap().map(|it| it.unwrap().file_name()).collect();
    go_on(&place, &["files", "warc", "cdr31"], &archive(&place));
    go_on(&place, &["files", "warc", "cdr31"], &[]);
    has_all_once(&place, &site, "warc");
    assert_eq!(fs::read_dir(place.data().join("warc")).unwrap().count(), files.len());
}

/// The option was given once; a later start may not repeat it.
#[test]
fn what_was_begun_is_finished_without_the_option_too() {
    let (site, place) = (site(), small_segments());
    begin(&place, &site);
    // The sink that wrote the archive cannot be opened, so its files may be incomplete, and nothing is read from them.
    let (files, aside) = (place.data().join("files"), place.data().with_file_name("aside"));
    fs::rename(&files, &aside).unwrap();
    fs::write(&files, "in the way").unwrap();
    let option = ["--from-archive".to_owned(), aside.display().to_string()];
    let mut process = Process::start(command(&place, &["files", "warc"], &option));
    eventually("it is noted, and goes no further", || {
        assert!(!process.has_ended());
        state(&place, "warc").is_some() && site.visited_urls().is_superset(&site.pages())
    });
    assert!(state(&place, "warc").unwrap()["done"] == false && !place.data().join("warc").exists());
    assert!(process.kill());
    fs::remove_file(&files).unwrap();
    fs::rename(&aside, &files).unwrap();
    std::os::unix::fs::symlink(&files, &aside).unwrap();

    let ran = go_on(&place, &["files", "warc"], &[]);
    assert!(!ran.stderr.contains("does not get the events"), "{}", ran.stderr);
    has_all_once(&place, &site, "warc");
    has_all_once(&place, &site, "files");
}

#[test]
fn killed_again_and_again_it_goes_on() {
    let seed = fastrand::u64(..);
    println!("kill moments from seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let (site, place) = (site(), small_segments());
    begin(&place, &site);
    for _ in 0..12 {
        let process = Process::start(command(&place, &["files", "warc"], &archive(&place)));
        std::thread::sleep(Duration::from_millis(rng.u64(10..250)));
        process.kill();
    }
    go_on(&place, &["files", "warc"], &archive(&place));
    has_all_once(&place, &site, "warc");
    has_all_once(&place, &site, "files");
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn an_archive_that_is_not_there_is_told_before_anything_is_done() {
    let (site, place) = (site(), small_segments());
    begin(&place, &site);
    let asked = site.visits().len();
    let ran = Process::start(command(&place, &["files", "warc"], &["--from-archive".into(), "/nowhere/files".into()]));
    ran.wait().fails_naming(&["target_storage.from_archive", "/nowhere/files"]);
    assert_eq!(site.visits().len(), asked);
    assert!(!place.data().join("log/cursors/warc.cursor").exists(), "it is still new");
    // Without the option, the start explains it; with the option given later, it reports that it is too late.
    let ran = go_on(&place, &["files", "warc"], &[]);
    assert!(ran.stderr.contains("does not get the events"), "{}", ran.stderr);
    let ran = go_on(&place, &["files", "warc"], &archive(&place));
    assert!(ran.stderr.contains("this sink is not new"), "{}", ran.stderr);
    // After it was removed, the sink is new again.
    let data = place.data();
    run(&["sinks", "remove", "warc", "-o", data.to_str().unwrap()]).ok();
    fs::remove_dir_all(data.join("warc")).unwrap();
    go_on(&place, &["files", "warc"], &archive(&place));
    has_all_once(&place, &site, "warc");
}
