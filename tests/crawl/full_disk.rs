//! Full disks, for real: whatever is on them, the crawl waits, reports it, and continues by itself to the last page.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::manager::Manager;
use crate::small_disk::{self, fill, make_room};
use crate::support::program::{DEADLINE, Place, Process, Ran, cat, count, eventually, free_port, get, run};
use crate::support::{Plan, TestSite};

/// Every format that is written to files.
const FORMATS: [(&str, &str); 9] = [
    ("files", "FILES"),
    ("warc", "WARC"),
    ("tianwang", "TIANWANG"),
    ("pagestore", "PAGESTORE"),
    ("cdr31", "CDR31"),
    ("elastic", "ELASTIC"),
    ("filesystem_html", "FILESYSTEM_HTML"),
    ("filesystem_json", "FILESYSTEM_JSON"),
    ("filesystem_cbor", "FILESYSTEM_CBOR"),
];

/// A crawl whose folder, or parts of it, are on a small disk.
struct Trial {
    site: TestSite,
    place: Place,
    address: SocketAddr,
}

impl Trial {
    /// `on_disk`: the parts of the data folder on the small disk; "" is all of it.
    fn new(disk: &Path, settings: &str, on_disk: &[&str]) -> Trial {
        let site =
            TestSite::start(Plan { pages: 400, text: 12_000, failing_every: 0, redirect_every: 0, ..Plan::default() });
        let place = Place::with(&format!("page_log.segment_size: 256KiB\nlogging.filter: info\n{settings}"));
        if !on_disk.is_empty() {
            std::fs::create_dir(place.data()).unwrap();
        }
        for name in on_disk {
            std::fs::create_dir(disk.join(name)).unwrap();
            symlink(disk.join(name), place.data().join(name)).unwrap();
        }
        if on_disk.is_empty() {
            symlink(disk, place.data()).unwrap();
        }
        Trial { site, place, address: SocketAddr::from(([127, 0, 0, 1], free_port())) }
    }

    fn start(&self) -> Process {
        Process::start(self.command())
    }

    fn command(&self) -> Command {
        let listen = self.address.to_string();
        // Sinks wait longer than usual in this test.
        let more = ["--delay", "0", "--patience", "10m", "--listen", &listen];
        self.place.crawl(&self.site.seeds(), &more)
    }

