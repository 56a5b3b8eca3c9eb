//! A topic that is no longer the one delivered into, and one that got more partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use seine::sinks::kafka::KafkaSink;
use seine::sinks::{Sink, SinkContext, SinkError};
use seine_delivery::Entry;
use seine_parse::page::PageChange;
use serde_json::Value;

use crate::broker::{BROKER, Broker};
use crate::support::program::{Place, Process, eventually, run};
use crate::support::server::{Answer, Ask};
use crate::support::{Running, links};
use crate::{LONG, ToKafka, entries, finish, html, kafka_config, page, pages, response};

fn admin(broker: &Broker) -> (AdminClient<DefaultClientContext>, tokio::runtime::Runtime) {
    let admin = ClientConfig::new().set("bootstrap.servers", &broker.plain).create().unwrap();
    (admin, tokio::runtime::Builder::new_current_thread().build().unwrap())
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(LONG))
}

fn is_there(broker: &Broker, topic: &str) -> bool {
    let consumer: BaseConsumer = ClientConfig::new().set("bootstrap.servers", &broker.plain).create().unwrap();
    consumer.fetch_metadata(None, LONG).unwrap().topics().iter().any(|it| it.name() == topic)
}

fn delete(broker: &Broker, topic: &str) {
    let (admin, runtime) = admin(broker);
    runtime.block_on(admin.delete_topics(&[topic], &options())).unwrap().remove(0).unwrap();
}

fn reopen(config: &ToKafka, folder: &std::path::Path, state: &Value) -> Result<KafkaSink, SinkError> {
    let format = config.0.format.unwrap();
    let encoder = (format.encoder)(&config.0.options);
    KafkaSink::reopen(config, config.0.upkeep, encoder, format.schema, &SinkContext::new(folder), state)
}

fn refused(opened: Result<KafkaSink, SinkError>) -> String {
    let error = opened.err().expect("it is another topic");
    assert!(matches!(error, SinkError::Replaced { .. }), "{error}");
    error.to_string()
}

#[test]
fn another_topic_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let config = kafka_config(&BROKER.plain, "other", "target_storage.data_format.kafka.create_topic: true\n");
    BROKER.make_topic("other", &[]);
    let deliver = |sink: &mut KafkaSink, numbers: std::ops::Range<u64>| {
        sink.deliver(&pages(numbers.clone(), 100))?;
        finish(sink, numbers.end)
    };
    let state = deliver(&mut reopen(&config, folder.path(), &Value::Null).unwrap(), 0..50).unwrap().state;
    // The same topic, with messages of other programs in it.
    deliver(&mut reopen(&config, folder.path(), &Value::Null).unwrap(), 0..5).unwrap();
    let mut running = reopen(&config, folder.path(), &state).unwrap();
    let state = deliver(&mut running, 50..60).unwrap().state;
    delete(&BROKER, "other");
    eventually("it is deleted", || !is_there(&BROKER, "other"));
    assert!(refused(reopen(&config, folder.path(), &state)).contains("topic other is gone"));
    assert!(!is_there(&BROKER, "other"), "it was made by being asked for");
    // Somebody created the topic again. The broker may also reject the old producer, which is then recreated.
    BROKER.make_topic("other", &[]);
    match deliver(&mut running, 60..62) {
        Err(SinkError::Replaced { how, .. }) => assert!(how.contains("recreated"), "{how}"),
        Err(_) => {}
        Ok(delivered) => panic!("{delivered:?} went to another topic"),
    }
    assert!(refused(reopen(&config, folder.path(), &state)).contains("recreated"));
}

/// The last message of each key in each partition, without tombstones: page and partition.
fn held(topic: &str) -> Vec<(String, i32)> {
    let mut last = BTreeMap::new();
    let mut messages = BROKER.read(topic);
    messages.sort_by_key(|message| (message.partition, message.offset));
    for message in messages {
        last.insert((message.key, message.partition), message.is_tombstone);
    }
    last.into_iter().filter(|(_, is_tombstone)| !is_tombstone).map(|(place, _)| place).collect()
}

