//! The page log's readers: sinks added later, sinks that are removed, and standard output.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use crate::support::program::{Place, Process, Ran, eventually, free_port, get, run};
use crate::support::{Plan, TestSite};

/// Dozens of segments.
fn site() -> TestSite {
    TestSite::start(Plan { pages: 150, hosts: 3, text: 8000, ..Plan::default() })
}

fn small_segments() -> Place {
    Place::with("page_log.segment_size: 64KiB\n")
}

fn crawl(place: &Place, site: &TestSite, more: &[&str]) -> Ran {
    let options = [&["--delay", "0"], more].concat();
    Process::start(place.crawl(&site.seeds(), &options)).wait().ok()
}

fn sinks(place: &Place, arguments: &[&str]) -> Ran {
    let data = place.data();
    run(&[&["sinks", "-o", data.to_str().unwrap()], arguments].concat())
}

fn segments(data: &Path) -> usize {
    let names = fs::read_dir(data.join("log")).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|it| it == "log")).count()
}

fn named<'a>(listed: &'a [Value], name: &str) -> &'a Value {
    listed.iter().find(|sink| sink["name"] == name).unwrap_or_else(|| panic!("no {name} in {listed:?}"))
}

#[test]
fn a_removed_sink_is_told_of_until_it_is_given_up() {
    let (site, place) = (site(), small_segments());
    crawl(&place, &site, &["--sink", "files", "--sink", "void", "--max-pages", "20"]);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--sink", "files", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&site.seeds(), &more));
    let told = format!("seine sinks remove void -o {}", place.data().display());
    let ready = || get(address, "/readyz").unwrap_or_default();
    eventually("it is ready, and says what it keeps", || {
        let (status, text) = ready();
        status == 200 && text.starts_with("ready\nsink void is not configured in this run") && text.contains(&told)
    });
    eventually("everything is fetched", || site.visited_urls().len() >= site.pages().len());
    let listed = sinks(&place, &["--json"]).ok().json_lines();
    assert_eq!((&named(&listed, "files")["in_use"], &named(&listed, "void")["in_use"]), (&true.into(), &false.into()));
    process.signal("TERM");
    let ran = process.wait().ok();
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);

    let kept = segments(&place.data());
    assert!(kept > 5, "{kept}");
    let listed = sinks(&place, &["--json"]).ok().json_lines();
    let void = named(&listed, "void");
    assert!(void["pending"].as_u64() > Some(50) && void["kept_bytes"].as_u64() > Some(200_000), "{void}");
    assert_eq!((&void["in_use"], &named(&listed, "files")["in_use"]), (&false.into(), &true.into()));
    assert!(sinks(&place, &[]).ok().stdout.contains("not a sink of the last run"));

    sinks(&place, &["remove", "nothing"]).fails_naming(&["no sink nothing", "files, void"]);
    let removed = sinks(&place, &["remove", "void"]).ok();
    assert!(removed.stdout.starts_with("void is removed, with "), "{}", removed.stdout);
    assert!(segments(&place.data()) < kept / 2, "{} of {kept} segments are left", segments(&place.data()));
    let again = crawl(&place, &site, &["--sink", "files"]);
    assert!(!again.stderr.contains("not configured in this run"), "{}", again.stderr);
    assert_eq!(place.kept().len(), site.pages().len());
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

/// The log is kept for waiting sinks, not for removed ones.
#[test]
fn a_log_that_is_full_names_who_holds_it() {
    let site = site();
    let place = Place::with("page_log.segment_size: 64KiB\npage_log.max_size: 256KiB\n");
    crawl(&place, &site, &["--sink", "files", "--sink", "void", "--max-pages", "5"]);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--sink", "files", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&site.seeds(), &more));
    let told = format!("seine sinks remove void -o {}", place.data().display());
    eventually("it is not ready, and says who holds the log", || {
        let (status, text) = get(address, "/readyz").unwrap_or_default();
        status == 503 && text.contains("page_log.max_size") && text.contains(&told)
    });
    process.signal("TERM");
    let ran = process.wait().exits(6);
    assert!(ran.stderr.contains("full (page_log.max_size), because void has not read"), "{}", ran.stderr);
    sinks(&place, &["remove", "void"]).ok();
    crawl(&place, &site, &["--sink", "files"]);
    assert_eq!(place.kept().len(), site.pages().len());
}

#[test]
fn a_sink_that_comes_later_says_what_it_misses() {
    let (site, place) = (site(), small_segments());
    crawl(&place, &site, &["--sink", "files", "--max-pages", "100"]);
    assert_eq!(place.stats()["sinks"][0]["missed"], 0);
    let ran = crawl(&place, &site, &["--sink", "files", "--sink", "void"]);
    assert!(ran.stderr.contains("this sink is new") && ran.stderr.contains("seine convert writes"), "{}", ran.stderr);
    let stats = place.stats();
    let void = named(stats["sinks"].as_array().unwrap(), "void").clone();
    let accepted = named(stats["sinks"].as_array().unwrap(), "files")["accepted"].as_u64().unwrap();
    assert!(void["missed"].as_u64() > Some(0), "{void}");
    assert_eq!(void["missed"].as_u64().unwrap() + void["accepted"].as_u64().unwrap(), accepted);
    let text = run(&["stats".as_ref(), place.data().as_os_str()]).ok().stdout;
    assert!(text.contains("added later"), "{text}");
    assert!(sinks(&place, &[]).ok().stdout.contains("added later"));
    // Reported once.
    assert!(!crawl(&place, &site, &["--sink", "files", "--sink", "void"]).stderr.contains("this sink is new"));
}

#[test]
fn standard_output_leaves_no_place_in_the_log() {
    let (site, place) = (site(), small_segments());
    let cursor = place.data().join("log/cursors/stdout.cursor");
    let first = crawl(&place, &site, &["--sink", "stdout", "--max-pages", "20"]);
    assert!(!first.json_lines().is_empty() && !cursor.exists());
    // Killed before it has printed everything, it continues; …
    let (killed, out) = Process::start_unread(place.crawl(&site.seeds(), &["--delay", "0", "--sink", "stdout"]));
    eventually("more pages are fetched than a pipe holds", || site.visited_urls().len() > 60);
    assert!(killed.kill() && cursor.exists());
    drop(out);
    // … and a run without it keeps nothing for it.
    let ran = crawl(&place, &site, &["--sink", "files"]);
    assert!(!cursor.exists());
    assert!(!ran.stderr.contains("not configured in this run"), "{}", ran.stderr);
    // Now there is nothing new to print; repeated seeds would be fetched again.
    let ran = Process::start(place.crawl(&[], &["--delay", "0", "--sink", "files", "--sink", "stdout"])).wait().ok();
    assert_eq!(ran.stdout, "");
    assert!(!cursor.exists());
}
