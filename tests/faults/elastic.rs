//! The ELASTICSEARCH sink, against a real node behind the proxy. After every failure each URL has one document, with the
//! content of the latest fetch. No event is there twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::support::server::Answer;
use reqwest::Method;
use serde_json::{Value, json};

use crate::node::Node;
use crate::oracle::{Crawl, Held};
use crate::proxy::{Mood, Proxy, free_ports};
use crate::support::program::{Place, Process, command, eventually};
use crate::support::{Plan, Running, links};

/// A document is about twice as long: the page, and its text.
const PAGE_BYTES: usize = 20_000;
/// A page whose document is longer than the node takes.
const TOO_LONG: usize = 600_000;
const SETTINGS: [&str; 3] = [
    "http.max_content_length: 1mb",
    "indexing_pressure.memory.limit: 600kb",
    // After each look at its disk the node would lift the block that a test has put on an index.
    "cluster.info.update.interval: 1h",
];
/// A few documents: two such bulks at once are below what the node indexes at once.
const SMALL_BULK: &str = "128KiB";
/// Bytes of a few bulks: delivery has begun, and is far from its end.
const BEGUN: u64 = 512 << 10;
/// A crawl takes a quarter of a minute at the first pace, so that much is left when the node fails, however slow the machine
/// is; and no longer than it must at the second.
const SLOWLY: Duration = Duration::from_millis(250);
const QUICKLY: Duration = Duration::from_millis(5);
/// Nothing can be there twice, so nothing may.
const NO_REPEATS: u64 = 0;

fn plan() -> Plan {
    Plan { pages: 240, text: PAGE_BYTES, ..Plan::default() }
}

/// The crawl reaches the node through the proxy, the test asks it directly. The tests take turns.
struct Alone {
    proxy: Proxy,
    node: Node,
    /// False while the node is stopped or killed.
    is_up: bool,
}

