//! Reloading the configuration while the crawl runs: changeable keys are changed and named; an unchangeable key changes
//! nothing.

use std::net::SocketAddr;

use serde_json::Value;

use crate::steering::{PAGES, seine, site, status};
use crate::support::Running;
use crate::support::program::{Place, Process, eventually, free_port};
use crate::support::server::{Answer, Ask};

const DELAY: &str = "link_storage.scheduler.host_min_access_interval";
const BLACKLIST: &str = "link_storage.link_strategy.blacklist";

fn orders(place: &Place) -> Vec<Value> {
    seine(place, &["orders", "--json"]).ok().json_lines()
}

fn start(place: &Place, site: &Running, more: &[&str]) -> Process {
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &[&["--stay"], more].concat()));
    eventually("it can be asked", || place.data().join("api.sock").exists() && !status(place)["running"].is_null());
    process
}

fn live(place: &Place) -> u64 {
    status(place)["frontier"]["live"].as_u64().unwrap()
}

fn asked(site: &Running, wanted: impl Fn(&str) -> bool) -> usize {
    site.visits.all().iter().filter(|visit| wanted(&visit.path)).count()
}

fn is_fifty(path: &str) -> bool {
    path.starts_with("/5") && path.len() == 3
}

#[test]
fn delays_and_scope_change_while_it_runs_and_what_is_known_follows() {
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: 100ms\n")));
    let process = start(&place, &site, &[]);
    eventually("it fetches", || asked(&site, |path| path != "/robots.txt") > 3);
    place.set(DELAY, "0");
    place.set(BLACKLIST, "[\".*/5[0-9]\"]");
    let said = seine(&place, &["reload"]).ok().stdout;
    assert!(said.contains(&format!("{DELAY}: 100ms → 0ms")) && said.contains(BLACKLIST), "{said}");
    eventually("the rest is fetched", || {
        live(&place) == PAGES as u64 - 9 && status(&place)["frontier"]["in_flight"] == 0
    });
    assert_eq!(asked(&site, is_fifty), 0, "what the scope does not admit any more was asked for");

    // It survives a kill, since it is in the file.
    assert!(process.kill());
    let process = start(&place, &site, &[]);
    place.set(BLACKLIST, "[]");
    seine(&place, &["reload"]).ok();
    eventually("what it admits now is found by pages read again", || live(&place) == PAGES as u64 + 1);
    place.set(BLACKLIST, "[\".*/5[0-9]\"]");
    seine(&place, &["reload"]).ok();
    eventually("what it does not admit leaves, known or not", || live(&place) == PAGES as u64 - 9);
    assert!(seine(&place, &["reload"]).ok().stdout.contains("has not changed"));
    let keys: Vec<Value> = orders(&place).into_iter().map(|order| order["order"]["keys"].clone()).collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert_eq!(keys[1], serde_json::json!([BLACKLIST]));
    process.signal("TERM");
    process.wait().ok();
}

/// The page that is fetched first after the reload may be the only one that leads on.
#[test]
fn links_of_the_first_page_after_a_reload_are_judged_by_the_new_depth() {
    const MAX_DEPTH: &str = "link_storage.link_classifier.max_depth";
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: 0\n{MAX_DEPTH}: 0\n")));
    let process = start(&place, &site, &[]);
    eventually("the seed is all", || live(&place) == 1 && status(&place)["frontier"]["in_flight"] == 0);
    place.set(MAX_DEPTH, "5");
    seine(&place, &["reload"]).ok();
    eventually("its links are followed", || live(&place) == PAGES as u64 + 1);
    process.signal("TERM");
    process.wait().ok();
}

/// Links above a limit are in no store, and the page that has them may never change.
#[test]
fn links_that_a_limit_left_out_are_found_once_it_is_raised() {
    const MOST: &str = "link_storage.max_pages_per_domain";
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: 0\n{MOST}: 10\n")));
    let process = start(&place, &site, &[]);
    let all_are_there =
        |most: u64| eventually("it has as many pages as it may", || live(&place) == most && is_still(&place));
    all_are_there(10);
    place.set(MOST, "20");
    seine(&place, &["reload"]).ok();
    all_are_there(20);
    seine(&place, &["limit", "host-pages", "30"]).ok();
    all_are_there(30);
    let host = site.origin(0);
    seine(&place, &["host", &host, "pages", "40"]).ok();
    all_are_there(40);
    assert!(process.kill());
    place.set(MOST, "50");
    seine(&place, &["limit", "host-pages", "default"]).ok();
    seine(&place, &["host", &host, "pages", "default"]).ok();
    let process = start(&place, &site, &[]);
    all_are_there(50);
    process.signal("TERM");
    process.wait().ok();
}

fn is_still(place: &Place) -> bool {
    status(place)["frontier"]["in_flight"] == 0
}

