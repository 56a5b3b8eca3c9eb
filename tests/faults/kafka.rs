//! The KAFKA sink, against real brokers: one behind the proxy, and three that replicate each other.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use seine_formats::files;

use crate::broker::{Broker, Seen};
use crate::oracle::{Crawl, Held};
use crate::proxy::{Mood, Proxy, broker_settings, free_ports};
use crate::support::Plan;
use crate::support::program::eventually;

const PAGE_BYTES: usize = 60_000;
/// Messages that the producer takes before it makes the sink wait.
const QUEUE: u64 = 50;
/// A batch from the log is 8 MiB of records, and the one that goes beyond: all of it is taken before the sink's place in
/// the log is committed again.
const BATCH: u64 = (8 << 20) / PAGE_BYTES as u64 + 1;
/// Of a topic's messages and batches: more than two pages as JSON, and much less than a large one.
const TOPIC_LIMIT: &str = "200000";
const BATCH_LIMIT: u32 = 150_000;
/// Delivery has begun, and is far from its end.
const BEGUN: i64 = 20;

fn plan() -> Plan {
    Plan { pages: 200, text: PAGE_BYTES, ..Plan::default() }
}

/// Nothing is compressed, so that requests are long enough to be cut in the middle.
fn settings(servers: &str, topic: &str) -> String {
    let kafka = "target_storage.data_format.kafka";
    format!(
        "target_storage.data_formats: [KAFKA]\n\
         {kafka}.topic_name: {topic}\n\
         {kafka}.stuck_after: 3s\n\
         {kafka}.properties.bootstrap.servers: '{servers}'\n\
         {kafka}.properties.linger.ms: 5\n\
         {kafka}.properties.compression.type: none\n\
         {kafka}.properties.batch.size: {BATCH_LIMIT}\n\
         {kafka}.properties.queue.buffering.max.messages: {QUEUE}\n\
         {kafka}.properties.request.timeout.ms: 3000\n\
         {kafka}.properties.socket.connection.setup.timeout.ms: 2000\n\
         {kafka}.properties.reconnect.backoff.ms: 50\n\
         {kafka}.properties.reconnect.backoff.max.ms: 500\n\
         {kafka}.properties.retry.backoff.ms: 50\n"
    )
}

/// One broker; the crawl reaches it through the proxy, the test's readers directly. Its tests take turns.
struct Alone {
    proxy: Proxy,
    folder: PathBuf,
    /// None while it is killed.
    broker: Option<Broker>,
}

impl Alone {
    fn take() -> MutexGuard<'static, Alone> {
        static ALONE: LazyLock<Mutex<Alone>> = LazyLock::new(|| Mutex::new(Alone::start()));
        let mut alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // As it was before a test that failed.
        alone.proxy.set(Mood::Pass);
        match &alone.broker {
            Some(broker) => broker.signal("-CONT"),
            None => alone.broker = Some(Broker::start(alone.folder.clone(), &[])),
        }
        alone
    }

    fn start() -> Alone {
        let [proxy, proxied] = free_ports();
        let local = |port: u16| ([127, 0, 0, 1], port).into();
        let broker = Alone::start_broker(proxy, proxied);
        let folder = broker.folder.clone();
        Alone { proxy: Proxy::start(local(proxy), local(proxied)), folder, broker: Some(broker) }
    }

    fn start_broker(proxy: u16, proxied: u16) -> Broker {
        Broker::start(tempfile::tempdir().unwrap().keep(), &broker_settings(proxy, proxied))
    }

    fn broker(&self) -> &Broker {
        self.broker.as_ref().expect("it runs")
    }

    /// A crawl that is delivering to a new topic of one partition: what is sent there is acknowledged in order.
    fn crawl(&self, topic: &str, plan: Plan) -> Crawl {
        self.broker().make_topic_on(topic, &[&[1]], &[("max.message.bytes", TOPIC_LIMIT)]);
        let settings = settings(&self.proxy.address.to_string(), topic);
        let mut crawl = Crawl::new("kafka", plan, Duration::from_millis(80), &settings, QUEUE + BATCH);
        crawl.start();
        eventually("delivery begins", || self.broker().count(topic) >= BEGUN);
        crawl
    }
}

