//! A sink alone. It gets pages that are derived already, as from the log, and delivers them to the server. For comparison,
//! the client library of the sink sends the same messages, ready-made, with the settings of the sink.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use elasticsearch::http::Method;
use elasticsearch::http::headers::{CONTENT_TYPE, HeaderMap, HeaderValue};
use elasticsearch::http::transport::{SingleNodeConnectionPool, Transport, TransportBuilder};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, DeliveryResult, NoCustomPartitioner, Producer, ProducerContext, ThreadedProducer};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientConfig, ClientContext};
use seine::config::{self, Destination, ElasticConfig, SinkConfig};
use seine::sinks::elasticsearch::ElasticSink;
use seine::sinks::{self, Sink, SinkContext};
use seine_delivery::Entry;
use seine_formats::{elastic, elastic_mapping, files};

use crate::broker::Broker;
use crate::node::Node;
use crate::{LONG, Size, child, cpu, stages};

/// About what the crawl takes from the log at once.
const BATCH: usize = 256;
/// Bulks on their way, as in the sink.
const IN_FLIGHT: usize = 2;

/// One way of sending everything.
#[derive(Clone, Copy)]
struct Run {
    wall: Duration,
    /// Of this process, the client's threads included.
    cpu: Duration,
}

pub fn compare(size: &Size, broker: &Broker, node: &Node) {
    let entries = stages::entries(size.ready_made);
    println!(
        "{} pages of the bench site through each sink; best of {}; CPU without the server's",
        entries.len(),
        size.rounds
    );
    println!("\n                        MB/s of messages   pages/s   CPU µs a page");

    let messages: Vec<Vec<u8>> = entries.iter().map(|entry| json(entry)).collect();
    let config = kafka_config(broker);
    let topic = |name: String| {
        broker.make_topic(&name, &[]);
        let mut config = config.clone();
        if let Destination::Kafka(kafka) = &mut config.destination {
            kafka.topic = name;
        }
        config
    };
    let [sink, bare] = best(size.rounds, &mut |round, is_sink| {
        let config = topic(format!("round-{round}-{is_sink}"));
        if is_sink { kafka_sink(&config, &entries) } else { kafka_bare(&config, &entries, &messages) }
    });
    let bytes = messages.iter().map(Vec::len).sum();
    show("KAFKA", sink, bare, bytes, entries.len());
    making(size, "its messages alone", &mut || entries.iter().map(|entry| json(entry).len()).sum(), entries.len());
    drop(messages);

    let documents: Vec<Bytes> = entries.iter().map(|entry| document(entry)).collect();
    let config = elastic_config(node);
    let [sink, bare] = best(size.rounds, &mut |round, is_sink| {
        let index = format!("round-{round}-{is_sink}");
        node.put(&format!("/{index}"), &elastic_mapping::index_body(elastic_mapping::HeaderType::Flattened));
        let config = ElasticConfig { index: index.clone(), ..config.clone() };
        let run = if is_sink { elastic_sink(&config, &entries) } else { elastic_bare(&config, &documents) };
        assert_eq!(node.count_all(&index), entries.len() as u64);
        assert_eq!(node.ask(reqwest::Method::DELETE, &format!("/{index}"), None).0, 200);
        run
    });
    let bytes = documents.iter().map(Bytes::len).sum();
    show("ELASTICSEARCH", sink, bare, bytes, entries.len());
    making(size, "its documents alone", &mut || entries.iter().map(|entry| document(entry).len()).sum(), entries.len());
}

/// The best of several rounds of each way, in turn, after one that warms the server up.
fn best(rounds: usize, run: &mut dyn FnMut(usize, bool) -> Run) -> [Run; 2] {
    let mut best: [Option<Run>; 2] = [None; 2];
    for round in 0..=rounds {
        for (way, best) in best.iter_mut().enumerate() {
            let ran = run(round, way == 0);
            if round > 0 {
                let before = best.unwrap_or(ran);
                *best = Some(Run { wall: ran.wall.min(before.wall), cpu: ran.cpu.min(before.cpu) });
            }
        }
    }
    best.map(|run| run.expect("at least one round"))
}

fn show(name: &str, sink: Run, bare: Run, bytes: usize, pages: usize) {
    let row = |what: &str, run: Run| {
        let (wall, cpu) = (run.wall.as_secs_f64(), run.cpu.as_secs_f64() * 1e6 / pages as f64);
        let (megabytes, rate) = (bytes as f64 / 1e6 / wall, pages as f64 / wall);
        println!("{name:<13} {what:<8}  {megabytes:>16.1} {rate:>9.0} {cpu:>15.1}");
    };
    row("sink", sink);
    row("client", bare);
    println!("{name:<13} {:<8}  {:>16.2}", "ratio", bare.wall.as_secs_f64() / sink.wall.as_secs_f64());
}

/// The CPU time of one thread that makes the messages, which every client needs.
fn making(size: &Size, what: &str, run: &mut dyn FnMut() -> usize, pages: usize) {
    let (best, _) = cpu::best_of(size.rounds as u32, run);
    println!("              {what:<20} {:>30.1}\n", best.as_secs_f64() * 1e6 / pages as f64);
}

fn timed(run: impl FnOnce()) -> Run {
    let cpu = || child::Times::read("/proc/self".as_ref()).expect("Linux").cpu();
    let (started, before) = (Instant::now(), cpu());
    run();
    Run { wall: started.elapsed(), cpu: cpu() - before }
}

fn deliver(sink: &mut dyn Sink, entries: &[Arc<Entry>]) {
    for batch in entries.chunks(BATCH) {
        sink.deliver(batch).expect("the server takes it");
    }
    while sink.flush().expect("the server takes it").delivered < entries.len() as u64 {}
}

