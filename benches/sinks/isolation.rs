//! A whole crawl to Kafka and Elasticsearch, with Elasticsearch behind a proxy that refuses.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use tempfile::TempDir;

use crate::broker::Broker;
use crate::node::Node;
use crate::proxy::{Mood, Proxy, free_ports};
use crate::site::{self, SiteProcess};
use crate::support::program::{free_port, get};
use crate::{LONG, Size, child};

/// An outage is longer than a crawl of the site without delay: what its beginning costs must not stand for all of it.
const TIMES_AROUND: usize = 6;
const LOOK: Duration = Duration::from_millis(20);
/// Between visits of one host, as is the default: a polite crawl of the site's hundred hosts.
const POLITELY: Duration = Duration::from_secs(1);

/// An event that was accepted this long ago may still be in a bulk without an answer.
const UNDER_WAY: Duration = Duration::from_secs(4);

pub struct Rig {
    site: SiteProcess,
    broker: Broker,
    node: Node,
    proxy: Proxy,
}

/// The other destination of the pages, besides Kafka.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elastic {
    Absent,
    Up,
    Down,
}

/// A running crawl; killed when dropped.
struct Crawl {
    child: Child,
    started: Instant,
    metrics: SocketAddr,
    said: PathBuf,
    name: String,
    _folder: TempDir,
}

/// From when Kafka had half of the pages until it had all. By then a sink whose server is down has made what documents
/// it makes ahead, once an outage: in a crawl of seconds that would count for more than in one of minutes.
struct Delivered {
    pages: u64,
    wall: Duration,
    /// Of the crawl.
    cpu: Duration,
    peak_bytes: u64,
}

impl Rig {
    pub fn new(broker: Broker, node: Node) -> Rig {
        let server = node.url.trim_start_matches("http://").parse().expect("the node's address");
        let [port] = free_ports();
        let proxy = Proxy::start(([127, 0, 0, 1], port).into(), server);
        Rig { site: site::spawn_site().expect("the site starts"), broker, node, proxy }
    }

    /// How fast Kafka gets a crawl's pages, as fast as the machine goes.
    pub fn kafka_while_elasticsearch_is_down(&self, size: &Size) {
        let pages = size.pages * TIMES_AROUND;
        println!("Kafka's share of {pages} fetches without delay, the second half; best of {}", size.rounds);
        println!("\nElasticsearch   pages/s to Kafka   crawl's CPU ms a page   peak RSS MB");
        let ways = [("absent", Elastic::Absent), ("down", Elastic::Down), ("up", Elastic::Up)];
        let mut best: [Option<Delivered>; 3] = Default::default();
        for round in 0..size.rounds {
            for ((name, elastic), best) in ways.iter().zip(&mut best) {
                let delivered = self.kafka_has_all(&format!("kafka-{name}-{round}"), *elastic, size.pages, pages);
                if best.as_ref().is_none_or(|before| delivered.rate() > before.rate()) {
                    *best = Some(delivered);
                }
            }
        }
        let best = best.map(|it| it.expect("at least one round"));
        ways.iter().zip(&best).for_each(|((name, _), delivered)| delivered.show(name));
        let [absent, down, up] = best.each_ref().map(Delivered::rate);
        println!("down against absent {:.3} (goal ≥ 0.95), against up {:.3}\n", down / absent, down / up);
    }

    /// The most memory that the crawl takes while Elasticsearch is down, for more and more pages.
    pub fn memory(&self, size: &Size) {
        println!(
            "Memory while Elasticsearch is down, Kafka up\n\npages     pages/s to Kafka   CPU ms a page   peak RSS MB"
        );
        let peaks = [4, 2, 1].map(|part| {
            let pages = size.pages / part;
            let delivered = self.kafka_has_all(&format!("memory-{part}"), Elastic::Down, pages, pages);
            delivered.show(&pages.to_string());
            delivered.peak_bytes
        });
        println!("4 × the pages take {:.2} × the memory (flat: about 1)\n", peaks[2] as f64 / peaks[0] as f64);
    }