impl Alone {
    fn take() -> MutexGuard<'static, Alone> {
        static ALONE: LazyLock<Mutex<Alone>> = LazyLock::new(|| Mutex::new(Alone::start()));
        let mut alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // As it was before a test that failed.
        alone.proxy.set(Mood::Pass);
        alone.start_again();
        alone
    }

    fn start() -> Alone {
        let node = Node::start_with("elasticsearch", "8.19.21", &SETTINGS);
        let server = node.url.trim_start_matches("http://").parse().expect("the node's address");
        let [port] = free_ports();
        Alone { proxy: Proxy::start(([127, 0, 0, 1], port).into(), server), node, is_up: true }
    }

    fn start_again(&mut self) {
        if !self.is_up {
            self.node.start_again();
            self.is_up = true;
        }
    }

    /// A crawl that is delivering to an index of its own.
    fn crawl(&self, index: &str, plan: Plan, bulk_size: &str) -> Crawl {
        let settings = self.settings(index, bulk_size);
        let mut crawl = Crawl::new("elasticsearch", plan, SLOWLY, &settings, NO_REPEATS);
        let sent = self.proxy.sent();
        crawl.start();
        eventually("delivery begins", || self.proxy.sent() > sent + BEGUN);
        crawl
    }

    fn settings(&self, index: &str, bulk_size: &str) -> String {
        let elastic = "target_storage.data_format.elasticsearch";
        format!(
            "target_storage.data_formats: [ELASTICSEARCH]\n\
             {elastic}.rest.hosts: ['http://{}']\n\
             {elastic}.rest.connect_timeout: 2s\n\
             {elastic}.rest.socket_timeout: 3s\n\
             {elastic}.index_name: {index}\n\
             {elastic}.bulk_size: {bulk_size}\n\
             {elastic}.flush_interval: 500ms\n",
            self.proxy.address
        )
    }

    /// Documents in the index; 0 as long as it is not there.
    fn count(&self, index: &str) -> u64 {
        let (status, _) = self.node.ask(Method::POST, &format!("/{index}/_refresh"), None);
        let (_, answer) = self.node.ask(Method::GET, &format!("/{index}/_count"), None);
        answer["count"].as_u64().filter(|_| status == 200).unwrap_or(0)
    }

    /// Every document: its event's id, URL and page. Its `_id` is its URL.
    fn held(&self, index: &str) -> Vec<Held> {
        self.documents(index).values().map(held).collect()
    }

    /// Every document by its `_id`.
    fn documents(&self, index: &str) -> BTreeMap<String, Value> {
        let count = self.count(index);
        let found = self.node.get(&format!("/{index}/_search?size=5000&_source=url,html,eventId,change"));
        let hits = found["hits"]["hits"].as_array().expect("hits").iter();
        let documents: BTreeMap<_, _> = hits.map(|hit| (text(&hit["_id"]), hit["_source"].clone())).collect();
        assert_eq!(documents.len() as u64, count);
        assert!(documents.iter().all(|(id, document)| *id == document["url"]));
        documents
    }

    fn end_and_check(&self, mut crawl: Crawl, index: &str) {
        crawl.end();
        crawl.check(&self.held(index));
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

fn held(document: &Value) -> Held {
    let content = text(&document["html"]).into_bytes();
    Held { id: Some(text(&document["eventId"])), url: text(&document["url"]), content }
}

/// Killed and started again in the middle of a fault.
fn kill_and_start(crawl: &mut Crawl) {
    crawl.goes_on(40);
    crawl.kill();
    start_quickly(crawl);
}

fn start_quickly(crawl: &mut Crawl) {
    crawl.site.set_pace(QUICKLY);
    crawl.start();
    crawl.goes_on(20);
}

#[test]
fn a_node_stopped() {
    let mut alone = Alone::take();
    let mut crawl = alone.crawl("stopped", plan(), SMALL_BULK);
    alone.is_up = false;
    assert!(alone.node.script(&["stop"]).status().expect("the script runs").success());
    kill_and_start(&mut crawl);
    alone.start_again();
    alone.end_and_check(crawl, "stopped");
}

#[test]
fn a_node_killed() {
    let mut alone = Alone::take();
    let mut crawl = alone.crawl("killed", plan(), SMALL_BULK);
    alone.is_up = false;
    alone.node.signal("KILL");
    kill_and_start(&mut crawl);
    alone.start_again();
    alone.end_and_check(crawl, "killed");
}

/// As a node does that runs out of disk.
#[test]
fn an_index_that_takes_nothing_for_a_while() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("blocked", plan(), SMALL_BULK);
    let block = |set: Value| {
        let block = json!({ "index.blocks.read_only_allow_delete": set });
        alone.node.put("/blocked/_settings", &block);
    };
    block(json!(true));
    kill_and_start(&mut crawl);
    let (count, sent) = (alone.count("blocked"), alone.proxy.sent());
    // Three bulks, in vain.
    eventually("it tries on", || alone.proxy.sent() > sent + 3 * (128 << 10));
    assert_eq!(alone.count("blocked"), count);
    block(Value::Null);
    alone.end_and_check(crawl, "blocked");
}

/// 429 for the request as a whole: it is more than the node indexes at once.
#[test]
fn bulks_that_are_too_much_for_the_node() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("pressed", plan(), "900KiB");
    kill_and_start(&mut crawl);
    alone.end_and_check(crawl, "pressed");
    let stats = alone.node.get("/_nodes/stats/indexing_pressure");
    let nodes = stats["nodes"].as_object().expect("nodes").values();
    let rejected = nodes.map(|node| &node["indexing_pressure"]["memory"]["total"]["coordinating_rejections"]);
    assert!(rejected.filter_map(Value::as_u64).sum::<u64>() > 0, "{stats}");
}

/// 413: bulks are, and some pages alone.
#[test]
fn requests_that_are_too_long_for_the_node() {
    let alone = Alone::take();
    let long = Plan { long_every: 30, long_text: TOO_LONG, ..plan() };
    let mut crawl = alone.crawl("too-long", long, "5MiB");
    kill_and_start(&mut crawl);
    crawl.end();
    let held = alone.held("too-long");
    crawl.check(&held);
    let too_long = |content: &[u8]| content.len() > TOO_LONG;
    dead_are_exactly(&crawl, &held, too_long, "413");
}

