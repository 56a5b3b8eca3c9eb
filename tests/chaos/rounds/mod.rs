//! Months of a crawl with rechecks. In each round the web changes, the crawl is killed, and its destinations fail. After each
//! round an index, a compacted topic and `page` have the pages of the web. A live page is never removed, not even for a
//! moment.

mod web;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;
use std::time::{Duration, Instant};

use fastrand::Rng;
use seine_formats::files;
use seine_frontier::{CLOCK_NOTE, EmbeddedFrontier, Frontier, FrontierOptions, PageRecord};
use seine_parse::page::EpochMs;
use seine_system::clock;

use crate::broker::{Broker, Seen};
use crate::stores::{Elastic, Kafka, TOPIC, Trouble};
use crate::support::Running;
use crate::support::program::{Place, Process};
use web::{Size, Web};

const DAY: EpochMs = 24 * 3600 * 1000;
/// Between two runs of the crawl, by its clock: every page is due again, every robots.txt has expired, and what was missing
/// has been for long enough.
const PAUSE: EpochMs = 3 * DAY;
const SETTINGS: &str = "target_storage.data_formats: [KAFKA, ELASTICSEARCH]\n\
    link_storage.recrawl: {interval: 12h, min_interval: 1h, max_interval: 2d, confirm_gone: 1d}\n\
    link_storage.scheduler.backoff_max: 1s\n\
    crawler_manager.downloader.max_retry_count: 1\n\
    page_log.segment_size: 1MiB\n";
/// Exit statuses of a run that has done what it could.
const DONE: [Option<i32>; 2] = [Some(0), Some(4)];
/// No run takes as long …
const LONGEST: Duration = Duration::from_secs(300);
/// … nor stands still for so long.
const STILL: Duration = Duration::from_secs(60);
const NETWORK: [Trouble; 4] = [Trouble::Refused, Trouble::Reset, Trouble::Cut, Trouble::Unheard];

#[test]
fn three_rounds() {
    Rounds::start(Size { pages: 400, hosts: 8 }).run(Plan { rounds: 3, kills: 9, outages: 2 });
}

#[test]
#[ignore = "takes half an hour: make chaos"]
fn five_long_rounds() {
    Rounds::start(Size { pages: 20_000, hosts: 20 }).run(Plan { rounds: 5, kills: 50, outages: 10 });
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Besides the first, in which all is well.
    rounds: usize,
    kills: usize,
    /// Of each server.
    outages: usize,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Kill,
    Kafka(Trouble),
    Elastic(Trouble),
}

struct Rounds {
    web: Web,
    site: Running,
    kafka: Kafka,
    elastic: Elastic,
    place: Place,
    rng: Rng,
    /// When each round began, by the crawl's clock.
    began: Vec<EpochMs>,
    lives: usize,
    done: Vec<Step>,
}

impl Rounds {
    fn start(size: Size) -> Rounds {
        let seed = std::env::var("SEINE_CHAOS_SEED")
            .map_or_else(|_| fastrand::u64(..1_000_000), |seed| seed.parse().expect("a number as seed"));
        println!("{size:?}; again with SEINE_CHAOS_SEED={seed}");
        let (web, site) = Web::start(size, seed);
        let starting = std::thread::spawn(Elastic::start);
        let kafka = Kafka::start();
        let elastic = starting.join().expect("Elasticsearch starts");
        let place = Place::with(&(SETTINGS.to_owned() + &kafka.settings() + &elastic.settings()));
        let (began, done) = (vec![0], Vec::new());
        Rounds { web, site, kafka, elastic, place, rng: Rng::with_seed(seed), began, lives: 0, done }
    }

