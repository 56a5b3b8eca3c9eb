//! `kill -9` at any moment: the same command continues, nothing accepted is lost, and no host is visited too soon.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fastrand::Rng;

use crate::support::program::{Place, Process, cat, count, eventually, run};
use crate::support::{Final, Plan, TestSite};

const DELAY: Duration = Duration::from_millis(20);
/// In one crawl; there are five.
const KILLS: usize = 12;

#[test]
fn killed_again_and_again_1() {
    kill_and_go_on("", &[]);
}

#[test]
fn killed_again_and_again_2() {
    kill_and_go_on("", &[]);
}

/// Small files and segments, so that kills also hit their ends and beginnings.
#[test]
fn killed_again_and_again_with_small_files_1() {
    kill_and_go_on(SMALL_FILES, &[]);
}

#[test]
fn killed_again_and_again_with_small_files_2() {
    kill_and_go_on(SMALL_FILES, &[]);
}

#[test]
fn killed_again_and_again_with_two_sinks() {
    kill_and_go_on(SMALL_FILES, &["--sink", "files", "--sink", "stdout"]);
}

/// Every file format: its reader accepts what a kill left, and every page is there, once.
#[test]
fn killed_again_and_again_with_every_format_of_files() {
    const FORMATS: [&str; 10] = [
        "files",
        "warc",
        "tianwang",
        "filesystem_html",
        "filesystem_json",
        "filesystem_cbor",
        "pagestore",
        "web_index",
        "cdr31",
        "elastic",
    ];
    let sinks: Vec<&str> = FORMATS.iter().flat_map(|name| ["--sink", name]).collect();
    let (place, site) = kill_and_go_on(SMALL_FORMATS, &sinks);
    for name in FORMATS {
        let folder = place.data().join(name);
        run(&["verify".as_ref(), folder.as_os_str()]).ok();
        // Formats that store any status also have the first answers of busy pages; other formats have no status.
        let pages = cat(&folder).into_iter().filter(|page| page["status"].as_u64().is_none_or(|it| it / 100 == 2));
        let kept = count(pages.collect::<Vec<_>>().iter());
        if name == "cdr31" {
            // This format has only final URLs.
            assert!(kept.keys().all(|url| site.pages().contains(url)), "{name}: {kept:?}");
            assert_eq!(kept.values().sum::<usize>(), site.pages().len(), "{name}: {kept:?}");
        } else {
            assert_eq!(kept.keys().cloned().collect::<BTreeSet<_>>(), site.pages(), "{name}");
            assert!(kept.values().all(|times| *times == 1), "{name}: {kept:?}");
        }
    }
}

const SMALL_FORMATS: &str = "target_storage.data_format.files.max_file_size: 20KiB\n\
    target_storage.data_format.warc.max_file_size: 50KiB\n\
    target_storage.data_format.tianwang.max_file_size: 20KiB\n\
    target_storage.data_format.records.max_file_size: 50KiB\n\
    page_log.segment_size: 64KiB\n\
    page_log.max_size: 1MiB\n";

const SMALL_FILES: &str = "target_storage.data_format.files.max_file_size: 20KiB\n\
    page_log.segment_size: 64KiB\n\
    page_log.max_size: 1MiB\n";

