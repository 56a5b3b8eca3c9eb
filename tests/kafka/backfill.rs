//! A sink that is added later: its topic is filled from the crawl's own archive, without pages that have left since.

use std::collections::BTreeMap;

use crate::support::server::{Answer, Ask};
use rdkafka::mocking::MockCluster;

use crate::support::program::{Place, Process, command, eventually, run};
use crate::support::{Running, links};

const PAGES: usize = 60;
const BLACKLIST: &str = "link_storage.link_strategy.blacklist";

fn site() -> Running {
    Running::start(1, std::sync::Arc::new(site_answers))
}

fn site_answers(ask: &Ask) -> Answer {
    match ask.path() {
        "/robots.txt" => Answer::text("").status(404),
        "/" => {
            let pages: Vec<String> = (0..PAGES).map(|number| format!("/{number}")).collect();
            Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        path => Answer::html(format!("<p>{path}</p>{}", "x".repeat(8000))),
    }
}

#[test]
fn a_topic_that_comes_later_has_every_page_that_is_there() {
    let (site, cluster) = (site(), MockCluster::new(1).unwrap());
    cluster.create_topic("late", 1, 1).unwrap();
    let kafka = "target_storage.data_format.kafka";
    let servers = cluster.bootstrap_servers();
    let place = Place::with(&format!(
        "page_log.segment_size: 64KiB\n{kafka}.topic_name: late\n{kafka}.removed: tombstone\n\
         {kafka}.properties: {{bootstrap.servers: '{servers}'}}\n"
    ));
    let crawl = |more: &[&str]| {
        let options = [&["--delay", "0", "--sink", "files"], more].concat();
        Process::start(place.crawl(&[], &options)).wait().ok()
    };
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--sink", "files"])).wait().ok();
    // These pages leave, and the archive does not show it.
    place.set(BLACKLIST, "['.*/1.']");
    crawl(&[]);
    // The crawl knows nothing of this one any more, so it could never remove it.
    run(&["forget", &(site.origin(0) + "/5"), "-o", place.data().to_str().unwrap()]).ok();
    let files = place.data().join("files").display().to_string();
    let ran = crawl(&["--sink", "kafka", "--from-archive", &files]);
    assert!(!ran.stderr.contains("does not get the events"), "{}", ran.stderr);
    assert!(place.data().join("from.archive/kafka.json").exists(), "the log had everything");

    let topic = format!("kafka://{servers}/late");
    let mut held = BTreeMap::<String, usize>::new();
    for page in run(&["cat", &topic]).ok().json_lines() {
        *held.entry(page["url"].as_str().unwrap().trim_start_matches(&site.origin(0)).to_owned()).or_default() += 1;
    }
    let is_there = |number: &usize| !(10..20).contains(number) && *number != 5;
    let mut expected: BTreeMap<String, usize> =
        (0..PAGES).filter(is_there).map(|number| (format!("/{number}"), 1)).collect();
    expected.insert("/".to_owned(), 1);
    assert_eq!(held, expected);
}

/// Like [`site`], but it answers conditional requests with 304.
fn conditional_site() -> Running {
    let plain = site_answers;
    let answer = move |ask: &Ask| match ask.header("if-none-match") {
        Some(_) => Answer::new(304, ""),
        None => plain(ask).header("etag", "\"1\""),
    };
    Running::start(1, std::sync::Arc::new(answer))
}

/// Number of messages with a page in the topic, by page number.
fn pages_in(topic: &str) -> BTreeMap<usize, usize> {
    let mut held = BTreeMap::new();
    for page in run(&["cat", topic]).ok().json_lines() {
        let number = page["url"].as_str().and_then(|url| url.rsplit('/').next()?.parse().ok());
        if let Some(number) = number {
            *held.entry(number).or_default() += 1;
        }
    }
    held
}

fn refill(place: &Place, more: &[&str]) -> String {
    let data = place.data().display().to_string();
    run(&[&["sinks", "refill", "kafka", "-o", &data], more].concat()).ok().stdout
}

/// Each live page comes once more, from the crawl's archive or from the log; pages that have left do not.
#[test]
fn an_order_fills_a_topic_anew_while_the_crawl_runs() {
    let (site, cluster) = (site(), MockCluster::new(1).unwrap());
    cluster.create_topic("again", 1, 1).unwrap();
    let kafka = "target_storage.data_format.kafka";
    let servers = cluster.bootstrap_servers();
    let place = Place::with(&format!(
        "page_log.segment_size: 64KiB\n{kafka}.topic_name: again\n{kafka}.removed: tombstone\n\
         {kafka}.properties: {{bootstrap.servers: '{servers}'}}\n"
    ));
    let both = ["--delay", "0", "--sink", "files", "--sink", "kafka"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &both)).wait().ok();
    place.set(BLACKLIST, "['.*/1.']");
    Process::start(place.crawl(&[], &both)).wait().ok();
    let topic = format!("kafka://{servers}/again");
    let before = pages_in(&topic);
    assert_eq!(before.len(), PAGES);

    let is_there = |number: &usize| !(10..20).contains(number);
    let expected = |more: usize| -> BTreeMap<usize, usize> {
        before.iter().map(|(number, count)| (*number, count + if is_there(number) { more } else { 0 })).collect()
    };
    let crawl = Process::start(place.crawl(&[], &[&both[..], &["--stay"]].concat()));
    eventually("the crawl answers", || place.data().join("api.sock").exists());
    let said = refill(&place, &[]);
    assert!(said.contains("data/files") && said.contains("counters start at zero"), "{said}");
    eventually("every page is there once more", || pages_in(&topic) == expected(1));
    let said = run(&["sinks".as_ref(), "-o".as_ref(), place.data().as_os_str()]).ok().stdout;
    assert!(said.contains("the operator ordered a backfill from"), "{said}");
    crawl.signal("TERM");
    crawl.wait().ok();

    // With the crawl stopped, the next start refills. An invalid archive, and a sink that cannot be refilled, are
    // refused.
    refill(&place, &["--from-archive", &place.data().join("files").display().to_string()]);
    let data = place.data().display().to_string();
    run(&["sinks", "refill", "kafka", "-o", &data, "--from-archive", "/not/there"]).fails_naming(&["/not/there"]);
    let junk = place.write("junk.txt", "no archive");
    let junk = run(&["sinks", "refill", "kafka", "-o", &data, "--from-archive", junk.to_str().unwrap()]);
    junk.fails_naming(&["junk.txt", "none of the known formats"]);
    run(&["sinks", "refill", "nobody", "-o", &data]).fails_naming(&["nobody", "kafka"]);
    assert_eq!(pages_in(&topic), expected(1));
    // The folder may be moved before that.
    let (config, moved) = (place.config(), place.data().with_file_name("moved"));
    std::fs::rename(place.data(), &moved).unwrap();
    let here = ["crawl", "-c", config.to_str().unwrap(), "-o", moved.to_str().unwrap()];
    Process::start(command(&[&here[..], &both].concat())).wait().ok();
    std::fs::rename(&moved, place.data()).unwrap();
    assert_eq!(pages_in(&topic), expected(2));
    run(&["audit", &data]).ok();
    // The refill happens once.
    let ran = Process::start(place.crawl(&[], &[&both[..], &["--from-archive", "/nowhere"]].concat())).wait();
    assert!(ran.stderr.contains("seine sinks refill kafka --from-archive /nowhere"), "{}", ran.stderr);
    assert_eq!(pages_in(&topic), expected(2));
}