    fn run(mut self, plan: Plan) {
        println!("{plan:?}");
        let mut steps = self.steps(plan);
        self.live(VecDeque::new());
        self.check(0);
        let mut left = VecDeque::new();
        for round in 1..=plan.rounds {
            let begins = self.wait_out_the_pause();
            self.began.push(begins);
            self.web.begin(round);
            let (share, began) = (steps.len().div_ceil(plan.rounds + 1 - round), Instant::now());
            left.extend(steps.drain(..share));
            // A missing page is gone when a second recheck agrees.
            for look in 0..2 {
                if look > 0 {
                    self.wait_out_the_pause();
                }
                let now = left.len().div_ceil(2 - look);
                let unfinished = self.live(left.drain(..now).collect());
                unfinished.into_iter().rev().for_each(|step| left.push_front(step));
            }
            self.check(round);
            println!("round {round}: {:?}, {} lives so far, {} steps left", began.elapsed(), self.lives, left.len());
        }
        while !left.is_empty() {
            self.wait_out_the_pause();
            left = self.live(left);
        }
        self.check(plan.rounds);
        self.check_removals();
        println!("{} lives, {} steps: {:?}", self.lives, self.done.len(), self.done);
    }

    fn steps(&mut self, plan: Plan) -> VecDeque<Step> {
        let trouble = |number: usize| match number % 5 {
            4 => Trouble::Killed,
            of_the_network => NETWORK[of_the_network],
        };
        let kills = std::iter::repeat_n(Step::Kill, plan.kills);
        let kafka = (0..plan.outages).map(|number| Step::Kafka(trouble(number)));
        let elastic = (0..plan.outages).map(|number| Step::Elastic(trouble(number + 2)));
        let mut steps: Vec<Step> = kills.chain(kafka).chain(elastic).collect();
        self.rng.shuffle(&mut steps);
        steps.into()
    }

    /// One run of the crawl over all that is due, in as many lives as it takes. Returns the steps that it was too short for.
    fn live(&mut self, mut steps: VecDeque<Step>) -> VecDeque<Step> {
        let spacing = self.web.size.pages / (steps.len() + 1);
        let mut process = self.begin_life();
        while let Some(step) = steps.front().copied() {
            if !self.goes_on(&mut process, spacing / 2..=spacing) {
                break;
            }
            steps.pop_front();
            self.done.push(step);
            match step {
                Step::Kill => {
                    process.kill();
                    process = self.begin_life();
                }
                Step::Kafka(trouble) => {
                    self.kafka.begin(trouble);
                    self.goes_on(&mut process, spacing / 3..=spacing / 2);
                    self.kafka.end(trouble);
                }
                Step::Elastic(trouble) => {
                    self.elastic.begin(trouble);
                    self.goes_on(&mut process, spacing / 3..=spacing / 2);
                    self.elastic.end(trouble);
                }
            }
        }
        self.see_out(process);
        steps
    }

    fn begin_life(&mut self) -> Process {
        self.lives += 1;
        Process::start(self.place.crawl(&self.web.seeds(), &["--quiet", "--delay", "0", "--patience", "4s"]))
    }

