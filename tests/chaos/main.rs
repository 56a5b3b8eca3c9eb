//! The campaign: one crawl, killed again and again. Its websites fail and recover ("weather"), its destinations are real
//! servers that fail, its disk runs full, and its clock is set back. At the end every destination has exactly the pages
//! that it should have.
//!
//! * `schedule`: what happens when, a pure function of the seed (`SEINE_CHAOS_SEED`, printed by every run).
//! * `web`, `weather`, `server`, `dns`: the web, its failures, and its own log of requests.
//! * `stores`, `ground`, `tail`, `clock`: the destinations, the disk, the page log's tail, the time.
//! * `crawl`, `oracle`: the lives of the crawl, and the checks after them.
//! * `rounds`: another campaign, whose web changes while the crawl rechecks it.
//!
//! `make chaos` runs the long form; docs/reliability.md describes both.

mod clock;
mod crawl;
mod dns;
mod ground;
mod oracle;
mod rounds;
mod schedule;
mod server;
mod stores;
mod tail;
mod weather;
mod web;

#[path = "../kafka/broker.rs"]
mod broker;
#[allow(dead_code)]
#[path = "../elastic/node.rs"]
mod node;
#[allow(dead_code)]
#[path = "../faults/proxy.rs"]
mod proxy;
#[path = "../support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use fastrand::Rng;

use clock::Clock;
use crawl::Crawl;
use dns::Names;
use ground::Ground;
use oracle::{DELAY, Oracle};
use schedule::{Outage, Part, Size, Step, schedule};
use server::Servers;
use stores::{Elastic, Kafka};
use support::program::eventually;
use weather::{Sky, Storm};
use web::{MAX_DECODED, Target, Web};

/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(90);
/// The most memory that any life may use.
const MOST_MEMORY_MIB: u64 = 512;

#[test]
fn a_short_campaign() {
    let size = Size { hosts: 40, pages: 1500, kills: 40, outage_every: 2 };
    Campaign::start(size, "256m").run(Duration::from_secs(120));
}

/// The number of kills, `SEINE_CHAOS_KILLS`; 520 by default.
#[test]
#[ignore = "takes half an hour: make chaos"]
fn a_long_campaign() {
    let kills = std::env::var("SEINE_CHAOS_KILLS").map_or(520, |kills| kills.parse().expect("a number of kills"));
    let size = Size { hosts: 200, pages: 20_000, kills, outage_every: 4 };
    Campaign::start(size, "1g").run(Duration::from_secs(1200));
}

struct Campaign {
    seed: u64,
    size: Size,
    web: Web,
    servers: Servers,
    names: Names,
    kafka: Kafka,
    elastic: Elastic,
    crawl: Crawl,
    /// Outages under way, with the step that they end before.
    going: Vec<(usize, Outage)>,
    outages: usize,
    damages: usize,
    clock: i64,
}

impl Campaign {
    fn start(size: Size, disk: &str) -> Campaign {
        let seed = std::env::var("SEINE_CHAOS_SEED")
            .map_or_else(|_| fastrand::u64(..1_000_000), |seed| seed.parse().expect("a number as seed"));
        println!("{size:?}; again with SEINE_CHAOS_SEED={seed}");
        let [port] = proxy::free_ports();
        let web = Web {
            seed,
            hosts: size.hosts,
            pages: size.pages,
            port,
            has_troubled_pages: Part::Pages.is_chosen(),
            has_troubled_robots: Part::Robots.is_chosen(),
        };
        let (servers, names) = (Servers::start(web), Names::start(web));
        let starting = std::thread::spawn(Elastic::start);
        let kafka = Kafka::start();
        let elastic = starting.join().expect("Elasticsearch starts");
        let ground = Ground::new(disk);
        let clock = Clock::new(ground.beside("clock"));
        let settings = settings(&names) + &kafka.settings() + &elastic.settings();
        let crawl = Crawl::new(ground, clock, &settings, vec![web.url(Target::Page(0))]);
        let (going, outages, damages, clock) = (Vec::new(), 0, 0, 0);
        Campaign { seed, size, web, servers, names, kafka, elastic, crawl, going, outages, damages, clock }
    }

    /// `at_most`: for the end, once the weather is calm.
    fn run(mut self, at_most: Duration) {
        let began = Instant::now();
        let can_be_full = self.crawl.ground.can_be_full();
        let is_had = |outage: Outage| outage.part().is_chosen() && (outage != Outage::FullDisk || can_be_full);
        for step in schedule(self.seed, self.size, is_had) {
            self.live(&step);
        }
        println!("calm after {:?}", began.elapsed());
        self.end_outages(usize::MAX);
        self.set_clock(0);
        self.crawl.start(&[]);
        self.crawl.wait_for_end(at_most);
        println!("ended after {:?}", began.elapsed());
        self.check();
        println!(
            "seed {}: {} kills, {} outages, {} damages of the log, {} pages on {} hosts, at most {} MiB, {:?}",
            self.seed,
            self.crawl.kills.len(),
            self.outages,
            self.damages,
            self.size.pages,
            self.size.hosts,
            self.crawl.memory.peak_mib(),
            began.elapsed()
        );
    }