/// Without an archive every page is fetched again without conditions, since the site would answer 304 and the topic
/// needs pages.
#[test]
fn an_order_fetches_every_page_again() {
    let (site, cluster) = (conditional_site(), MockCluster::new(1).unwrap());
    cluster.create_topic("refetched", 1, 1).unwrap();
    let kafka = "target_storage.data_format.kafka";
    let servers = cluster.bootstrap_servers();
    let place = Place::with(&format!(
        "page_log.segment_size: 64KiB\n{kafka}.topic_name: refetched\n{kafka}.unchanged: skip\n\
         {kafka}.properties: {{bootstrap.servers: '{servers}'}}\n"
    ));
    let only = ["--delay", "0", "--sink", "kafka"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &only)).wait().ok();
    let data = place.data().display().to_string();
    run(&["sinks", "refill", "kafka", "-o", &data]).fails_naming(&["--from-archive", "--refetch"]);
    refill(&place, &["--refetch"]);
    let topic = format!("kafka://{servers}/refetched");
    let crawl = Process::start(place.crawl(&[], &[&only[..], &["--stay"]].concat()));
    let asked = |number: usize| site.visits.all().iter().filter(|visit| visit.path == format!("/{number}")).count();
    eventually("every page was asked for twice", || (0..PAGES).all(|number| asked(number) == 2));
    // Pages in the log came once more, too.
    eventually("every page is there once more", || {
        let held = pages_in(&topic);
        held.len() == PAGES && held.values().all(|count| *count >= 2)
    });
    crawl.signal("TERM");
    crawl.wait().ok();
}