const PAGES: u64 = 30;

/// One event of each page: the last ten are gone from the second round on.
fn round(round: u64) -> Vec<Arc<Entry>> {
    entries((0..PAGES).map(|number| {
        let mut event = html(round * PAGES + number, &format!("<title>{round}</title>"));
        event.url = format!("http://a.example/{number}");
        event.final_url = event.url.clone();
        event.change = Some(if round == 0 { PageChange::New } else { PageChange::Changed });
        if round > 0 && number >= 20 {
            event.change = Some(PageChange::Gone);
            response(&mut event).status = 404;
        }
        event
    }))
}

#[test]
fn a_page_is_in_one_partition_after_partitions_were_added() {
    // A sink that starts again with empty counters, as for a refill, knows the partitions of before.
    let kept: fn(&Value) -> Value = KafkaSink::kept_state;
    for (topic, reopened) in
        [("grown", None), ("grown-meanwhile", Some(Value::clone as _)), ("grown-refill", Some(kept))]
    {
        BROKER.make_topic(topic, &[]);
        let more = "target_storage.data_format.kafka.properties.metadata.max.age.ms: 200\n";
        let config = kafka_config(&BROKER.plain, topic, more);
        let folder = tempfile::tempdir().unwrap();
        let log = tempfile::NamedTempFile::new().unwrap();
        let writer = Arc::new(log.reopen().unwrap());
        let _log = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(writer).finish());
        let mut sink = reopen(&config, folder.path(), &Value::Null).unwrap();
        sink.deliver(&round(0)).unwrap();
        let state = finish(&mut sink, PAGES).unwrap().state;
        let (admin, runtime) = admin(&BROKER);
        runtime.block_on(admin.create_partitions(&[NewPartitions::new(topic, 5)], &options())).unwrap();
        eventually("they are served", || BROKER.partitions(topic) == 5);
        if let Some(kept) = reopened {
            sink = reopen(&config, folder.path(), &kept(&state)).unwrap();
        }
        // Until the producer uses the new partitions, and once more.
        let mut rounds = 1;
        let mut deliver = |sink: &mut KafkaSink| {
            sink.deliver(&round(rounds)).unwrap();
            rounds += 1;
            finish(sink, rounds * PAGES).unwrap()
        };
        eventually("the new partitions are used", || {
            deliver(&mut sink);
            BROKER.read(topic).iter().any(|message| message.partition >= 2)
        });
        deliver(&mut sink);
        let held = held(topic);
        let keys: BTreeSet<&str> = held.iter().map(|(key, _)| key.as_str()).collect();
        let expected: Vec<String> = (0..20).map(|number| format!("http%3A%2F%2Fa.example%2F{number}")).collect();
        assert_eq!(keys, expected.iter().map(String::as_str).collect(), "{topic}");
        assert_eq!(held.len(), 20, "{topic}: a page is in two partitions: {held:?}");
        let moved = BROKER.read(topic).into_iter().filter(|message| message.headers["change"] == "moved");
        assert!(moved.into_iter().all(|message| message.is_tombstone && message.partition < 2));
        let said = std::fs::read_to_string(log.path()).unwrap();
        // A refill takes the number that it finds as the first one.
        let expected = usize::from(topic != "grown-refill");
        assert_eq!(said.matches("kafka: partitions were added").count(), expected, "{topic}: {said}");
    }
}