    /// `pages`: of the site. `fetches`: until Kafka has so many; each page is due again a second after it was fetched.
    fn kafka_has_all(&self, name: &str, elastic: Elastic, pages: usize, fetches: usize) -> Delivered {
        self.proxy.set(if elastic == Elastic::Down { Mood::Refuse } else { Mood::Pass });
        let mut crawl = self.crawl(name, elastic, pages, Duration::ZERO);
        let mut when_it_has = |pages: u64| {
            crawl.until(|crawl| {
                let delivered = crawl.book("kafka", "delivered");
                (delivered >= pages).then(|| crawl.so_far(delivered))
            })
        };
        let first = when_it_has(fetches as u64 / 2);
        let all = when_it_has(fetches as u64);
        let delivered = Delivered {
            pages: all.pages - first.pages,
            wall: all.wall - first.wall,
            cpu: all.cpu.saturating_sub(first.cpu),
            peak_bytes: all.peak_bytes,
        };
        if elastic == Elastic::Down {
            assert_eq!(crawl.book("elasticsearch", "delivered"), 0);
        }
        self.clear(crawl);
        delivered
    }

    /// How fast Elasticsearch gets what has waited for it, while the crawl goes on.
    pub fn catch_up(&self, size: &Size) {
        self.proxy.set(Mood::Refuse);
        let mut crawl = self.crawl("catch-up", Elastic::Up, site::PAGES, POLITELY);
        crawl.until(|crawl| (crawl.book("elasticsearch", "accepted") > 0).then_some(()));
        let (first, before) = (Instant::now(), crawl.book("elasticsearch", "accepted"));
        crawl.until(|_| (first.elapsed() >= size.outage).then_some(()));
        let live = (crawl.book("elasticsearch", "accepted") - before) as f64 / first.elapsed().as_secs_f64();
        assert_eq!(crawl.book("elasticsearch", "delivered"), 0);
        let waiting = crawl.book("elasticsearch", "pending");

        self.proxy.set(Mood::Pass);
        let passing = Instant::now();
        crawl.until(|crawl| (crawl.book("elasticsearch", "delivered") > 0).then_some(()));
        let (noticed, begun, first) = (passing.elapsed(), Instant::now(), crawl.book("elasticsearch", "delivered"));
        // Events of the last few seconds are always being delivered.
        let under_way = (live * UNDER_WAY.as_secs_f64()) as u64;
        let caught_up = |crawl: &mut Crawl| crawl.book("elasticsearch", "pending") <= under_way.max(waiting / 5);
        let last = crawl.until(|crawl| caught_up(crawl).then(|| crawl.book("elasticsearch", "delivered")));
        let rate = (last - first) as f64 / begun.elapsed().as_secs_f64();
        assert!(last > first, "{waiting} pages were too few to see it catch up: a longer outage is needed");
        self.clear(crawl);
        println!("Catching up with a crawl that goes on, one page a second from each of 100 hosts\n");
        println!("live {live:.0} pages/s; {waiting} waited; noticed after {:.1} s", noticed.as_secs_f64());
        println!("caught up at {rate:.0} pages/s, {:.1} × the live rate (goal ≥ 3)\n", rate / live);
    }