/// Longer pages have a header that does not fit the index's mapping.
#[test]
fn pages_that_do_not_fit_the_mapping() {
    let alone = Alone::take();
    let headers = json!({ "properties": { "content-length": { "type": "short" } } });
    alone.node.put("/unfit", &json!({ "mappings": { "properties": { "responseHeaders": headers } } }));
    let long = Plan { long_every: 10, long_text: 50_000, ..plan() };
    let mut crawl = alone.crawl("unfit", long, SMALL_BULK);
    kill_and_start(&mut crawl);
    crawl.end();
    let held = alone.held("unfit");
    crawl.check(&held);
    dead_are_exactly(&crawl, &held, |content| content.len() > 50_000, "out of range");
}

/// Every such page is a dead letter for this reason, and no other page is; what is dead is not in the index.
fn dead_are_exactly(crawl: &Crawl, held: &[Held], is_dead: impl Fn(&[u8]) -> bool, reason: &str) {
    let contents = crawl.site.contents();
    let expected: BTreeSet<_> = contents.iter().filter(|(_, it)| is_dead(it.as_bytes())).map(|(url, _)| url).collect();
    let mut list = command(&["dead-letters", "list", "--json", "--sink", "elasticsearch", "-o"]);
    list.arg(crawl.place.data());
    let letters = Process::start(list).wait().ok().json_lines();
    let dead: BTreeSet<String> = letters.iter().map(|letter| text(&letter["url"])).collect();
    assert!(!expected.is_empty() && dead.iter().collect::<BTreeSet<_>>() == expected, "{dead:?}");
    assert!(held.iter().all(|event| !dead.contains(&event.url)));
    assert!(letters.iter().all(|letter| text(&letter["reason"]).contains(reason)), "{letters:?}");
}

fn through_the_proxy(index: &str, mood: Mood) {
    let alone = Alone::take();
    let mut crawl = alone.crawl(index, plan(), SMALL_BULK);
    let (sent, cuts) = (alone.proxy.sent(), alone.proxy.cuts());
    alone.proxy.set(mood);
    kill_and_start(&mut crawl);
    if let Mood::CutAfter(_) = mood {
        eventually("requests are cut in the middle", || alone.proxy.cuts() > cuts + 3);
    } else {
        // At most what each of its halves had read already.
        assert!(alone.proxy.sent() - sent < 400_000, "the proxy passed {} bytes on", alone.proxy.sent() - sent);
    }
    alone.proxy.set(Mood::Pass);
    alone.end_and_check(crawl, index);
}

#[test]
fn connections_refused() {
    through_the_proxy("refused", Mood::Refuse);
}

#[test]
fn connections_that_stall() {
    through_the_proxy("stalled", Mood::Stall);
}

#[test]
fn connections_reset() {
    through_the_proxy("reset", Mood::Reset);
}

/// A document is longer than what is let through.
#[test]
fn requests_cut_halfway() {
    through_the_proxy("cut", Mood::CutAfter(PAGE_BYTES as u64 / 2));
}

/// The node has the documents, and nobody hears of it.
#[test]
fn answers_that_are_lost() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("unheard", plan(), SMALL_BULK);
    alone.proxy.set(Mood::LoseAnswers);
    let cuts = alone.proxy.cuts();
    eventually("answers are lost", || alone.proxy.cuts() > cuts + 2);
    crawl.goes_on(40);
    crawl.kill();
    let heard_of = crawl.place.stats()["sinks"][0]["delivered"].as_u64().expect("a number");
    assert!(alone.count("unheard") > heard_of, "all {heard_of} were heard of");
    start_quickly(&mut crawl);
    alone.proxy.set(Mood::Pass);
    alone.end_and_check(crawl, "unheard");
}

/// Without `--stay`, a sink that does not move is waited for only so long; the same command delivers the rest.
#[test]
fn an_outage_that_outlasts_the_runs_patience() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("outlasted", plan(), SMALL_BULK);
    crawl.kill();
    alone.proxy.set(Mood::Stall);
    crawl.start_with(&["--patience", "2s"]);
    let said = crawl.end_undelivered();
    let visits = crawl.site.running.visits.len();
    assert!(said.contains("sink=\"elasticsearch\"") && said.contains("no progress for"), "{said}");
    alone.proxy.set(Mood::Pass);
    crawl.start();
    crawl.end();
    crawl.check(&alone.held("outlasted"));
    assert_eq!(crawl.site.running.visits.len(), visits, "fetched again");
}

