//! Pages with the same content: each message tells it. A topic that skips duplicates ends up with one page of each
//! content, whatever leaves, is switched or killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::server::{Answer, Ask};

use crate::broker::BROKER;
use crate::crawl::path_of;
use crate::gone::compacted;
use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, links};

fn article(word: &str, footer: &str) -> Answer {
    let words: Vec<String> = (0..300).map(|n| format!("{word}{n}")).collect();
    let paragraphs: String = words.chunks(50).map(|words| format!("<p>{}</p>", words.join(" "))).collect();
    Answer::html(format!("<title>Article</title><body>{paragraphs}<ul><li><a href=/>Home</a></ul><div>{footer}</div>"))
}

fn answer(ask: &Ask, phase: u32) -> Answer {
    match (ask.path(), phase) {
        ("/", _) => Answer::html(links(&["/first", "/copy", "/near", "/other"])),
        ("/first", 1) => Answer::text("").status(404),
        ("/first" | "/copy", _) => article("word", "today"),
        ("/near", _) => article("word", "tomorrow"),
        ("/other", _) => article("another", "today"),
        _ => Answer::text("").status(404),
    }
}

struct Crawled {
    site: Running,
    phase: Arc<AtomicU32>,
    place: Place,
    /// A topic that skips duplicates, and one that does not.
    spare: &'static str,
    full: &'static str,
}

const ALL: [&str; 5] = ["/", "/copy", "/first", "/near", "/other"];

impl Crawled {
    fn new(spare: &'static str, full: &'static str, skips: bool) -> Crawled {
        BROKER.make_topic(spare, &[]);
        BROKER.make_topic(full, &[]);
        let phase = Arc::new(AtomicU32::new(0));
        let now = phase.clone();
        let site = Running::start(1, Arc::new(move |ask: &Ask| answer(ask, now.load(Ordering::SeqCst))));
        let place = Place::with(&format!(
            "link_storage.recrawl: {{interval: 500ms, min_interval: 200ms, confirm_gone: 0}}\n\
             link_storage.download_sitemap_xml: false\n\
             duplicates.enabled: true\n\
             target_storage.data_format.kafka.properties: {{bootstrap.servers: '{}', linger.ms: 5}}\n",
            BROKER.plain
        ));
        let crawled = Crawled { site, phase, place, spare, full };
        crawled.skip(skips);
        crawled.run();
        crawled
    }

    fn skip(&self, skips: bool) {
        let Crawled { spare, full, .. } = self;
        let spare = format!("{{topic_name: {spare}, unchanged: skip, removed: tombstone, skip_duplicates: {skips}}}");
        let sinks = format!(
            "[{{name: spare, destination: kafka, options: {spare}}}, \
             {{name: full, destination: kafka, options: {{topic_name: {full}}}}}]"
        );
        self.place.set("target_storage.sinks", &sinks);
    }

    fn command(&self, more: &[&str]) -> Process {
        let options = [&["--delay", "0"], more].concat();
        Process::start(self.place.crawl(&[self.site.origin(0) + "/"], &options))
    }

    fn run(&self) {
        self.command(&[]).wait().ok();
    }

    fn live(&self, topic: &str) -> Vec<String> {
        let seen = compacted(BROKER.read(topic));
        seen.values().map(|message| path_of(message, &self.site.origin(0))).collect()
    }

    fn audit(&self, more: &[&str]) {
        run(&[&["audit", self.place.data().to_str().unwrap()], more].concat()).ok();
    }
}

#[test]
fn each_message_says_whose_duplicate_it_is_and_who_skips_them_gets_rid_of_them() {
    let crawled = Crawled::new("told-spare", "told-full", false);
    assert_eq!(crawled.live("told-spare"), ALL);
    assert_eq!(crawled.live("told-full"), ALL);
    let said: BTreeMap<String, (String, String)> = compacted(BROKER.read("told-full"))
        .values()
        .filter_map(|message| {
            let header = |name: &str| message.headers.get(name).cloned();
            Some((path_of(message, &crawled.site.origin(0)), (header("duplicate_of")?, header("duplicate_kind")?)))
        })
        .collect();
    let of = |kind: &str| (crawled.site.origin(0) + "/first", kind.to_owned());
    assert_eq!(said, BTreeMap::from([("/copy".to_owned(), of("exact")), ("/near".to_owned(), of("near"))]));

    // From now on the topic skips duplicates, so those in it leave.
    crawled.skip(true);
    eventually("duplicates have left", || {
        crawled.run();
        crawled.live("told-spare") == ["/", "/first", "/other"]
    });
    let tombstones: Vec<_> = BROKER.read("told-spare").into_iter().filter(|message| message.is_tombstone).collect();
    assert!(tombstones.len() >= 2);
    for message in tombstones {
        assert_eq!((&*message.headers["change"], &*message.headers["reason"]), ("gone", "duplicate"));
    }
    assert_eq!(crawled.live("told-full"), ALL);
    crawled.audit(&["--destinations"]);
}

#[test]
fn a_topic_that_skips_duplicates_holds_one_of_each_content() {
    let crawled = Crawled::new("one-of-each", "all-of-them", true);
    assert_eq!(crawled.live("one-of-each"), ["/", "/first", "/other"]);

    // The first page leaves, in a process that is killed as soon as it knows.
    crawled.phase.store(1, Ordering::SeqCst);
    let process = crawled.command(&["--stay"]);
    eventually("the first has left", || !crawled.live("one-of-each").contains(&"/first".to_owned()));
    process.kill();
    eventually("one of the others is there", || {
        crawled.run();
        crawled.live("one-of-each").len() == 3
    });
    let there = crawled.live("one-of-each");
    assert!(there[1] == "/copy" || there[1] == "/near", "{there:?}");
    assert_eq!(crawled.live("all-of-them"), ["/", "/copy", "/near", "/other"]);
    crawled.audit(&["--destinations"]);

    // The first page is back, and others now have its content first.
    crawled.phase.store(2, Ordering::SeqCst);
    eventually("it is back where all are", || {
        crawled.run();
        crawled.live("all-of-them") == ALL
    });
    assert_eq!(crawled.live("one-of-each"), there);

    // Duplicates are no longer looked for, so none is skipped.
    crawled.skip(false);
    crawled.place.set("duplicates.enabled", "false");
    eventually("all are there", || {
        crawled.run();
        crawled.live("one-of-each") == ALL
    });
    assert_eq!(crawled.place.stats()["frontier"]["duplicates"], 0);
    crawled.audit(&[]);
}