    fn has(&self, line: &str) -> bool {
        let metrics = get(self.address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        metrics.lines().any(|it| it == line)
    }

    fn status(&self, path: &str) -> (u16, String) {
        get(self.address, path).unwrap()
    }

    /// Every page of the site is there once and was requested once, and the counters balance.
    fn check(&self, ran: &Ran, folders: &[&str]) {
        self.check_kept(ran, folders);
        let visits = self.site.visits();
        // The frontier stores robots.txt, and loses it if there is no space.
        let pages = visits.iter().filter(|visit| visit.path != "/robots.txt");
        let mut asked: Vec<String> = pages.map(|visit| format!("{}{}", visit.host, visit.path)).collect();
        asked.sort_unstable();
        let twice: Vec<_> = asked.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert!(twice.is_empty(), "fetched twice: {twice:?}");
    }

    /// The same for a crawl that was killed: what was not accepted is requested again.
    fn check_kept(&self, ran: &Ran, folders: &[&str]) {
        let pages = self.site.pages();
        for folder in folders {
            let is_page = |page: &&Value| page["status"].is_null() || page["status"] == 200;
            let kept = count(cat(&self.place.data().join(folder)).iter().filter(is_page));
            let lost: Vec<_> = pages.iter().filter(|url| !kept.contains_key(*url)).collect();
            let doubled: Vec<_> = kept.iter().filter(|(url, times)| **times > 1 || !pages.contains(*url)).collect();
            assert!(lost.is_empty() && doubled.is_empty(), "{folder}: {lost:?} {doubled:?}\n{}", ran.stderr);
        }
        run(&["audit".as_ref(), self.place.data().as_os_str(), "--destinations".as_ref()]).ok();
    }
}

/// The usual case: there is a reserve, and no write fails.
#[test]
fn fetching_pauses_before_the_disk_is_full() {
    small_disk::run("full_disk::reserve", 64);
}

#[test]
#[ignore = "started by another test"]
fn reserve() {
    let Some(disk) = small_disk::here() else { return };
    fill(&disk, 9 << 20);
    let trial = Trial::new(&disk, "page_log.disk_reserve: 8MiB\n", &[]);
    let process = trial.start();
    eventually("fetching pauses", || trial.has("seine_disk_full 1"));
    fill(&disk, 4 << 20); // what is delivered would make room by itself
    eventually("what was leased is back", || trial.has("seine_frontier_hosts{state=\"leased\"} 0"));
    let at_pause = trial.site.visits().len();
    let (status, why) = trial.status("/readyz");
    assert_eq!(status, 503);
    assert!(why.contains("page_log.disk_reserve"), "{why}");
    assert_eq!(trial.status("/healthz").0, 200, "a start would not help");
    assert_eq!(trial.site.visits().len(), at_pause);
    assert!(at_pause < trial.site.pages().len());
    make_room(&disk);
    let ran = process.wait().ok();
    trial.check(&ran, &["files"]);
    assert_eq!(ran.stderr.matches("the disk is full: fetching pauses").count(), 1, "{}", ran.stderr);
    small_disk::done();
}

/// Without a reserve, only the frontier's disk: its store fails.
#[test]
fn the_frontiers_disk_is_full() {
    small_disk::run("full_disk::frontier", 16);
}

#[test]
#[ignore = "started by another test"]
fn frontier() {
    let Some(disk) = small_disk::here() else { return };
    let trial = Trial::new(&disk, "page_log.disk_reserve: 0\n", &["frontier"]);
    // The store is created while there is space.
    Process::start(trial.place.crawl(&trial.site.seeds(), &["--delay", "0", "--max-pages", "5"])).wait().ok();
    fill(&disk, 8 << 10);
    let manager = Manager::of(&trial.place);
    let process = Process::start(manager.starts(trial.command()));
    eventually("the store is away", || trial.has("seine_frontier_away 1"));
    let is_unwell = |said: &String| said.starts_with("STATUS=not well: ");
    eventually("there is no sign of life", || manager.said().iter().filter(|said| is_unwell(said)).count() > 2);
    let after = |said: &[String]| said.iter().skip_while(|said| !is_unwell(said)).any(|said| said == "WATCHDOG=1");
    assert!(!after(&manager.said()), "{:?}", manager.said());
    fill(&disk, 0);
    let (status, why) = trial.status("/healthz");
    assert!(status == 503 && why.contains("free some space"), "{status} {why}");
    assert_eq!(trial.status("/readyz").0, 503);
    make_room(&disk);
    eventually("there are signs of life again, or it is done", || {
        after(&manager.said()) || manager.count("STOPPING=1") == 1
    });
    let ran = process.wait().ok();
    trial.check(&ran, &["files"]);
    small_disk::done();
}

#[test]
fn the_logs_disk_is_full() {
    small_disk::run("full_disk::log", 16);
}

#[test]
#[ignore = "started by another test"]
fn log() {
    let Some(disk) = small_disk::here() else { return };
    let trial = Trial::new(&disk, "page_log.disk_reserve: 0\n", &["log"]);
    fill(&disk, 200 << 10);
    let process = trial.start();
    eventually("the log's writer waits", || {
        get(trial.address, "/readyz").is_some_and(|(_, why)| why.contains("log: failed"))
    });
    // The back-off grows as long as the disk is full, and the watchdog knows why nothing is fetched.
    eventually("the writer has failed five times", || restarts_of_the_log(&trial) >= 5);
    make_room(&disk);
    let ran = process.wait().ok();
    // Parts of a batch may fit meanwhile.
    assert!(ran.stderr.matches("well again").count() < 5, "{}", ran.stderr);
    trial.check(&ran, &["files"]);
    small_disk::done();
}

fn restarts_of_the_log(trial: &Trial) -> u64 {
    let metrics = get(trial.address, "/metrics").map(|(_, text)| text).unwrap_or_default();
    let line = metrics.lines().find(|line| line.starts_with("seine_part_restarts_total{part=\"log\"}"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

#[test]
fn the_sinks_disk_is_full() {
    small_disk::run("full_disk::sinks", 64);
}

#[test]
#[ignore = "started by another test"]
fn sinks() {
    let Some(disk) = small_disk::here() else { return };
    let names: Vec<&str> = FORMATS.iter().map(|(_, name)| *name).collect();
    let settings = format!("target_storage.data_formats: [{}]\n", names.join(", "));
    let folders: Vec<&str> = FORMATS.iter().map(|(folder, _)| *folder).collect();
    let trial = Trial::new(&disk, &settings, &folders);
    fill(&disk, 1 << 20);
    let process = trial.start();
    for folder in &folders {
        let waits = format!("sink {folder}: failed");
        eventually(&waits, || get(trial.address, "/readyz").is_some_and(|(_, why)| why.contains(&waits)));
    }
    make_room(&disk);
    let ran = process.wait().ok();
    trial.check(&ran, &folders);
    small_disk::done();
}

/// Everything on one disk without a reserve: any part may fail first.
#[test]
fn the_only_disk_is_full() {
    small_disk::run("full_disk::everything", 64);
}

#[test]
#[ignore = "started by another test"]
fn everything() {
    let Some(disk) = small_disk::here() else { return };
    fill(&disk, 1 << 20);
    let trial = Trial::new(&disk, "page_log.disk_reserve: 0\n", &[]);
    let mut process = trial.start();
    eventually("something waits", || {
        get(trial.address, "/readyz").is_some_and(|(_, why)| why.contains("free some space"))
    });
    fill(&disk, 0);
    eventually("nothing is fetched any more", || {
        trial.has("seine_frontier_hosts{state=\"leased\"} 0") || {
            let before = trial.site.visits().len();
            std::thread::sleep(std::time::Duration::from_millis(300));
            before == trial.site.visits().len()
        }
    });
    assert!(!process.has_ended());
    make_room(&disk);
    let ran = process.wait().ok();
    trial.check(&ran, &["files"]);
    small_disk::done();
}

/// Killed while its disk is full, and started again before there is space: any part may fail first.
#[test]
fn killed_on_a_full_disk_it_waits_there_again() {
    small_disk::run("full_disk::killed", 64);
}

#[test]
#[ignore = "started by another test"]
fn killed() {
    let Some(disk) = small_disk::here() else { return };
    kill_and_start_again(&disk, "page_log.disk_reserve: 0\n");
}

/// The same if even the frontier may not be written at the start.
#[test]
fn killed_below_the_reserve_it_waits_there_again() {
    small_disk::run("full_disk::killed_below", 64);
}

#[test]
#[ignore = "started by another test"]
fn killed_below() {
    let Some(disk) = small_disk::here() else { return };
    kill_and_start_again(&disk, "page_log.disk_reserve: 8MiB\n");
}

fn kill_and_start_again(disk: &Path, settings: &str) {
    fill(disk, 9 << 20);
    let trial = Trial::new(disk, settings, &[]);
    let process = trial.start();
    eventually("pages are delivered", || disk.join("files").is_dir());
    fill(disk, 0);
    eventually("something waits", || {
        get(trial.address, "/readyz").is_some_and(|(_, why)| why.contains("free some space"))
    });
    assert!(process.kill());
    fill(disk, 0);
    wait_and_go_on(&trial, disk);
}

/// A first start when nothing can be written.
#[test]
fn a_first_start_waits_for_room() {
    small_disk::run("full_disk::first_start", 64);
}

#[test]
#[ignore = "started by another test"]
fn first_start() {
    let Some(disk) = small_disk::here() else { return };
    fill(&disk, 0);
    let trial = Trial::new(&disk, "page_log.disk_reserve: 0\n", &[]);
    wait_and_go_on(&trial, &disk);
}

/// The process is restarted again and again: each time it waits, reports it, and can be stopped. Then there is space.
fn wait_and_go_on(trial: &Trial, disk: &Path) {
    for signal in ["TERM", "INT", "KILL"] {
        let mut waiting = Waiting::start(trial, signal);
        let status = waiting.end(signal);
        assert_eq!(status.code(), (signal != "KILL").then_some(6), "{signal}: {}", waiting.said());
        assert!(!waiting.said().contains("panicked"), "{}", waiting.said());
        fill(disk, 0);
    }
    let mut waiting = Waiting::start(trial, "last");
    make_room(disk);
    let status = waiting.child.wait().unwrap();
    let ran = Ran { status, stdout: String::new(), stderr: waiting.said() }.ok();
    trial.check_kept(&ran, &["files"]);
    small_disk::done();
}

#[test]
fn orders_on_a_full_disk_are_refused_and_change_nothing() {
    small_disk::run("full_disk::orders", 160);
}

#[test]
#[ignore = "started by another test"]
fn orders() {
    let Some(disk) = small_disk::here() else { return };
    let trial = Trial::new(&disk, "page_log.disk_reserve: 8MiB\nhttp.enabled: true\n", &[]);
    let listen = trial.address.to_string();
    let process =
        Process::start(trial.place.crawl(&trial.site.seeds(), &["--delay", "0", "--stay", "--listen", &listen]));
    let data = trial.place.data();
    let seine = |words: &[&str]| run(&[words, &["-o", data.to_str().unwrap()]].concat());
    let counts = || get(trial.address, "/api/v1/status").map(|(_, text)| serde_json::from_str::<Value>(&text).unwrap());
    let is_done =
        |said: &Value| said["frontier"]["work_proposed"] == 0 && said["frontier"]["live"].as_u64() > Some(100);
    eventually("all is fetched", || counts().is_some_and(|said| is_done(&said)));
    let before = counts().unwrap()["frontier"].clone();
    let host = trial.site.running.origin(0);
    let forget = ["forget", "--host", &host];
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The store gives back some of it in the background.
        scope.spawn(|| {
            let began = std::time::Instant::now();
            while !is_over.load(Ordering::Relaxed) && began.elapsed() < DEADLINE {
                drop(fill(&disk, 0))
            }
        });
        eventually("it is full", || trial.status("/readyz").0 == 503);
        for words in [&["pause"][..], &forget, &["limit", "pages", "1000"], &["host", &host, "block"]] {
            seine(words).fails_naming(&["free"]);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let said = counts().unwrap();
    assert_eq!((&said["frontier"], &said["is_paused"]), (&before, &false.into()));
    make_room(&disk);
    eventually("there is room again", || trial.status("/readyz").0 == 200);
    let said = seine(&forget).ok().stdout;
    assert!(said.contains("URLs forgotten"), "{said}");
    process.signal("TERM");
    process.wait().ok();
    run(&["audit".as_ref(), data.as_os_str()]).ok();
    small_disk::done();
}

/// A crawl that was started on a full disk, and has reported that it waits for space.
struct Waiting {
    child: Child,
    said: PathBuf,
}

impl Waiting {
    fn start(trial: &Trial, life: &str) -> Waiting {
        let said = trial.place.write(&format!("said-{life}"), "");
        let mut command = trial.place.crawl(&trial.site.seeds(), &["--delay", "0"]);
        command.stdout(Stdio::null()).stderr(File::options().append(true).open(&said).unwrap());
        let mut waiting = Waiting { child: command.spawn().unwrap(), said };
        eventually("it says that it waits for room", || {
            assert!(waiting.child.try_wait().unwrap().is_none(), "it ended: {}", waiting.said());
            // The message of the whole crawl, or of a part.
            ["the disk has room", "free some space"].iter().any(|words| waiting.said().contains(words))
        });
        waiting
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }

    fn end(&mut self, signal: &str) -> std::process::ExitStatus {
        assert!(Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap().success());
        let mut status = None;
        eventually("it ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