fn kill_and_go_on(settings: &str, more: &[&str]) -> (Place, TestSite) {
    let seed = fastrand::u64(..);
    println!("kill moments from seed {seed}");
    let mut rng = Rng::with_seed(seed);
    let site = TestSite::start(Plan { pages: 300, hosts: 3, seed: rng.u64(..), ..Plan::default() });
    let place = Place::with(settings);
    let mut runs = Runs { place: &place, site: &site, more, outputs: Vec::new() };

    let mut kills = 0;
    for _ in 0..KILLS {
        let mut child = runs.start();
        // Half of them by time, which also hits the opening; half by the requests to the site.
        if rng.bool() {
            std::thread::sleep(Duration::from_millis(rng.u64(20..400)));
        } else {
            let visits = site.running.visits.len() + rng.usize(1..20);
            eventually("the crawl goes on", || site.running.visits.len() >= visits || has_ended(&mut child));
        }
        kills += usize::from(kill(child));
    }
    // And once around the end.
    let mut child = runs.start();
    let last = runs.all_pages();
    eventually("every page was asked for", || site.visited_urls().is_superset(&last) || has_ended(&mut child));
    std::thread::sleep(Duration::from_millis(rng.u64(0..300)));
    kills += usize::from(kill(child));
    assert!(kills >= KILLS, "the crawl is too short for {KILLS} kills: {kills}");

    // The crawl may have been finished when it was killed: repeated seeds would be fetched again.
    let mut child = runs.start_without_seeds();
    eventually("it ends by itself", || has_ended(&mut child));
    assert!(child.wait().unwrap().success());

    let gap = site.shortest_gap();
    println!("{kills} kills; shortest gap {gap:?}; {} requests for {} URLs", site.visits().len(), last.len());
    assert!(gap >= DELAY, "a host was visited again after {gap:?} (seed {seed})");
    check_pages(&place, &site);
    if more.contains(&"stdout") {
        check_stdout(&runs);
    }
    (place, site)
}

pub fn check_pages(place: &Place, site: &TestSite) {
    let kept = place.kept();
    assert_eq!(kept.keys().cloned().collect::<BTreeSet<_>>(), site.pages());
    let twice: BTreeMap<_, _> = kept.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "FILES takes back what was not acknowledged, and still holds twice: {twice:?}");

    let stats = place.stats();
    assert_eq!(stats["page"], site.oracle().len());
    assert_eq!(stats["frontier"]["live"], site.pages().len());
    assert_eq!(stats["frontier"]["refused"], site.count(|state| *state == Final::Missing));
    assert_eq!(stats["frontier"]["failed"], site.count(|state| *state == Final::Forbidden));
    assert_eq!((&stats["work_proposed"], &stats["page_proposed"]), (&0.into(), &0.into()));
    for sink in stats["sinks"].as_array().unwrap() {
        assert_eq!(sink["pending"], 0, "{sink}");
        assert_eq!(sink["dead_lettered"], 0, "{sink}");
        assert_eq!(sink["damaged"], 0, "{sink}");
    }

    let undisturbed = Place::new();
    Process::start(undisturbed.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    assert_eq!(kept.keys().collect::<Vec<_>>(), undisturbed.kept().keys().collect::<Vec<_>>());
}

/// Standard output cannot be undone, so it delivers at least once.
fn check_stdout(runs: &Runs) {
    let mut lines = Vec::new();
    for path in &runs.outputs {
        let mut text = String::new();
        File::open(path).unwrap().read_to_string(&mut text).unwrap();
        // Only the end of a killed process's output may be half a line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        lines.extend(crate::support::program::json_lines(&text[..whole]));
    }
    let found: BTreeSet<String> = count(lines.iter()).into_keys().collect();
    assert_eq!(found, runs.site.pages());
    println!("{} lines on standard output for {} pages", lines.len(), found.len());
}

/// The same command again and again, with its standard output in one file per run.
struct Runs<'a> {
    place: &'a Place,
    site: &'a TestSite,
    more: &'a [&'a str],
    outputs: Vec<PathBuf>,
}

impl Runs<'_> {
    fn start(&mut self) -> Child {
        self.start_from(&self.site.seeds())
    }

    fn start_without_seeds(&mut self) -> Child {
        self.start_from(&[])
    }

    fn start_from(&mut self, seeds: &[String]) -> Child {
        let path = self.place.write(&format!("out-{}", self.outputs.len()), "");
        let mut command: Command = self.place.crawl(seeds, self.more);
        command.args(["--delay", &DELAY.as_millis().to_string()]);
        command.stdout(File::create(&path).unwrap()).stderr(Stdio::inherit());
        self.outputs.push(path);
        command.spawn().unwrap()
    }

    /// Every URL that is requested in the end.
    fn all_pages(&self) -> BTreeSet<String> {
        let asked = |state: &Final| *state != Final::Forbidden;
        self.site.oracle().into_iter().filter(|(_, state)| asked(state)).map(|(url, _)| url).collect()
    }
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

/// SIGKILL; returns false if the process had already ended.
fn kill(mut child: Child) -> bool {
    let ended = has_ended(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    !ended
}