/// Killed and started again in the middle of a fault.
fn kill_and_start(crawl: &mut Crawl) {
    crawl.goes_on(40);
    crawl.kill();
    crawl.start();
    crawl.goes_on(20);
}

fn end_and_check(crawl: &mut Crawl, broker: &Broker, topic: &str) {
    crawl.end();
    crawl.check(&read(broker, topic));
}

#[test]
fn a_broker_that_stands_still() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("stopped", plan());
    alone.broker().signal("-STOP");
    kill_and_start(&mut crawl);
    alone.broker().signal("-CONT");
    end_and_check(&mut crawl, alone.broker(), "stopped");
}

#[test]
fn a_broker_killed() {
    let mut alone = Alone::take();
    let mut crawl = alone.crawl("killed", plan());
    alone.broker.take().unwrap().kill();
    kill_and_start(&mut crawl);
    alone.broker = Some(Broker::start(alone.folder.clone(), &[]));
    end_and_check(&mut crawl, alone.broker(), "killed");

    // Had the topic been lost with the broker, the audit would tell.
    alone.broker().make_topic_on("lost", &[&[1]], &[]);
    let config = crawl.place.write("lost.yml", settings(&alone.proxy.address.to_string(), "lost"));
    let pages = crawl.site.pages().len();
    crawl.audit(&config).fails_naming(&[&format!("at kafka is off by {pages}")]);
}

fn through_the_proxy(topic: &str, mood: Mood, plan: Plan) -> Crawl {
    let alone = Alone::take();
    let mut crawl = alone.crawl(topic, plan);
    let (sent, cuts) = (alone.proxy.sent(), alone.proxy.cuts());
    alone.proxy.set(mood);
    kill_and_start(&mut crawl);
    if let Mood::CutAfter(_) = mood {
        eventually("requests are cut in the middle", || alone.proxy.cuts() > cuts + 3);
    } else {
        // At most what each of its two halves had read already.
        assert!(alone.proxy.sent() - sent < 200_000, "the proxy passed {} bytes on", alone.proxy.sent() - sent);
    }
    alone.proxy.set(Mood::Pass);
    end_and_check(&mut crawl, alone.broker(), topic);
    crawl
}

#[test]
fn connections_refused() {
    through_the_proxy("refused", Mood::Refuse, plan());
}

#[test]
fn connections_that_stall() {
    through_the_proxy("stalled", Mood::Stall, plan());
}

/// Among the pages are some that the topic does not take: each is a dead letter, and one only.
#[test]
fn connections_reset() {
    let crawl = through_the_proxy("reset", Mood::Reset, Plan { long_every: 20, long_text: 10 * plan().text, ..plan() });
    let large = crawl.site.contents().values().filter(|content| content.len() > 5 * PAGE_BYTES).count();
    let dead = crawl.dead_letters();
    assert!(large >= 10 && dead.iter().all(|letter| letter.content.len() > 5 * PAGE_BYTES));
    assert_eq!(dead.len(), large);
}

/// A page is longer than what is let through.
#[test]
fn requests_cut_halfway() {
    through_the_proxy("cut", Mood::CutAfter(PAGE_BYTES as u64 / 2), plan());
}

/// With the producer's queue full, the sink waits in the middle of a batch.
#[test]
fn a_crawl_told_to_end_in_an_outage_does_so() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("ended", plan());
    alone.proxy.set(Mood::Stall);
    crawl.goes_on(3 * QUEUE as usize);
    let took = crawl.terminate();
    // Well before the grace of 10 s that others are given.
    assert!(took < Duration::from_secs(6), "{took:?}");
    alone.proxy.set(Mood::Pass);
    crawl.start();
    end_and_check(&mut crawl, alone.broker(), "ended");
}

/// Without `--stay`, a sink that does not move is waited for only so long; the same command delivers the rest.
#[test]
fn an_outage_that_outlasts_the_runs_patience() {
    let alone = Alone::take();
    let mut crawl = alone.crawl("outlasted", plan());
    crawl.kill();
    alone.proxy.set(Mood::Refuse);
    crawl.start_with(&["--patience", "2s"]);
    let said = crawl.end_undelivered();
    let visits = crawl.site.running.visits.len();
    assert!(said.contains("sink=\"kafka\"") && said.contains("no progress for"), "{said}");
    alone.proxy.set(Mood::Pass);
    crawl.start();
    end_and_check(&mut crawl, alone.broker(), "outlasted");
    assert_eq!(crawl.site.running.visits.len(), visits, "fetched again");
}