#[test]
fn links_marked_nofollow_are_found_once_they_are_followed() {
    let site = Running::start(
        1,
        std::sync::Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html("<a rel=nofollow href=/1>1</a> <a href=/2>2</a>").header("etag", "\"1\""),
            "/1" | "/2" => Answer::html("A page"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(&format!("{DELAY}: 0\n"));
    let process = start(&place, &site, &[]);
    eventually("two are there", || live(&place) == 2 && is_still(&place));
    process.signal("TERM");
    process.wait().ok();
    place.set("link_storage.link_strategy.obey_nofollow", "false");
    let process = start(&place, &site, &[]);
    eventually("all are there", || live(&place) == 3);
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn what_cannot_be_changed_is_named_and_nothing_is_changed_with_it() {
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: 1h\n")));
    let process = start(&place, &site, &[]);
    let right = std::fs::read_to_string(place.config()).unwrap();
    for (key, value) in [(DELAY, "0"), ("crawler_id", "other"), ("target_storage.data_formats", "[FILES, WARC]")] {
        place.set(key, value);
    }
    let said = seine(&place, &["reload"])
        .fails_naming(&["restart it", "crawler_id (default → other)", "target_storage.data_formats"])
        .stderr;
    assert!(!said.contains(DELAY), "this could be changed: {said}");
    place.set("link_storage.link_strategy.blacklits", "[]");
    seine(&place, &["reload"]).fails_naming(&["did you mean", BLACKLIST, "is unchanged"]);
    process.signal("HUP");
    assert!(orders(&place).is_empty());
    // With the refused delay everything would be there by now. Another order shows that it is not in force.
    std::fs::write(place.config(), right).unwrap();
    assert!(seine(&place, &["reload"]).ok().stdout.contains("has not changed"));
    process.signal("TERM");
    let said = process.wait().ok().stderr;
    assert!(said.contains("the configuration is not changed") && said.contains("did you mean"), "{said}");
    seine(&place, &["reload"]).fails_naming(&["no crawl runs", "nothing to reload"]);
}

#[test]
fn a_hang_up_reads_it_again_and_a_larger_budget_lets_hosts_go_on() {
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: 0\nbudget.rules: [{{of: host, pages: 5}}]\n")));
    let process = start(&place, &site, &[]);
    eventually("its host rests", || status(&place)["budgets"][0]["resting_hosts"] == 1);
    place.set("budget.rules", "[{of: host, pages: 20}, {of: crawl, pages: 30}]");
    process.signal("HUP");
    eventually("it goes on", || live(&place) == 20);
    assert_eq!(orders(&place)[0]["by"], "SIGHUP");
    // URLs that waited for a removed limit no longer have a budget to wait for.
    place.set("budget.rules", "[{of: crawl, pages: 30}]");
    place.set("crawler_manager.downloader.download_thread_pool_size", "3");
    seine(&place, &["reload"]).ok();
    eventually("and on", || live(&place) == 30);
    place.set("target_storage.visited_page_limit", "25");
    seine(&place, &["reload"]).ok();
    assert!(process.wait().ok().stderr.contains("page limit"));
}

#[test]
fn the_log_speaks_otherwise_and_a_token_is_another() {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (site, place) = (site(1), Place::new());
    let token = place.write("token", "0123456789abcdef-first\n");
    place.set("http.api.read_token_file", token.to_str().unwrap());
    let said = place.data().with_extension("said");
    let more = ["--stay", "--delay", "0", "--listen", &address.to_string()];
    let process = Process::start_saying(place.crawl(&[site.origin(0) + "/"], &more), &said);
    let with = |token: &str| get_with(address, "/api/v1/status", &format!("0123456789abcdef-{token}"));
    eventually("it answers", || with("first") == Some(200));
    std::fs::write(token, "0123456789abcdef-second\n").unwrap();
    place.set("logging.filter", "info");
    let answer = seine(&place, &["reload"]).ok().stdout;
    assert!(answer.contains("http.api.read_token: changed (not shown)"), "{answer}");
    assert!(!answer.contains("0123456789"), "{answer}");
    assert_eq!((with("first"), with("second")), (Some(401), Some(200)));
    seine(&place, &["pause"]).ok();
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("ordered") && said.contains("the crawl is paused"), "{said}");
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn files_beside_the_configuration_and_what_is_not_shown_are_compared_too() {
    let (site, place) =
        (site(1), Place::with("crawler_manager.downloader.cookies: [{domain: a.test, cookie: \"session=first\"}]\n"));
    let folder = place.data().with_extension("conf");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("seine.yml");
    let text = std::fs::read_to_string(place.config()).unwrap();
    std::fs::write(&file, &text).unwrap();
    let data = place.data();
    let mut crawl = crate::support::program::command(&["crawl", "--stay", "--delay", "20ms", "--seed"]);
    crawl.arg(site.origin(0) + "/").arg("-c").arg(&folder).arg("-o").arg(&data);
    let process = Process::start(crawl);
    eventually("it can be asked", || data.join("api.sock").exists() && !status(&place)["running"].is_null());
    std::fs::write(folder.join("link_blacklist.txt"), ".*/5[0-9]\n").unwrap();
    let said = seine(&place, &["reload"]).ok().stdout;
    assert!(said.contains("link_blacklist.txt: changed"), "{said}");
    std::fs::write(&file, text.replace("session=first", "session=second")).unwrap();
    std::fs::remove_file(folder.join("link_blacklist.txt")).unwrap();
    let said = seine(&place, &["reload"])
        .fails_naming(&["crawler_manager.downloader.cookies (value not shown) cannot change"])
        .stderr;
    assert!(!said.contains("session="), "{said}");
    eventually("the list is in force still", || live(&place) == PAGES as u64 - 9);
    process.signal("TERM");
    process.wait().ok();
}

/// The status of a request with a token.
fn get_with(address: SocketAddr, path: &str, token: &str) -> Option<u16> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    let head = format!("host: {address}\r\nauthorization: Bearer {token}\r\nconnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}
