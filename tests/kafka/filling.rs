//! A topic that comes later than the crawl: filled from the crawl's own archive, without what has left since.

use std::collections::BTreeMap;

use crate::support::server::{Answer, Ask};
use rdkafka::mocking::MockCluster;

use crate::support::program::{Place, Process, run};
use crate::support::{Running, links};

const PAGES: usize = 60;
const BLACKLIST: &str = "link_storage.link_strategy.blacklist";

fn site() -> Running {
    let answer = |ask: &Ask| match ask.path() {
        "/robots.txt" => Answer::text("").status(404),
        "/" => {
            let pages: Vec<String> = (0..PAGES).map(|number| format!("/{number}")).collect();
            Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        path => Answer::html(format!("<p>{path}</p>{}", "x".repeat(8000))),
    };
    Running::start(1, std::sync::Arc::new(answer))
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
    // These leave, and the archive does not say so.
    place.set(BLACKLIST, "['.*/1.']");
    crawl(&[]);
    let files = place.data().join("files").display().to_string();
    let ran = crawl(&["--sink", "kafka", "--from-archive", &files]);
    assert!(!ran.stderr.contains("does not get them"), "{}", ran.stderr);
    assert!(place.data().join("from.archive/kafka.json").exists(), "the log had everything");

    let topic = format!("kafka://{servers}/late");
    let mut held = BTreeMap::<String, usize>::new();
    for page in run(&["cat", &topic]).ok().json_lines() {
        *held.entry(page["url"].as_str().unwrap().trim_start_matches(&site.origin(0)).to_owned()).or_default() += 1;
    }
    let is_there = |number: &usize| !(10..20).contains(number);
    let mut expected: BTreeMap<String, usize> =
        (0..PAGES).filter(is_there).map(|number| (format!("/{number}"), 1)).collect();
    expected.insert("/".to_owned(), 1);
    assert_eq!(held, expected);
}
