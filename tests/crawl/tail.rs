//! Damage at the end of the page log: losses are reported, their pages are fetched again, and the crawl continues.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::program::{Place, Process, run};
use crate::support::{Plan, TestSite};

/// A frontier that is behind what a sink has got from the log, for example from a backup.
#[test]
fn the_validator_passes_what_is_lost_at_the_logs_end() {
    let site = TestSite::start(Plan { pages: 60, hosts: 2, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let (data, backup) = (place.data(), place.data().with_extension("backup"));
    let crawl = |more: &[&str]| {
        let all: Vec<&str> = ["--delay", "0"].iter().chain(more).copied().collect();
        Process::start(place.crawl(&site.seeds(), &all)).wait().ok()
    };
    crawl(&["--max-pages", "10"]);
    copy(&data.join("frontier"), &backup);
    crawl(&["--max-pages", "30"]);
    fs::remove_dir_all(data.join("frontier")).unwrap();
    fs::rename(&backup, data.join("frontier")).unwrap();
    flip_the_end(&last_segment(&data.join("log")));

    let ran = crawl(&[]);
    assert!(ran.stderr.contains("the page log has lost accepted events at its end"), "{}", ran.stderr);
    assert!(site.pages().iter().all(|url| place.kept().contains_key(url)));
    run(&["audit".as_ref(), data.as_os_str()]).ok();
}

fn last_segment(log: &Path) -> PathBuf {
    let files = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|it| it == "log")).max().unwrap()
}

/// Enough bytes to lose more than one record.
fn flip_the_end(segment: &Path) {
    let mut bytes = fs::read(segment).unwrap();
    let from = bytes.len() - 6000;
    bytes[from..].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(segment, bytes).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}