    /// Waits until the web was asked for so many pages more; false when the run has ended before.
    fn goes_on(&mut self, process: &mut Process, visits: std::ops::RangeInclusive<usize>) -> bool {
        let wanted = self.site.visits.len() + self.rng.usize(visits);
        let deadline = Instant::now() + STILL;
        while self.site.visits.len() < wanted {
            if process.has_ended() || Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Until a run ends with everything delivered. One that waited in vain for a server is started again.
    fn see_out(&mut self, mut process: Process) {
        for _ in 0..10 {
            let ran = process.wait_for(LONGEST);
            assert!(!ran.stderr.contains("panicked at"), "{}", ran.stderr);
            if DONE.contains(&ran.status.code()) {
                return;
            }
            assert_eq!(ran.status.code(), Some(5), "{}", ran.stderr);
            process = self.begin_life();
        }
        panic!("it does not get done: {}", self.place.stats());
    }

    /// Days pass. Returns the crawl's time after them.
    fn wait_out_the_pause(&self) -> EpochMs {
        let frontier = self.frontier();
        let clock: EpochMs = frontier.note(CLOCK_NOTE).unwrap().expect("it has run").parse().unwrap();
        frontier.set_note(CLOCK_NOTE, &(clock + PAUSE).to_string()).unwrap();
        frontier.flush().unwrap();
        clock + PAUSE
    }

    fn frontier(&self) -> EmbeddedFrontier {
        EmbeddedFrontier::open(&self.place.data().join("frontier"), FrontierOptions::default(), 0).unwrap()
    }

    fn check(&self, round: usize) {
        let live = self.web.live(round);
        let index = self.elastic.held().into_iter().map(|it| (it.url, it.content)).collect();
        same("the index", round, &index, &live);
        same("the compacted topic", round, &compacted(&self.kafka.messages()), &live);
        let is_live = |page: &PageRecord| page.state.is_live();
        let pages = self.frontier().records_after(None, usize::MAX, &is_live).unwrap();
        let (pages, live): (BTreeSet<_>, BTreeSet<_>) =
            (pages.into_iter().map(|page| page.url).collect(), live.into_keys().collect());
        let (more, fewer) = (pages.difference(&live).next(), live.difference(&pages).next());
        assert!(more.is_none() && fewer.is_none(), "round {round}: `page` has {more:?} too many, and lacks {fewer:?}");
    }

    /// The topic has every removal there ever was, and the index was told of the same.
    fn check_removals(&self) {
        let messages = self.kafka.messages();
        let removals: Vec<&Seen> = messages.iter().filter(|message| message.is_tombstone).collect();
        for removal in &removals {
            let time = clock::time_of(removal.id()).expect("a UUIDv7");
            let round = self.began.iter().rposition(|began| *began <= time).expect("after the beginning");
            let url = percent_encoding::percent_decode_str(&removal.key).decode_utf8().unwrap();
            let reason = &removal.headers["reason"];
            assert!(self.web.may_leave(&url, round), "{url} was taken away in round {round}: {reason}");
        }
        println!("{} messages, {} removals", messages.len(), removals.len());
        same("as Kafka's own reader sees it", self.began.len() - 1, &self.read_by_kafka(), &compacted(&messages));
    }

    /// The topic by Kafka's console consumer: the last value of each key.
    fn read_by_kafka(&self) -> BTreeMap<String, String> {
        let (broker, mut reader) = (self.kafka.broker(), Command::new(Broker::script().get_program()));
        reader.args(["run", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", TOPIC, "--from-beginning"]);
        reader.args(["--bootstrap-server", &broker.plain, "--max-messages", &broker.count(TOPIC).to_string()]);
        reader.args(["--formatter-property", "print.key=true", "--formatter-property", "null.literal=gone"]);
        let output = reader.output().expect("Kafka's own reader runs");
        let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
        let mut live = BTreeMap::new();
        for line in text.lines() {
            match line.split_once('\t').expect("key and value") {
                (key, "gone") => drop(live.remove(key)),
                (key, value) => drop(live.insert(key.to_owned(), value.to_owned())),
            }
        }
        live.into_values().map(|value| page_of(value.as_bytes())).collect()
    }
}

/// The last page of each key, without those of which the last is a tombstone.
fn compacted(messages: &[Seen]) -> BTreeMap<String, String> {
    let mut messages: Vec<&Seen> = messages.iter().collect();
    messages.sort_by_key(|message| (message.partition, message.offset));
    let last: BTreeMap<&str, &Seen> = messages.into_iter().map(|message| (&*message.key, message)).collect();
    last.values().filter(|message| !message.is_tombstone).map(|message| page_of(&message.value)).collect()
}

fn page_of(value: &[u8]) -> (String, String) {
    let page = files::parse_line(value).expect("a FILES object");
    (page.url.into_owned(), String::from_utf8(page.content.to_vec()).expect("the web's pages are text"))
}

#[track_caller]
fn same(what: &str, round: usize, held: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) {
    let missing: Vec<_> = wanted.keys().filter(|url| !held.contains_key(*url)).collect();
    let too_many: Vec<_> = held.keys().filter(|url| !wanted.contains_key(*url)).collect();
    let other: Vec<_> = wanted.keys().filter(|url| held.get(*url).is_some_and(|it| *it != wanted[*url])).collect();
    let first = |urls: &[&String]| format!("{} {:?}", urls.len(), &urls[..urls.len().min(3)]);
    let is_same = missing.is_empty() && too_many.is_empty() && other.is_empty();
    let [missing, too_many, other] = [first(&missing), first(&too_many), first(&other)];
    assert!(is_same, "{what}, round {round}: missing {missing}, too many {too_many}, not as they are {other}");
}