/// Three brokers with a copy of everything each; a message is acknowledged when two of them have it.
struct Three {
    nodes: [Option<Broker>; 3],
    folders: [PathBuf; 3],
}

impl Three {
    fn take() -> MutexGuard<'static, Three> {
        static THREE: LazyLock<Mutex<Three>> = LazyLock::new(|| Mutex::new(Three::start()));
        let mut three = THREE.lock().unwrap_or_else(PoisonError::into_inner);
        // As it was before a test that failed.
        for number in 0..3 {
            if three.nodes[number].is_none() {
                three.nodes[number] = Some(Broker::start(three.folders[number].clone(), &[]));
            }
        }
        three
    }

    fn start() -> Three {
        let ports: [u16; 6] = free_ports();
        let voters: Vec<String> =
            (0..3).map(|number| format!("{}@127.0.0.1:{}", number + 1, ports[3 + number])).collect();
        let settings = |number: usize| {
            let (plain, controller) = (ports[number], ports[3 + number]);
            [
                format!("node.id={}", number + 1),
                format!("listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller}"),
                format!("advertised.listeners=PLAINTEXT://127.0.0.1:{plain}"),
                format!("controller.quorum.voters={}", voters.join(",")),
                "min.insync.replicas=2".to_owned(),
                "offsets.topic.replication.factor=3".to_owned(),
                // A dead broker is noticed soon, and who should lead does soon after it can.
                "broker.session.timeout.ms=4000".to_owned(),
                "broker.heartbeat.interval.ms=500".to_owned(),
                "leader.imbalance.check.interval.seconds=1".to_owned(),
                "leader.imbalance.per.broker.percentage=0".to_owned(),
            ]
        };
        // None of them serves before two are there.
        let start = |number: usize| {
            let settings = settings(number);
            std::thread::spawn(move || Broker::start(tempfile::tempdir().unwrap().keep(), &settings))
        };
        let nodes = [0, 1, 2].map(start).map(|thread| thread.join().expect("a broker that serves"));
        let folders = [0, 1, 2].map(|number: usize| nodes[number].folder.clone());
        Three { nodes: nodes.map(Some), folders }
    }

    /// By its id, 1 to 3.
    fn node(&self, id: usize) -> &Broker {
        self.nodes[id - 1].as_ref().expect("it runs")
    }

    /// A crawl that is delivering to a new topic. Of its partitions one may go on while another one waits, and everything
    /// behind the one that waits is not committed: all that is pending may be there already.
    fn crawl(&self, topic: &str, replicas: &[&[i32]]) -> Crawl {
        self.node(1).make_topic_on(topic, replicas, &[]);
        let servers = [1, 2, 3].map(|id| self.node(id).plain.clone()).join(",");
        let pages = plan().pages as u64 * 2;
        let mut crawl = Crawl::new("kafka", plan(), Duration::from_millis(400), &settings(&servers, topic), pages);
        crawl.start();
        eventually("delivery begins", || self.node(1).count(topic) >= BEGUN);
        crawl
    }

    /// Gives partitions other replicas, the first of which is to lead.
    fn reassign(&self, topic: &str, replicas: &[&[i32]]) -> Child {
        let partition = |(number, replicas): (usize, &&[i32])| serde_json::json!({ "topic": topic, "partition": number, "replicas": replicas });
        let partitions: Vec<_> = replicas.iter().enumerate().map(partition).collect();
        let file = self.folders[0].join(format!("{topic}.json"));
        std::fs::write(&file, serde_json::json!({ "version": 1, "partitions": partitions }).to_string()).unwrap();
        let mut command = Broker::script();
        command.args(["run", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--execute"]);
        command.args(["--bootstrap-server", &self.node(1).plain, "--reassignment-json-file"]).arg(file);
        command.stdout(Stdio::null()).spawn().expect("scripts/services/kafka runs")
    }

    fn wait_for_leaders(&self, topic: &str, leaders: &[i32]) {
        eventually("the brokers lead that should", || self.node(1).leaders(topic) == leaders);
    }
}

#[test]
fn a_leader_killed_and_robbed_of_its_disk() {
    let mut three = Three::take();
    let mut crawl = three.crawl("wiped", &[&[3, 1, 2], &[3, 2, 1]]);
    let folder = three.nodes[2].take().unwrap().kill();
    std::fs::remove_dir_all(folder.join("data")).unwrap();
    kill_and_start(&mut crawl);
    three.nodes[2] = Some(Broker::start(folder, &[]));
    crawl.end();
    // It leads again once it has caught up: what is read comes from its disk.
    three.wait_for_leaders("wiped", &[3, 3]);
    crawl.check(&read(three.node(3), "wiped"));
}

#[test]
fn leadership_moved() {
    let three = Three::take();
    let mut crawl = three.crawl("moved", &[&[1, 2, 3], &[2, 3, 1]]);
    let mut moving = three.reassign("moved", &[&[2, 3, 1], &[3, 1, 2]]);
    kill_and_start(&mut crawl);
    assert!(moving.wait().unwrap().success());
    three.wait_for_leaders("moved", &[2, 3]);
    crawl.goes_on(5);
    assert!(three.reassign("moved", &[&[3, 1, 2], &[1, 2, 3]]).wait().unwrap().success());
    three.wait_for_leaders("moved", &[3, 1]);
    end_and_check(&mut crawl, three.node(1), "moved");
}

/// Everything in a topic, read by two clients that have nothing in common, which agree.
fn read(broker: &Broker, topic: &str) -> Vec<Held> {
    let mut seen = broker.read(topic);
    let mut by_java = read_with_java(broker, topic, seen.len());
    seen.sort_by_key(|message| (message.partition, message.offset));
    by_java.sort_by_key(|message| (message.partition, message.offset));
    assert_eq!(seen.len(), by_java.len());
    for (message, other) in seen.iter().zip(&by_java) {
        let place = (message.partition, message.offset);
        assert_eq!(place, (other.partition, other.offset));
        assert_eq!((&message.key, message.id()), (&other.key, other.id.as_str()), "at {place:?}");
        assert!(message.value == other.value, "the clients read different values at {place:?}");
    }
    seen.iter().map(held).collect()
}

fn held(message: &Seen) -> Held {
    let record = files::parse_line(&message.value).expect("a FILES object");
    let key: String = url::form_urlencoded::byte_serialize(record.url.as_bytes()).collect();
    assert_eq!(message.key, key);
    Held { id: Some(message.id().to_owned()), url: record.url.into_owned(), content: record.content.to_vec() }
}

/// A message as Kafka's own consumer prints it.
struct Printed {
    partition: i32,
    offset: i64,
    id: String,
    key: String,
    value: Vec<u8>,
}

fn read_with_java(broker: &Broker, topic: &str, count: usize) -> Vec<Printed> {
    let mut command = Broker::script();
    command.args([
        "run",
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        "--from-beginning",
        "--timeout-ms",
        "60000",
    ]);
    command.args(["--bootstrap-server", &broker.plain, "--topic", topic, "--max-messages", &count.to_string()]);
    for property in ["print.partition", "print.offset", "print.headers", "print.key"] {
        command.args(["--formatter-property", &format!("{property}=true")]);
    }
    let printed = output(command);
    printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parse_printed).collect()
}

/// `Partition:0⇥Offset:1⇥event_id:…,schema:…⇥key⇥value`
fn parse_printed(line: &[u8]) -> Printed {
    let mut fields = line.splitn(5, |byte| *byte == b'\t');
    let mut field = || String::from_utf8(fields.next().expect("five fields").to_vec()).expect("text");
    let number = |field: String, name: &str| field.strip_prefix(name).and_then(|it| it.parse().ok()).expect("a number");
    let (partition, offset) = (number(field(), "Partition:") as i32, number(field(), "Offset:"));
    let headers = field();
    let id = headers.split(',').find_map(|header| header.strip_prefix("event_id:")).expect("an event's id").to_owned();
    let key = field();
    Printed { partition, offset, id, key, value: fields.next().expect("five fields").to_vec() }
}

fn output(mut command: Command) -> Vec<u8> {
    let output = command.output().expect("scripts/services/kafka runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
