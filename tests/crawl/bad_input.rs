//! Mistakes of users and damage on disks: each is reported with its name and a remedy, and nothing crashes.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::support::program::{Place, Process, Ran, command, eventually, run};
use crate::support::{Plan, TestSite};

/// A finished crawl, to be damaged.
fn finished() -> (TestSite, Place) {
    let place = Place::new();
    (finished_in(&place), place)
}

fn finished_in(place: &Place) -> TestSite {
    let site = TestSite::start(Plan { pages: 20, hosts: 2, ..Plan::default() });
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    site
}

fn crawl_again(site: &TestSite, place: &Place) -> Ran {
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait()
}

/// A crawl that began anew has fetched and delivered every page.
#[track_caller]
fn all_pages_came_again(place: &Place, before: &BTreeMap<String, usize>) {
    let kept = place.kept();
    assert!(before.iter().all(|(url, times)| kept[url] > *times), "{before:?}\n{kept:?}");
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn seeds() {
    let place = Place::new();
    let data = place.data();
    let crawl = |arguments: &[&str]| {
        let base = ["crawl", "-o", data.to_str().unwrap()];
        run(&[&base[..], arguments].concat())
    };
    crawl(&[]).fails_naming(&["no seeds", "--seed", "-s FILE"]);
    assert!(!data.exists(), "nothing is made before there is something to do");
    for seed in
        ["::no url::", "ftp://example.com/", "http://", "mailto:someone@example.com", "/etc/passwd", "ht!tp://", ""]
    {
        crawl(&["--seed", seed]).fails_naming(&[&format!("{seed:?}"), "https://example.com/"]);
    }
    let missing = crawl(&["-s", "/nowhere/seeds.txt"]).fails_naming(&["/nowhere/seeds.txt", "-s"]);
    assert_eq!(missing.stderr.matches("No such file").count(), 1, "said once: {}", missing.stderr);
    let file = |name: &str, content: &[u8]| place.write(name, content).to_str().unwrap().to_owned();
    let malformed = file("malformed.txt", b"http://ok.test/\nhttp://\nexample.com\nhttp://a.test/ why\n");
    let words = ["malformed.txt", "line 2", "line 3", "https://example.com", "line 4", "it has a blank"];
    crawl(&["-s", &malformed]).fails_naming(&words);
    let binary = file("binary.txt", b"http://ok.test/\n\0\xff\xfe");
    crawl(&["-s", &binary]).fails_naming(&["binary.txt", "UTF-8"]);
    let empty = file("empty.txt", b"# nothing yet\n\n");
    crawl(&["-s", &empty]).fails_naming(&["empty.txt", "one per line"]);
    let folder = place.data().parent().unwrap().to_str().unwrap().to_owned();
    crawl(&["-s", &folder]).fails_naming(&[&folder]);
    assert!(!data.exists());
}

#[test]
fn arguments() {
    for (arguments, words) in [
        (&["crawl", "--delay", "soon"][..], &["--delay", "soon", "500ms"][..]),
        (&["crawl", "--delay", "-1s"], &["-1"]),
        (&["crawl", "--sink", "printer"], &["--sink", "printer", "files"]),
        (&["crawl", "--scope", "galaxy"], &["--scope", "galaxy", "domain"]),
        (&["crawl", "--resolve", "name"], &["--resolve", "NAME=IP"]),
        (&["crawl", "--resolve", "name=home"], &["--resolve", "home", "IP address"]),
        (&["crawl", "--listen", "8080"], &["--listen", "8080", "localhost:8080"]),
        (&["crawl", "--listen", "nowhere.invalid:8080"], &["--listen", "nowhere.invalid", "HOST:PORT"]),
        (&["crawl", "--concurrency", "0"], &["--concurrency", "from 1 to"]),
        (&["crawl", "--max-depth", "-1"], &["-1"]),
        (&["crawl", "--sink", "kafka", "--seed", "http://a.test/"], &["KAFKA needs", "--kafka-topic"]),
        (&["crawl", "--sink", "kafka", "--kafka-topic", "a b", "--seed", "http://a.test/"], &["command line", "topic"]),
        (&["fish"], &["fish", "--help"]),
        (&["startCrawl", "-c", "x"], &["--seeds", "--outputDir"]),
    ] {
        run(arguments).fails_naming(words);
    }
}

#[test]
fn configuration() {
    let place = Place::new();
    let with = |text: &str| {
        let config = place.write("odd.yml", text);
        let data = place.data();
        run(&["crawl", "--seed", "http://a.test/", "-c", config.to_str().unwrap(), "-o", data.to_str().unwrap()])
    };
    with("crawler_manager.downloader.max_redirect: 3\n").fails_naming(&[
        "odd.yml:1",
        "crawler_manager.downloader.max_redirect",
        "max_redirects",
    ]);
    with("crawler_id: fine\nhttp.port: eighty\n").fails_naming(&["odd.yml:2", "http.port", "eighty"]);
    with("target_storage.data_formats: [ROCKSDB]\n").fails_naming(&["odd.yml:1", "ROCKSDB", "FILES"]);
    with("a: [1, 2\n").fails_naming(&["odd.yml"]);
    with("page_log.segment_size: 64MiB\npage_log.max_size: 64MiB\n").fails_naming(&["page_log.max_size", "raise"]);
    run(&["crawl", "--seed", "http://a.test/", "-c", "/nowhere/seine.yml"]).fails_naming(&["/nowhere/seine.yml"]);
    let mut environment = command(&["crawl", "--seed", "http://a.test/", "-o", place.data().to_str().unwrap()]);
    environment.env("SEINE__HTTP__PORT", "many");
    Process::start(environment).wait().fails_naming(&["SEINE__HTTP__PORT", "many"]);
    assert!(!place.data().exists());
}

#[test]
fn a_data_folder_that_cannot_be_one() {
    let place = Place::new();
    let file = place.write("data", "I am a file");
    let ran = Process::start(place.crawl(&["http://127.0.0.1:9/".into()], &[])).wait();
    ran.fails_naming(&[file.to_str().unwrap(), "-o"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "I am a file");
    run(&["stats", file.to_str().unwrap()]).fails_naming(&[file.to_str().unwrap(), "-o"]);
    run(&["stats", "/nowhere/at/all"]).fails_naming(&["/nowhere/at/all", "-o"]);
    run(&["cat", "/nowhere/at/all"]).fails_naming(&["/nowhere/at/all"]);
}

/// One file of the store after the other is damaged: either this is reported, or it does no harm.
#[test]
fn a_damaged_frontier() {
    let (site, place) = finished();
    let store = place.data().join("frontier");
    let pages = place.kept();
    let mut refused = 0;
    for file in files_in(&store) {
        let whole = fs::read(&file).unwrap();
        if whole.is_empty() || !file.exists() {
            continue;
        }
        fs::write(&file, b"this is no database, not at all, this is no database".repeat(4)).unwrap();
        let ran = crawl_again(&site, &place);
        if !ran.status.success() {
            refused += 1;
            ran.fails_naming(&[store.to_str().unwrap(), "seine restore", "move this folder and log/ beside it away"]);
        }
        if refused == 3 {
            break; // every start takes a while
        }
        fs::write(&file, whole).unwrap();
    }
    assert!(refused > 0, "no damage was noticed");
    assert_eq!(place.kept(), pages);
    // The advice works.
    fs::rename(&store, place.data().join("frontier.old")).unwrap();
    fs::rename(place.data().join("log"), place.data().join("log.old")).unwrap();
    crawl_again(&site, &place).ok();
    all_pages_came_again(&place, &pages);
}

#[test]
fn a_frontier_of_another_program() {
    let (site, place) = finished();
    let store = place.data().join("frontier");
    fs::remove_dir_all(store.join("store")).unwrap();
    fs::write(store.join("store"), "something else").unwrap();
    crawl_again(&site, &place).fails_naming(&[store.to_str().unwrap(), ";"]);
}

#[test]
fn a_damaged_or_foreign_log() {
    let (site, place) = finished();
    let log = place.data().join("log");
    let kept = place.kept();
    // Its segments are damaged: readable events are read, and the rest is reported.
    for segment in files_in(&log).into_iter().filter(|path| path.parent() == Some(&log)) {
        let mut bytes = fs::read(&segment).unwrap();
        if bytes.len() > 100 {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 40].fill(0x55);
            fs::write(&segment, bytes).unwrap();
        }
    }
    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    assert_eq!(place.kept(), kept);

    // An error about an unreadable cursor names its file and a remedy.
    let cursor =
        files_in(&log.join("cursors")).into_iter().find(|path| path.to_string_lossy().contains("files")).unwrap();
    let whole = fs::read(&cursor).unwrap();
    fs::write(&cursor, "scribble").unwrap();
    let ran =
        Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait_for(std::time::Duration::from_secs(30));
    ran.fails_naming(&[cursor.to_str().unwrap(), "delete the file"]);
    fs::remove_file(&cursor).unwrap();
    crawl_again(&site, &place).ok();
    fs::write(&cursor, whole).unwrap();

    // And a foreign file where the log should be.
    fs::remove_dir_all(&log).unwrap();
    fs::write(&log, "diary").unwrap();
    crawl_again(&site, &place).fails_naming(&[log.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "diary");
}

/// The validator is no sink, and the frontier has its offset. So this file is made anew, and nobody needs to do anything.
#[test]
fn a_damaged_offset_of_the_validator() {
    let (_site, place) = finished();
    let kept = place.kept();
    let cursor = place.data().join("log/cursors/validator.cursor");
    let whole = fs::read(&cursor).unwrap();
    fs::write(&cursor, "scribble").unwrap();
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
    let goes_on = || Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok().stderr;
    let said = goes_on();
    assert!(said.contains(cursor.to_str().unwrap()) && said.contains("creates the file again"), "{said}");
    assert!(!said.contains("sinks remove") && !said.contains("cannot be read"), "{said}");
    assert_eq!(fs::read(&cursor).unwrap().len(), whole.len());
    assert!(!goes_on().contains("validator.cursor"));
    assert_eq!(place.kept(), kept);
}

#[test]
fn a_port_in_use() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::new();
    let ran = Process::start(place.crawl(&["http://127.0.0.1:9/".into()], &["--listen", &address])).wait();
    ran.fails_naming(&[&address, "--listen", "http.enabled"]);
    assert!(!place.data().exists(), "nothing is stored before the port is known to be free");
}

#[test]
fn a_second_crawl_in_the_same_folder() {
    let site = TestSite::start(Plan { pages: 60, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let first = Process::start(place.crawl(&site.seeds(), &["--delay", "20", "--stay"]));
    eventually("the first is under way", || site.running.visits.len() > 5);
    crawl_again(&site, &place).fails_naming(&[place.data().to_str().unwrap(), "in use by another seine"]);
    run(&["demo", "-o", place.data().to_str().unwrap()]).fails_naming(&["choose another folder"]);
    eventually("the first goes on", || site.visited_urls().is_superset(&site.pages()));
    first.signal("TERM");
    first.wait().ok();
    assert_eq!(place.stats()["frontier"]["live"], site.pages().len());
}

#[test]
fn a_data_folder_with_half_of_a_crawl_is_refused() {
    for (missing, there) in [("log", "frontier"), ("frontier", "log")] {
        let (site, place) = finished();
        let away = place.data().with_extension("away");
        fs::rename(place.data().join(missing), &away).unwrap();
        let words = [&format!("{missing} is missing")[..], &format!("{there} is there"), "seine restore"];
        crawl_again(&site, &place).exits(1).fails_naming(&words);
        for command in [&["status"][..], &["audit"], &["seeds", "add", "http://a.test/", "-o"], &["hosts"]] {
            run(&[command, &[place.data().to_str().unwrap()]].concat()).fails_naming(&[missing]);
        }
        assert!(!place.data().join(missing).exists(), "{missing} was made anew");
        fs::rename(&away, place.data().join(missing)).unwrap();
        crawl_again(&site, &place).ok();
        // The other advice works, too: without both, the crawl begins anew.
        fs::remove_dir_all(place.data().join(missing)).unwrap();
        fs::rename(place.data().join(there), &away).unwrap();
        let before = place.kept();
        crawl_again(&site, &place).ok();
        all_pages_came_again(&place, &before);
    }
    // A crash between the two left a log without anything in it.
    let (site, place) = (TestSite::start(Plan { pages: 3, hosts: 1, ..Plan::default() }), Place::new());
    fs::create_dir_all(place.data().join("log")).unwrap();
    crawl_again(&site, &place).ok();
}

#[test]
fn a_port_that_is_none_is_named() {
    let place = Place::new();
    let data = place.data().to_str().unwrap().to_owned();
    let crawl = |more: &[&str]| run(&[&["crawl", "-o", &data][..], more].concat());
    let wanted = "0 to 65535";
    let seeds = place.write("seeds", "http://a.test:99999/\n");
    crawl(&["-s", seeds.to_str().unwrap()]).fails_naming(&["line 1", wanted]);
    for listen in ["127.0.0.1:99999", "99999", "127.0.0.1"] {
        crawl(&["--seed", "http://a.test/", "--listen", listen]).fails_naming(&[listen, wanted]);
    }
    finished_in(&place);
    for command in
        [&["host", "a.test:99999"][..], &["why", "http://a.test:99999/"], &["forget", "http://a.test:99999/"]]
    {
        run(&[command, &["-o", &data]].concat()).fails_naming(&["99999", wanted]);
    }
    let added = run(&["seeds", "add", "http://a.test:99999/", "-o", &data]).exits(1);
    assert!(added.stdout.contains(wanted), "{}", added.stdout);
}

/// While the kernel ends a killed process, its locks hold and its socket takes connections.
#[test]
fn a_start_right_behind_a_kill_waits_until_the_killed_process_is_gone() {
    let (site, place) = finished();
    let lock = fs::File::create(place.data().join("log/lock")).unwrap();
    lock.try_lock().unwrap();
    let socket = UnixListener::bind(place.data().join("api.sock")).unwrap();
    let process = Process::start(place.crawl(&site.seeds(), &["--delay", "0"]));
    socket.accept().expect("it has looked who has the lock");
    drop((socket, lock));
    process.wait().ok();
}