#[test]
fn what_becomes_a_file_that_the_format_does_not_hold_leaves() {
    BROKER.make_topic("not-held", &[]);
    let config = kafka_config(&BROKER.plain, "not-held", "target_storage.data_format.kafka.format: CDR31\n");
    let folder = tempfile::tempdir().unwrap();
    let story = [
        (PageChange::New, "text/html", "<title>1</title>"),
        (PageChange::Changed, "application/pdf", "%PDF-1"),
        (PageChange::Unchanged, "application/pdf", "%PDF-1"),
        (PageChange::Changed, "application/pdf", "%PDF-2"),
    ];
    let event = |(number, (change, content_type, body)): (usize, &(PageChange, &str, &str))| {
        let mut event = page(number as u64, content_type, body.as_bytes());
        event.url = "http://a.example/report".into();
        event.final_url = event.url.clone();
        event.change = Some(*change);
        event
    };
    let mut sink = reopen(&config, folder.path(), &Value::Null).unwrap();
    sink.deliver(&entries(story.iter().enumerate().map(event))).unwrap();
    let delivered = finish(&mut sink, story.len() as u64).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped), (3, 1));
    assert_eq!(held("not-held"), []);
    let messages = BROKER.read("not-held");
    let tombstone = messages.iter().find(|message| message.is_tombstone).unwrap();
    assert_eq!((&*tombstone.headers["change"], &*tombstone.headers["reason"]), ("gone", "not_stored"));
    // A page that was never delivered leaves nothing.
    let pdf = [(PageChange::New, "application/pdf", "%PDF-1")];
    let mut sink = reopen(&config, folder.path(), &Value::Null).unwrap();
    sink.deliver(&entries(pdf.iter().enumerate().map(event))).unwrap();
    assert_eq!(finish(&mut sink, 1).unwrap().skipped, 1);
}

/// Pages never change, and answer conditional requests with 304.
fn site() -> Running {
    Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path()[1..].parse::<u64>() {
            Ok(_) if ask.header("if-none-match").is_some() => Answer::new(304, ""),
            Ok(page) => Answer::html(format!("<title>{page}</title>{}", "x ".repeat(4000))).header("etag", "\"1\""),
            Err(_) if ask.path() == "/" => {
                let paths: Vec<String> = (0..PAGES).map(|page| format!("/{page}")).collect();
                Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            Err(_) => Answer::text("").status(404),
        }),
    )
}

/// With a broker that would create the topic itself, with its own settings.
#[test]
fn a_deleted_topic_is_made_as_at_the_first_start_and_filled_anew() {
    let settings = ["auto.create.topics.enable=true".to_owned()];
    let broker = Broker::start(tempfile::tempdir().unwrap().keep(), &settings);
    let kafka = "target_storage.data_format.kafka";
    let place = Place::with(&format!(
        "page_log.segment_size: 64KiB\ntarget_storage.data_formats: [KAFKA]\n{kafka}.topic_name: deleted\n\
         {kafka}.create_topic: true\n{kafka}.properties: {{bootstrap.servers: '{}', metadata.max.age.ms: 200}}\n\
         link_storage.recrawl: {{interval: 1s, min_interval: 1s}}\n",
        broker.plain
    ));
    let site = site();
    let crawl = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    let is_full = || {
        let numbered = |key: &str| key.rsplit("%2F").next().is_some_and(|name| name.parse::<u64>().is_ok());
        is_there(&broker, "deleted")
            && broker
                .read("deleted")
                .into_iter()
                .filter(|it| numbered(&it.key))
                .map(|it| it.key)
                .collect::<BTreeSet<_>>()
                .len()
                == PAGES as usize
    };
    eventually("every page is there", is_full);
    let before = site.visits.len();
    eventually("the pages were asked for again", || site.visits.len() > before + 2 * PAGES as usize);
    delete(&broker, "deleted");
    eventually("every page is there again", is_full);
    let (admin, runtime) = admin(&broker);
    let described = runtime.block_on(admin.describe_configs(&[ResourceSpecifier::Topic("deleted")], &options()));
    let described = described.unwrap().remove(0).unwrap();
    assert_eq!(described.get("cleanup.policy").unwrap().value.as_deref(), Some("compact"));
    let said = run(&["sinks".as_ref(), "-o".as_ref(), place.data().as_os_str()]).ok().stdout;
    assert!(said.contains("started again"), "{said}");
    crawl.signal("TERM");
    crawl.wait().ok();
}
