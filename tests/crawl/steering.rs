//! Steering a crawl while it runs and while it is stopped: orders survive a kill, and are in the log of orders.

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, Ran, command, eventually, run};
use crate::support::{Running, links};

/// `PAGES` pages per host, all linked from its front page.
pub const PAGES: usize = 60;

pub fn site(hosts: usize) -> Running {
    let answer = |ask: &Ask| match ask.path() {
        "/robots.txt" => Answer::text("").status(404),
        "/" => {
            let pages: Vec<String> = (0..PAGES).map(|number| format!("/{number}")).collect();
            Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        path => Answer::html(format!("<p>{path}</p>")),
    };
    Running::start(hosts, std::sync::Arc::new(answer))
}

pub fn seine(place: &Place, words: &[&str]) -> Ran {
    let data = place.data();
    run(&[words, &["-o", data.to_str().unwrap()]].concat())
}

pub fn status(place: &Place) -> Value {
    serde_json::from_str(&seine(place, &["status", "--json"]).ok().stdout).unwrap()
}

/// Number of requests for pages of a host.
fn asked(site: &Running, host: usize) -> usize {
    let address = site.addresses[host];
    site.visits.all().iter().filter(|visit| visit.address == address && visit.path != "/robots.txt").count()
}

fn answers(place: &Place) -> bool {
    place.data().join("api.sock").exists() && !status(place)["running"].is_null()
}

#[test]
fn a_paused_crawl_asks_for_nothing_until_it_is_resumed_over_a_kill_too() {
    let (site, place) = (site(1), Place::new());
    let seeds = [site.origin(0) + "/"];
    let process = Process::start(place.crawl(&seeds, &["--delay", "30ms", "--stay"]));
    eventually("it fetches", || answers(&place) && asked(&site, 0) > 3);
    seine(&place, &["pause"]).ok();
    eventually("what was in flight has ended", || {
        let status = status(&place);
        status["running"]["phase"] == "paused" && status["frontier"]["hosts_leased"] == 0
    });
    let paused_at = asked(&site, 0);
    assert!(paused_at < PAGES, "there is nothing left to pause");
    assert!(process.kill());
    assert_eq!(status(&place)["is_paused"], true);

    // Without --stay the crawl ends when there is nothing left to do; a pause does not count as that.
    let mut process = Process::start(place.crawl(&[], &["--delay", "30ms"]));
    eventually("it runs, and is paused still", || answers(&place) && status(&place)["running"]["phase"] == "paused");
    eventually("the rates are those of nothing", || status(&place)["running"]["rates"][0]["attempts"] == 0.0);
    assert_eq!(asked(&site, 0), paused_at);
    assert!(!process.has_ended());
    seine(&place, &["resume"]).ok();
    process.wait().ok();
    assert!(asked(&site, 0) > PAGES);
    assert_eq!(place.stats()["frontier"]["live"], PAGES + 1);
    let orders = seine(&place, &["orders", "--json"]).ok().json_lines();
    let orders: Vec<&str> = orders.iter().map(|order| order["order"]["order"].as_str().unwrap()).collect();
    assert_eq!(orders, ["resume", "pause"]);
}

#[test]
fn a_blocked_host_waits_while_others_go_on_and_a_delay_is_kept() {
    let (site, place) = (site(2), Place::new());
    let seeds = [site.origin(0) + "/", site.origin(1) + "/"];
    // Before the first start there is nothing to steer.
    seine(&place, &["host", "a.test", "block"]).fails_naming(&["has no crawl"]);
    Process::start(place.crawl(&seeds, &["--delay", "0", "--max-pages", "2"])).wait().ok();
    seine(&place, &["host", &site.origin(0), "block"]).ok();
    let before = asked(&site, 0);
    let ran = Process::start(place.crawl(&[], &["--delay", "0", "--patience", "1s"])).wait().exits(4);
    assert!(ran.stderr.contains("1 host: blocked by the operator"), "{}", ran.stderr);
    assert_eq!(asked(&site, 0), before);
    assert!(asked(&site, 1) > PAGES);
    let hosts: Value =
        serde_json::from_str(&seine(&place, &["hosts", "--which", "blocked", "--json"]).ok().stdout).unwrap();
    assert_eq!((&hosts["blocked"], &hosts["hosts"][0]["state"]), (&1.into(), &"blocked".into()), "{hosts}");
    // A known page of it waits as well, when it is due again: here, because it is given as a seed.
    let ran = Process::start(place.crawl(&seeds[..1], &["--delay", "0", "--patience", "1s"])).wait().exits(4);
    assert!(ran.stderr.contains("1 host: blocked by the operator"), "{}", ran.stderr);

    seine(&place, &["host", &site.origin(0), "unblock"]).ok();
    seine(&place, &["host", &site.origin(0), "delay", "25ms"]).ok();
    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    let mut visits = site.visits.all();
    visits.retain(|visit| visit.address == site.addresses[0]);
    assert!(visits.len() > PAGES);
    let slow = &visits[before + 2..]; // the front page, robots.txt and what came with them were before the order
    let gaps: Vec<_> = slow.windows(2).map(|two| two[1].at.duration_since(two[0].at).as_millis()).collect();
    assert!(gaps.iter().all(|gap| *gap >= 25), "{gaps:?}");
    seine(&place, &["host", "https://", "block"]).fails_naming(&["is no host"]);
    // A name stands for every scheme under which the host is known; for both schemes if it is unknown.
    let name = site.origin(0).trim_start_matches("http://").to_owned();
    assert!(
        seine(&place, &["host", &name, "block"]).ok().stdout.starts_with(&format!("{} is blocked", site.origin(0)))
    );
    let both = seine(&place, &["host", "unheard.test", "block"]).ok().stdout;
    assert!(both.starts_with("https://unheard.test and http://unheard.test are blocked"), "{both}");
}

#[test]
fn seeds_come_while_it_runs_and_their_hosts_are_in_scope() {
    let (site, place) = (site(2), Place::new());
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    eventually("it has read its own host", || answers(&place) && asked(&site, 0) > PAGES);
    let second = site.origin(1) + "/";
    let said = seine(&place, &["seeds", "add", &second, "nonsense://x", "notaurl"]).exits(1).stdout;
    assert!(said.contains("1 new") && said.contains("nonsense://x"), "{said}");
    eventually("the new seed's host is read, its links followed", || asked(&site, 1) > PAGES);
    process.signal("TERM");
    process.wait().ok();
    // The next start has it in scope, too.
    let third = format!("{}/7", site.origin(1));
    let why: Value = serde_json::from_str(&seine(&place, &["why", "--json", &third]).ok().stdout).unwrap();
    assert_eq!((&why["state"], &why["scope"]["is_admitted"]), (&"live".into(), &true.into()));
}

#[test]
fn a_paused_sink_is_kept_waiting_and_one_not_configured_is_given_up_while_it_runs() {
    let (site, place) = (site(1), Place::new());
    let seeds = [site.origin(0) + "/"];
    let both = ["--delay", "0", "--sink", "files", "--sink", "void"];
    Process::start(place.crawl(&seeds, &[&both[..], &["--max-pages", "5"]].concat())).wait().ok();
    seine(&place, &["sinks", "pause", "files"]).ok();
    let process = Process::start(place.crawl(&[], &["--delay", "0", "--sink", "files", "--stay"]));
    let sink = |name: &str| {
        let sinks = status(&place)["sinks"].as_array().unwrap().clone();
        sinks.into_iter().find(|sink| sink["name"] == name)
    };
    eventually("everything is fetched, and waits", || {
        answers(&place) && sink("files").is_some_and(|files| files["pending"].as_u64().unwrap() >= PAGES as u64 - 5)
    });
    assert_eq!(sink("files").unwrap()["is_paused"], true);
    seine(&place, &["sinks", "remove", "files"]).fails_naming(&["is a sink of this run"]);
    seine(&place, &["sinks", "remove", "void"]).ok();
    assert!(sink("void").is_none());
    seine(&place, &["sinks", "pause", "kafka"]).fails_naming(&["has no sink kafka", "files"]);
    seine(&place, &["sinks", "resume", "files"]).ok();
    eventually("it has everything", || sink("files").unwrap()["pending"] == 0);
    process.signal("TERM");
    process.wait().ok();
    assert_eq!(place.kept().len(), PAGES + 1);
}

#[test]
fn what_failed_is_tried_again_by_the_crawl_that_runs() {
    let answer = |ask: &Ask, times: u32| match (ask.path(), times) {
        ("/", _) => Answer::html(links(&["/late", "/never"])),
        ("/late", 1) | ("/never", _) => Answer::text("").status(404),
        ("/late", _) => Answer::html("<p>here it is</p>".to_owned()),
        _ => Answer::text("").status(404),
    };
    let site = Running::start(1, crate::support::counted(answer));
    let place = Place::new();
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    let refused = || status(&place)["frontier"]["refused"].as_u64();
    eventually("both are refused", || answers(&place) && refused() == Some(2));
    let dry = seine(&place, &["retry", "--reason", "refused", "--pattern", ".*/late", "--dry-run"]).ok().stdout;
    assert!(dry.contains("1 would be retried"), "{dry}");
    let told = seine(&place, &["retry", "--reason", "refused", "--pattern", ".*/late"]).ok().stdout;
    assert!(told.contains("1 queued; the running crawl fetches them"), "{told}");
    eventually("it is there now", || refused() == Some(1) && status(&place)["frontier"]["live"] == 2);
    seine(&place, &["retry", "--pattern", "("]).fails_naming(&["the pattern"]);
    for host in ["", "a b", "http://"] {
        seine(&place, &["retry", "--host", host]).fails_naming(&[&format!("{host:?} is no host")]);
    }
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn an_order_behind_one_that_a_crash_has_cut_is_shown() {
    let (site, place) = (site(1), Place::new());
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    std::fs::write(place.data().join("orders.jsonl"), b"\xff\n{\"at_ms\":1,\"by\":\"some").unwrap();
    seine(&place, &["pause"]).ok();
    let orders = seine(&place, &["orders", "--json"]).ok().json_lines();
    assert_eq!(orders.len(), 1, "{orders:?}");
    assert_eq!(orders[0]["order"]["order"], "pause");
}

#[test]
fn top_ends_when_nobody_looks_any_more() {
    let (site, place) = (site(1), Place::new());
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    eventually("it can be asked", || answers(&place));
    let data = place.data();
    let (top, unread) = Process::start_unread(command(&["top", "-i", "1", "-o", data.to_str().unwrap()]));
    drop(unread);
    top.wait().ok();
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn after_the_answer_to_a_block_nothing_is_asked_of_the_host() {
    let (site, place) = (site(2), Place::new());
    let seeds = [site.origin(0) + "/", site.origin(1) + "/"];
    // A lease has as many URLs as can be fetched in a second.
    let process = Process::start(place.crawl(&seeds, &["--delay", "30ms", "--stay"]));
    eventually("both are fetched from", || answers(&place) && asked(&site, 0) > 3 && asked(&site, 1) > 3);
    seine(&place, &["host", &site.origin(0), "block"]).ok();
    let (blocked, other) = (asked(&site, 0), asked(&site, 1));
    assert!(blocked < PAGES, "there is nothing left to ask for");
    eventually("the other goes on", || asked(&site, 1) > (other + 30).min(PAGES));
    assert_eq!(asked(&site, 0), blocked);
    seine(&place, &["host", &site.origin(0), "unblock"]).ok();
    eventually("it goes on, nothing is lost", || status(&place)["frontier"]["live"] == 2 * (PAGES + 1));
    assert_eq!(asked(&site, 0), PAGES + 2, "each is asked for once, and the guessed sitemap");
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn a_redirect_to_a_blocked_host_waits_for_it() {
    let second = std::sync::Arc::new(parking_lot::Mutex::new(String::new()));
    let target = second.clone();
    let answer = move |ask: &Ask| match ask.path() {
        "/" => Answer::html(links(&["/moved", "/here"])),
        "/moved" => Answer::redirect(302, &format!("{}/there", target.lock())),
        "/here" | "/there" => Answer::html("<p>here"),
        _ => Answer::text("").status(404),
    };
    let (site, place) = (Running::start(2, std::sync::Arc::new(answer)), Place::new());
    *second.lock() = site.origin(1);
    let more = ["--delay", "0", "--scope", "any", "--patience", "1s"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--max-depth", "0"])).wait().ok();
    seine(&place, &["host", &site.origin(1), "block"]).ok();
    Process::start(place.crawl(&[], &more)).wait().exits(4);
    assert_eq!(asked(&site, 1), 0);
    assert_eq!(status(&place)["frontier"]["live"], 2);
    let moved = format!("{}/moved", site.origin(0));
    let why: Value = serde_json::from_str(&seine(&place, &["why", "--json", &moved]).ok().stdout).unwrap();
    assert_eq!((&why["state"], &why["queue"]["attempts"]), (&"waiting".into(), &0.into()), "{why}");
    let done = seine(&place, &["host", &site.origin(1), "unblock"]).ok().stdout;
    assert!(done.contains("1 URL with a redirect that had to wait: due now"), "{done}");
    Process::start(place.crawl(&[], &more)).wait().ok();
    assert_eq!((asked(&site, 1) > 0, status(&place)["frontier"]["live"].as_u64()), (true, Some(3)));
}

#[test]
fn an_order_that_cannot_be_noted_is_done_and_says_so() {
    let (site, place) = (site(1), Place::new());
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    std::fs::create_dir(place.data().join("orders.jsonl")).unwrap();
    let said = seine(&place, &["pause"]).ok();
    assert!(said.stderr.contains("done, but not recorded in the log of orders"), "{}", said.stderr);
    assert_eq!(status(&place)["is_paused"], true);
    let process = Process::start(place.crawl(&[], &["--stay"]));
    eventually("it can be asked", || answers(&place));
    let more = format!("{}/more", site.origin(0));
    for words in [&["resume"][..], &["reload"], &["seeds", "add", &more], &["forget", &more]] {
        let said = seine(&place, words).ok();
        assert!(said.stderr.contains("orders.jsonl"), "{words:?}: {}", said.stderr);
    }
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn whatever_lies_where_its_socket_belongs_it_answers_or_says_so() {
    let (site, place) = (site(1), Place::new());
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let socket = place.data().join("api.sock");
    std::fs::create_dir(&socket).unwrap();
    assert_eq!(status(&place)["running"], Value::Null);
    let process = Process::start(place.crawl(&[], &["--stay"]));
    eventually("an empty folder is replaced", || {
        socket.metadata().is_ok_and(|found| !found.is_dir()) && answers(&place)
    });
    process.kill();
    assert!(socket.exists(), "a killed crawl leaves it");
    let process = Process::start(place.crawl(&[], &["--stay"]));
    eventually("a stale one, too", || answers(&place));
    process.signal("TERM");
    process.wait().ok();
    std::fs::create_dir(&socket).unwrap();
    std::fs::write(socket.join("mine"), "").unwrap();
    Process::start(place.crawl(&[], &["--stay"])).wait().fails_naming(&["api.sock is a folder", "move it away"]);
}

/// People write names in their own way. An order must not miss the host that they mean.
#[test]
fn a_host_is_found_however_its_name_is_written() {
    let (site, place) = (site(1), Place::new());
    let seed = site.origin(0) + "/";
    Process::start(place.crawl(std::slice::from_ref(&seed), &["--delay", "0"])).wait().ok();
    let data = place.data();
    let host = |name: &str, order: &[&str]| run(&[&["host", "-o", data.to_str().unwrap(), name], order].concat());
    let origin = seed.trim_end_matches('/');
    let (name, port) = origin.trim_start_matches("http://").split_once(':').unwrap();
    for written in [origin, &seed, name, &format!("{name}."), &format!("{name}:{port}")] {
        let said = host(written, &[]).ok().stdout;
        assert!(said.contains(origin), "{written}: {said}");
    }
    host(&format!("{name}:1"), &[]).fails_naming(&["is unknown"]);
    host("*.test", &["block"]).fails_naming(&["*.test"]);
}