/// A site whose pages are new each time they are asked for, but for the first.
struct Changing {
    running: Running,
    /// How often each path was asked for.
    asked: Arc<Mutex<BTreeMap<String, u32>>>,
}

const CHANGING: usize = 25;

impl Changing {
    fn start() -> Changing {
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let counted = asked.clone();
        let pages: Vec<String> = (0..CHANGING).map(|number| format!("/p/{number}")).collect();
        let first = links(&pages.iter().map(String::as_str).collect::<Vec<_>>());
        let running = Running::start(
            1,
            Arc::new(move |ask| {
                let path = ask.path().to_owned();
                if path != "/" && !pages.contains(&path) {
                    return Answer::text("").status(404);
                }
                let mut asked = counted.lock().expect("no handler panics");
                let times: &mut u32 = asked.entry(path.clone()).or_default();
                *times += 1;
                Answer::html(if path == "/" { first.clone() } else { format!("<p>version {times}") })
            }),
        );
        Changing { running, asked }
    }

    /// The fewest times that a page was asked for.
    fn rounds(&self) -> u32 {
        let asked = self.asked.lock().expect("no handler panics");
        if asked.len() <= CHANGING { 0 } else { asked.values().copied().min().unwrap_or(0) }
    }

    /// Every page is there once, as it was when it was asked for last.
    fn check(&self, documents: &BTreeMap<String, Value>) {
        let asked = self.asked.lock().expect("no handler panics");
        assert_eq!(documents.len(), asked.len());
        for (path, times) in asked.iter() {
            let document = &documents[&(self.running.origin(0) + path)];
            let (content, change) = match path.as_str() {
                "/" => ("/p/1".to_owned(), "unchanged"),
                _ => (format!("version {times}"), "changed"),
            };
            let html = text(&document["html"]);
            assert!(html.contains(&content), "{path} was asked for {times} times: {html}");
            assert_eq!(document["change"], change, "{path}");
        }
    }
}

#[test]
fn the_newest_content_stays_whatever_comes_again() {
    let alone = Alone::take();
    let site = Changing::start();
    let place = Place::with(&format!("{}link_storage.recrawl.interval: 2s\n", alone.settings("newest", SMALL_BULK)));
    let run = |more: &[&str]| {
        Process::start(place.crawl(&[site.running.origin(0) + "/"], &[&["--delay", "5", "--quiet"], more].concat()))
    };
    let rounds = |more: u32| {
        let wanted = site.rounds() + more;
        eventually("every page is looked at again", || site.rounds() >= wanted);
    };
    // Accepted, and nothing of it delivered: that place in the log is kept for later.
    alone.proxy.set(Mood::Refuse);
    let first = run(&["--stay"]);
    rounds(1);
    assert!(first.kill());
    let cursor = place.data().join("log/cursors/elasticsearch.cursor");
    let at_first = std::fs::read(&cursor).expect("the sink's cursor");

    alone.proxy.set(Mood::Pass);
    let second = run(&["--stay"]);
    eventually("all is delivered", || alone.count("newest") > CHANGING as u64);
    rounds(1);
    alone.proxy.set(Mood::LoseAnswers);
    rounds(1);
    assert!(second.kill());
    alone.proxy.set(Mood::Pass);
    run(&[]).wait().ok();
    site.check(&alone.documents("newest"));

    // As after a power failure that took the sink's last cursors: everything comes again, the oldest first.
    std::fs::write(&cursor, at_first).expect("the cursor is written");
    run(&[]).wait().ok();
    site.check(&alone.documents("newest"));
    let books = &place.stats()["sinks"][0];
    let book = |name: &str| books[name].as_u64().expect("a number");
    assert!(book("delivered") > 3 * CHANGING as u64 && book("pending") == 0 && book("dead_lettered") == 0, "{books}");
    assert_eq!(book("delivered") + book("skipped"), book("accepted"), "{books}");
}