    /// One life of the crawl.
    fn live(&mut self, step: &Step) {
        self.end_outages(step.number);
        if step.begins_early {
            self.begin(step);
        }
        // Set right between lives: a clock that jumps ahead ends every rest.
        if step.clock > self.clock {
            self.set_clock(step.clock);
        }
        self.crawl.start(&["--stay"]);
        let (since, began) = (self.servers.answered(), Instant::now());
        self.wait(since + step.answers / 2, began + step.at_most / 2);
        if !step.begins_early {
            self.begin(step);
        }
        if step.clock < self.clock {
            self.set_clock(step.clock);
        }
        self.wait(since + step.answers, began + step.at_most);
        if step.number == 0 {
            // For the outages to have something to be about.
            eventually("the first page is delivered", || self.elastic.has_index());
        }
        self.crawl.kill();
        let mut rng = Rng::with_seed(step.seed);
        if let Some(damage) = step.damage {
            self.damages += usize::from(tail::damage(&self.crawl.ground.data_seen(), damage, &mut rng));
        }
        println!(
            "step {}: {} answers, {:?} to its end, damage {:?}, clock {}",
            step.number,
            self.servers.answered() - since,
            began.elapsed(),
            step.damage,
            self.clock
        );
    }

    fn wait(&mut self, answers: usize, until: Instant) {
        while self.servers.answered() < answers && Instant::now() < until && self.crawl.end_of().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn set_clock(&mut self, offset: i64) {
        self.crawl.clock.set(offset);
        self.clock = offset;
    }

    fn begin(&mut self, step: &Step) {
        let Some(begins) = step.begins else { return };
        println!("step {}: {:?} for {} steps", step.number, begins.outage, begins.steps);
        match begins.outage {
            Outage::Resolver(say) => self.names.set(Some(say)),
            Outage::Hosts(mood, percent) => {
                self.servers.set(Sky { storm: Some(Storm { mood, percent, salt: step.seed }) });
            }
            Outage::Kafka(trouble) => self.kafka.begin(trouble),
            Outage::Elastic(trouble) => self.elastic.begin(trouble),
            Outage::FullDisk => self.crawl.ground.fill(),
        }
        self.outages += 1;
        self.going.push((step.number + begins.steps, begins.outage));
    }

    /// Ends those that do not last until this step.
    fn end_outages(&mut self, step: usize) {
        let (ending, going) = std::mem::take(&mut self.going).into_iter().partition(|(until, _)| *until <= step);
        self.going = going;
        let ending: Vec<(usize, Outage)> = ending;
        for (_, outage) in ending {
            match outage {
                Outage::Resolver(_) => self.names.set(None),
                Outage::Hosts(..) => self.servers.set(Sky::default()),
                Outage::Kafka(trouble) => self.kafka.end(trouble),
                Outage::Elastic(trouble) => self.elastic.end(trouble),
                Outage::FullDisk => self.crawl.ground.free(),
            }
        }
    }

    fn check(&self) {
        let mut oracle = Oracle::new(self.web);
        let visits = self.servers.visits();
        oracle.files(&self.crawl);
        oracle.warc(&self.crawl);
        oracle.held("kafka", &self.kafka.held());
        oracle.held("elasticsearch", &self.elastic.held());
        oracle.politeness(&visits, &self.crawl.kills);
        oracle.robots(&visits);
        oracle.books(&self.crawl);
        let peak = self.crawl.memory.peak_mib();
        if peak > MOST_MEMORY_MIB {
            oracle.complaints.push(format!("{peak} MiB of memory"));
        }
        if self.crawl.kills.len() != self.size.kills {
            oracle.complaints.push(format!("{} kills", self.crawl.kills.len()));
        }
        if !oracle.complaints.is_empty() {
            let kept = self.crawl.ground.keep();
            panic!(
                "SEINE_CHAOS_SEED={}: {} complaints; the data folder is kept in {}\n{}",
                self.seed,
                oracle.complaints.len(),
                kept.display(),
                oracle.complaints.join("\n")
            );
        }
    }
}

fn settings(names: &Names) -> String {
    format!(
        "http.enabled: false\n\
         logging.filter: warn\n\
         target_storage.data_formats: [FILES, WARC, KAFKA, ELASTICSEARCH]\n\
         target_storage.data_format.files.max_file_size: 1MiB\n\
         target_storage.data_format.warc.max_file_size: 1MiB\n\
         page_log.segment_size: 1MiB\n\
         page_log.disk_reserve: 16MiB\n\
         link_storage.cache_size: 4MiB\n\
         link_storage.link_strategy.use_scope: false\n\
         link_storage.scheduler.host_min_access_interval: {}ms\n\
         link_storage.scheduler.backoff_base: 200ms\n\
         link_storage.scheduler.backoff_max: 2s\n\
         crawler_manager.downloader.allow_private_addresses: true\n\
         crawler_manager.downloader.redirects: follow\n\
         crawler_manager.downloader.download_thread_pool_size: 50\n\
         crawler_manager.downloader.httpclient.connection_timeout: 2s\n\
         crawler_manager.downloader.httpclient.socket_timeout: 2s\n\
         crawler_manager.downloader.total_timeout: 10s\n\
         crawler_manager.downloader.max_decoded_size: {MAX_DECODED}\n\
         crawler_manager.downloader.dns.servers: ['{}']\n",
        DELAY.as_millis(),
        names.address()
    )
}