    /// `pages`: of as many hosts as have them.
    fn crawl(&self, name: &str, elastic: Elastic, pages: usize, delay: Duration) -> Crawl {
        let folder = tempfile::tempdir().expect("a folder to write in");
        let [data, seeds, config, said] = ["data", "seeds", "seine.yml", "said"].map(|file| folder.path().join(file));
        let hosts = pages.div_ceil(site::PAGES_PER_HOST);
        std::fs::write(&seeds, self.site.seeds()[..hosts].join("\n")).expect("the disk holds");
        std::fs::write(&config, self.settings(name, elastic)).expect("the disk holds");
        let metrics = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
        // No more at once than the smallest crawl has hosts, so that crawls differ in length alone.
        let concurrency = if delay.is_zero() { "25" } else { "100" };
        command.args(["crawl", "--quiet", "--allow-private", "--stay", "--concurrency", concurrency]);
        command.args(["--delay", &delay.as_millis().to_string(), "--listen", &metrics.to_string()]);
        command.arg("-c").arg(&config).arg("--seeds").arg(&seeds).arg("--output").arg(&data);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).expect("the disk holds"));
        let started = Instant::now();
        let child = command.spawn().expect("seine starts");
        Crawl { child, started, metrics, said, name: name.to_owned(), _folder: folder }
    }

    fn settings(&self, name: &str, elastic: Elastic) -> String {
        let formats = if elastic == Elastic::Absent { "[KAFKA]" } else { "[KAFKA, ELASTICSEARCH]" };
        format!(
            "target_storage.data_formats: {formats}\n\
             link_storage.recrawl.interval: 1s\n\
             target_storage.data_format.kafka.topic_name: {name}\n\
             target_storage.data_format.kafka.create_topic: true\n\
             target_storage.data_format.kafka.properties.bootstrap.servers: '{}'\n\
             target_storage.data_format.elasticsearch.index_name: {name}\n\
             target_storage.data_format.elasticsearch.rest.hosts: ['http://{}']\n",
            self.broker.plain, self.proxy.address
        )
    }

    /// Ends a crawl and takes away what it left at the servers.
    fn clear(&self, crawl: Crawl) {
        let name = crawl.name.clone();
        drop(crawl);
        self.node.ask(reqwest::Method::DELETE, &format!("/{name}"), None);
        let client: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &self.broker.plain).create().expect("a client");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let options = AdminOptions::new().operation_timeout(Some(LONG));
        runtime.block_on(client.delete_topics(&[&name], &options)).expect("the broker answers");
    }
}

impl Crawl {
    /// Looks again and again until something comes of it; the crawl must go on meanwhile.
    fn until<T>(&mut self, mut look: impl FnMut(&mut Crawl) -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let said = || std::fs::read_to_string(&self.said).unwrap_or_default();
            assert!(started.elapsed() < LONG, "it does not come to its end: {}", said());
            std::thread::sleep(LOOK);
        }
    }

    /// One of a sink's books by the crawl's metrics; 0 before there are any.
    fn book(&mut self, sink: &str, book: &str) -> u64 {
        let Some((200, metrics)) = get(self.metrics, "/metrics") else {
            let ended = self.child.try_wait().expect("it is ours");
            let said = std::fs::read_to_string(&self.said).unwrap_or_default();
            assert!(ended.is_none(), "it ended: {said}");
            return 0;
        };
        let (pending, counted) = (
            format!("seine_sink_pending_events{{sink=\"{sink}\"}} "),
            format!("seine_sink_events_total{{book=\"{book}\",sink=\"{sink}\"}} "),
        );
        let wanted = if book == "pending" { pending } else { counted };
        let value = metrics.lines().find_map(|line| line.strip_prefix(&wanted));
        value.map_or(0, |value| value.parse().expect("a whole number"))
    }

    fn so_far(&self, pages: u64) -> Delivered {
        let proc = Path::new("/proc").join(self.child.id().to_string());
        Delivered {
            pages,
            wall: self.started.elapsed(),
            cpu: child::Times::read(&proc).expect("it runs").cpu(),
            peak_bytes: child::peak_bytes(&proc).expect("it runs"),
        }
    }
}

impl Drop for Crawl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Delivered {
    fn rate(&self) -> f64 {
        self.pages as f64 / self.wall.as_secs_f64()
    }

    fn show(&self, name: &str) {
        let cpu = self.cpu.as_secs_f64() * 1e3 / self.pages as f64;
        println!("{name:<15} {:>16.0} {cpu:>23.3} {:>13.0}", self.rate(), self.peak_bytes as f64 / 1e6);
    }
}
