//! An audit of a topic counts events, not messages.

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::LONG;
use crate::broker::{BROKER, Seen};
use crate::crawl::path_of;
use crate::noise;
use crate::support::program::{Place, Process, Ran, eventually, run};
use crate::support::server::Answer;
use crate::support::{Plan, Running, TestSite, counted, links};

fn send(topic: &str, messages: &[&Seen]) {
    let mut client = ClientConfig::new();
    let producer: BaseProducer = client.set("bootstrap.servers", &BROKER.plain).create().unwrap();
    for message in messages {
        let header = |headers: OwnedHeaders, (key, value): (&String, &String)| {
            headers.insert(Header { key, value: Some(value) })
        };
        let headers = message.headers.iter().fold(OwnedHeaders::new(), header);
        // A message acts on its own partition alone, and this client would choose partitions in another way than Seine does.
        let mut record = BaseRecord::to(topic).partition(message.partition).key(&message.key).headers(headers);
        record.payload = (!message.is_tombstone).then_some(&message.value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(LONG).unwrap();
}

#[test]
fn a_message_that_is_there_twice_makes_up_for_none_that_is_lost() {
    BROKER.make_topic("audited", &[]);
    BROKER.make_topic("with-a-loss", &[]);
    let site = TestSite::start(Plan { pages: 40, hosts: 2, ..Plan::default() });
    let place = Place::new();
    let to_topic = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "audited", "--kafka-servers", &BROKER.plain];
    Process::start(place.crawl(&site.seeds(), &to_topic)).wait().ok();
    let data = place.data();
    let audit = |more: &[&str]| -> Ran { run(&[&["audit", data.to_str().unwrap(), "--destinations"], more].concat()) };
    let whole = audit(&[]).ok();
    assert!(whole.stdout.contains("✓ at kafka by id"), "{}", whole.stdout);

    // As many messages as were delivered: one event is missing, another is there twice.
    let seen = BROKER.read("audited");
    let messages: Vec<&Seen> = seen[1..].iter().chain([&seen[1]]).collect();
    send("with-a-loss", &messages);
    assert_eq!(BROKER.count("with-a-loss"), seen.len() as i64);
    let ran = audit(&["--kafka-topic", "with-a-loss"]);
    let ran = ran.fails_naming(&["at kafka is off by 1 ", "at kafka by id is off by 1 "]);
    assert!(ran.stdout.contains("1 messages repeat an event"), "{}", ran.stdout);

    // The missing event arrives; messages of other programs do not count.
    send("with-a-loss", &[&seen[0]]);
    let mut theirs = seen[0].clone();
    theirs.headers.clear();
    send("with-a-loss", &[&theirs]);
    let ran = audit(&["--kafka-topic", "with-a-loss"]).ok();
    assert!(ran.stdout.contains("1 messages of the topic are not Seine's"), "{}", ran.stdout);
}

/// Pages `/1` to `/40`, and `/leaving`, which is there once.
fn site() -> Running {
    Running::start(
        1,
        counted(|ask, times| match (ask.path(), times) {
            ("/", _) => {
                let paths: Vec<String> = (1..=40).map(|number| format!("/{number}")).collect();
                let paths: Vec<&str> = paths.iter().map(String::as_str).chain(["/leaving"]).collect();
                Answer::html(links(&paths))
            }
            ("/leaving", 2..) => Answer::text("").status(404),
            (path, _) => Answer::html(format!("{path} {}", noise(7, 4000))),
        }),
    )
}

/// The log deletes its oldest segments when all have read them. Then the frontier alone knows which pages the topic must have.
#[test]
fn pages_that_left_the_log_are_compared_by_their_keys() {
    BROKER.make_topic("old-pages", &[]);
    let site = site();
    let place = Place::with(
        "link_storage.recrawl: {interval: 1s, confirm_gone: 0}\npage_log.segment_size: 64KiB\n\
         crawler_manager.downloader.redirects: follow\n",
    );
    let options = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "old-pages", "--kafka-servers", &BROKER.plain];
    let seeds = [site.origin(0) + "/"];
    Process::start(place.crawl(&seeds, &options)).wait().ok();
    eventually("the page is gone", || {
        Process::start(place.crawl(&seeds, &options)).wait().ok();
        BROKER.read("old-pages").iter().any(|message| message.is_tombstone)
    });
    let data = place.data();
    let audit = || -> Ran { run(&["audit", data.to_str().unwrap(), "--destinations"]) };
    let whole = audit().ok();
    assert!(whole.stdout.contains("41 live pages delivered ≤ 41 found there"), "{}", whole.stdout);

    let seen = BROKER.read("old-pages");
    let first_of = |path: &str| {
        let is_it = |message: &&Seen| path_of(message, &site.origin(0)) == path && !message.is_tombstone;
        seen.iter().find(is_it).unwrap_or_else(|| panic!("{path} was delivered"))
    };
    let removed = Seen { is_tombstone: true, ..first_of("/17").clone() };
    send("old-pages", &[&removed, first_of("/leaving")]);
    let ran = audit().fails_naming(&["at kafka by page is off by 1 ", "at kafka, gone is off by 1 "]);
    assert!(!ran.stderr.contains("at kafka by id"), "the log still has the page's event: {}", ran.stderr);
    for path in ["/17", "/leaving"] {
        assert!(
            ran.stdout.lines().any(|line| line.ends_with(&format!("such as {}{path}", site.origin(0)))),
            "{}",
            ran.stdout
        );
    }

    send("old-pages", &[first_of("/17"), &Seen { is_tombstone: true, ..first_of("/leaving").clone() }]);
    audit().ok();
}

/// CDR31 holds HTML pages alone, and the frontier does not know which pages these are.
#[test]
fn a_topic_that_need_not_have_every_page_is_not_compared_by_page() {
    BROKER.make_topic("html-only", &[]);
    let site = site();
    let place = Place::with("target_storage.data_format.kafka.format: CDR31\n");
    let options = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "html-only", "--kafka-servers", &BROKER.plain];
    Process::start(place.crawl(&[site.origin(0) + "/"], &options)).wait().ok();
    let ran = run(&["audit", place.data().to_str().unwrap(), "--destinations"]).ok();
    assert!(!ran.stdout.contains("at kafka by page"), "{}", ran.stdout);
    assert!(ran.stdout.contains("at kafka, gone"), "{}", ran.stdout);
}