fn kafka_config(broker: &Broker) -> SinkConfig {
    let options = [
        ("target_storage.data_formats", "KAFKA".to_owned()),
        ("target_storage.data_format.kafka.topic_name", "any".to_owned()),
        ("target_storage.data_format.kafka.properties.bootstrap.servers", broker.plain.clone()),
    ];
    only_sink(&options)
}

fn elastic_config(node: &Node) -> ElasticConfig {
    let options = [
        ("target_storage.data_formats", "ELASTICSEARCH".to_owned()),
        ("target_storage.data_format.elasticsearch.index_template", "false".to_owned()),
        ("target_storage.data_format.elasticsearch.rest.hosts", node.url.clone()),
    ];
    match only_sink(&options).destination {
        Destination::Elasticsearch(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn only_sink(options: &[(&'static str, String)]) -> SinkConfig {
    config::load_with(None, &[], options).expect("it is right").config.sinks.remove(0)
}

fn json(entry: &Entry) -> Vec<u8> {
    let body = entry.body();
    let mut message = Vec::new();
    assert!(files::write_event(&entry.event, &body, &mut message));
    message.pop();
    message
}

fn kafka_sink(config: &SinkConfig, entries: &[Arc<Entry>]) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let state = serde_json::Value::Null;
    let mut sink = sinks::open(config, &SinkContext::new(folder.path()), &state).expect("the broker answers");
    timed(|| deliver(&mut *sink, entries))
}

#[derive(Default)]
struct Counted {
    delivered: AtomicUsize,
}

impl ClientContext for Counted {}

impl ProducerContext<NoCustomPartitioner> for Counted {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        assert!(result.is_ok());
        self.delivered.fetch_add(1, Ordering::Relaxed);
    }
}

fn kafka_bare(config: &SinkConfig, entries: &[Arc<Entry>], messages: &[Vec<u8>]) -> Run {
    let Destination::Kafka(config) = &config.destination else { panic!("{config:?}") };
    let mut client = ClientConfig::new();
    for (name, value) in &config.properties {
        client.set(name, value.expose());
    }
    let producer: ThreadedProducer<Counted> = client.create_with_context(Counted::default()).expect("a producer");
    producer.client().fetch_metadata(Some(&config.topic), LONG).expect("the broker answers");
    let keys: Vec<String> =
        entries.iter().map(|it| url::form_urlencoded::byte_serialize(it.event.url.as_bytes()).collect()).collect();
    timed(|| {
        for ((entry, key), message) in entries.iter().zip(&keys).zip(messages) {
            let headers = OwnedHeaders::new_with_capacity(3)
                .insert(Header { key: "event_id", value: Some(&entry.event.id) })
                .insert(Header { key: "schema", value: Some("files") })
                .insert(Header { key: "status", value: Some("200") });
            let mut record = BaseRecord::to(&config.topic).key(key).payload(message).headers(headers);
            while let Err((error, again)) = producer.send(record) {
                assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::QueueFull));
                record = again;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        producer.flush(LONG).expect("the broker takes it");
        assert_eq!(producer.context().delivered.load(Ordering::Relaxed), messages.len());
    })
}

/// A document and the line before it.
fn document(entry: &Entry) -> Bytes {
    let id = elastic::document_id(&entry.event.url);
    let version = elastic::document_version(&entry.event);
    let action = serde_json::json!({ "index": { "_id": id, "version": version, "version_type": "external" } });
    let mut lines = format!("{action}\n").into_bytes();
    assert!(elastic::write_event(&entry.event, &entry.text(), 0, &mut lines));
    lines.push(b'\n');
    lines.into()
}

fn elastic_sink(config: &ElasticConfig, entries: &[Arc<Entry>]) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut sink = ElasticSink::open(config, seine::config::Upkeep::default(), &SinkContext::new(folder.path()))
        .expect("it is right");
    timed(|| deliver(&mut sink, entries))
}

fn elastic_bare(config: &ElasticConfig, documents: &[Bytes]) -> Run {
    let transport = TransportBuilder::new(SingleNodeConnectionPool::new(config.hosts[0].clone()))
        .disable_proxy()
        .enable_meta_header(false)
        .build()
        .expect("a client");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let bulks = Arc::new(bulks(config, documents));
    let path = format!("/{}/_bulk?filter_path=items.*.status", config.index);
    let next = Arc::new(AtomicUsize::new(0));
    timed(|| {
        runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..IN_FLIGHT {
                let (bulks, next, transport, path) = (bulks.clone(), next.clone(), transport.clone(), path.clone());
                tasks.spawn(async move {
                    while let Some(bulk) = bulks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        send(&transport, &path, bulk.clone()).await;
                    }
                });
            }
            tasks.join_all().await;
        });
    })
}

/// As large as the sink makes them.
fn bulks(config: &ElasticConfig, documents: &[Bytes]) -> Vec<Bytes> {
    let (mut bulks, mut bulk, mut count) = (Vec::new(), BytesMut::new(), 0);
    for document in documents {
        bulk.extend_from_slice(document);
        count += 1;
        if bulk.len() as u64 >= config.bulk_bytes || count >= config.bulk_documents {
            bulks.push(bulk.split().freeze());
            count = 0;
        }
    }
    bulks.push(bulk.freeze());
    bulks.retain(|bulk| !bulk.is_empty());
    bulks
}

async fn send(transport: &Transport, path: &str, bulk: Bytes) {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    let sent = transport.send(Method::Post, path, headers, None::<&()>, Some(bulk), None).await;
    let answer = sent.expect("the node answers");
    assert_eq!(answer.status_code().as_u16(), 200);
    let body = answer.text().await.expect("a whole answer");
    assert!(body.contains("\"status\":201") && !body.contains("\"status\":4"), "{body}");
}
