//! Elasticsearch and OpenSearch: the document, its words and its main text; and the sink, against real servers.
//!
//! `scripts/services/` installs the servers from Maven Central once. They need Java 17 and are started one at a time.

mod aliases;
mod conformance;
mod crawl;
mod credentials;
mod document;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod fault;
mod gone;
mod hosts;
mod letters;
mod main_text;
mod mapping;
mod model;
mod node;
mod proxy;
mod refill;
mod replaced;
mod settings;
mod stand_in;
#[path = "../support/mod.rs"]
mod support;
mod without_server;
mod words;

use std::net::TcpListener;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use seine::config::{Answers, ElasticConfig, Removed, Unchanged, Upkeep};
use seine::shutdown::Shutdown;
use seine::sinks::SinkContext;
use seine::sinks::dead_letters;
use seine::sinks::elasticsearch::ElasticSink;
use seine_delivery::{Deriver, Entry, Offset};
use seine_parse::page::preferences::{Says, Scheme, Source, Statement, Usage};
use seine_parse::page::{DuplicateOf, Likeness, PageChange, PageEvent, Relevance, TextChange};
use seine_parse::{DeriveOptions, PageText, derive};
use tempfile::TempDir;

use event::{FETCHED, response};

/// The default without a configuration.
const UPKEEP: Upkeep = Upkeep {
    unchanged: Unchanged::Touch,
    removed: Removed::Delete,
    min_change: 0,
    skip_duplicates: false,
    answers: Answers::None,
};
/// Longer than any wait of a passing test.
const LONG: Duration = Duration::from_secs(120);

fn page(url: &str, content_type: &str, body: impl Into<Bytes>) -> PageEvent {
    let page = event::page(url, &[("server", "test/1.0"), ("content-type", content_type)], body);
    PageEvent { relevance: Relevance::by_type(content_type.contains("html")), ..page }
}

/// An HTML page, number `n` of site `http://a.example/`.
fn numbered(n: usize) -> PageEvent {
    let body =
        format!("<html lang=en><title>Page {n}</title><body><h1>Heading {n}</h1><p>Text of page number {n}.</p>");
    page(&format!("http://a.example/{n}"), "text/html; charset=utf-8", body)
}

fn at(mut event: PageEvent, fetched: u64) -> PageEvent {
    event.ended_ms = fetched;
    event
}

/// An event whose document has every field.
fn changed(event: PageEvent) -> PageEvent {
    let text = TextChange { distances: [(0, 3)].into(), ..TextChange::default() };
    let of = DuplicateOf { url: "http://a.example/first".into(), distance: 2, text: Some(7), ..DuplicateOf::default() };
    let likeness = Some(Likeness::new(None, Some(of), 3));
    let (says, terms) = (Says::one(Usage::Tdm, false), Some("http://a.example/policy".into()));
    let preferences = Some(vec![Statement { scheme: Scheme::Tdmrep, source: Source::TdmFile, line: 2, says, terms }]);
    PageEvent { change: Some(PageChange::Changed), text: Some(text), likeness, preferences, ..event }
}

fn options() -> DeriveOptions {
    DeriveOptions {
        max_decoded_bytes: 10 << 20,
        obey_nofollow: true,
        agent: "Seine".into(),
        ..DeriveOptions::default()
    }
}

fn text(event: &PageEvent) -> PageText {
    Arc::new(derive(event, &options())).into()
}

/// Events as they come out of the log, from its beginning.
fn entries(events: impl IntoIterator<Item = PageEvent>) -> Vec<Arc<Entry>> {
    let (numbered, deriver) = ((1..).zip(events), Deriver::new(options()));
    numbered
        .map(|(index, event)| Arc::new(Entry::new(Offset { index, offset: index * 100 }, Arc::new(event), &deriver)))
        .collect()
}

fn config(hosts: &[&str], index: &str) -> ElasticConfig {
    ElasticConfig {
        hosts: hosts.iter().map(|host| host.parse().expect("a URL")).collect(),
        index: index.into(),
        username: None,
        password: None,
        api_key: None,
        ca_file: None,
        connect_timeout: Duration::from_secs(5),
        socket_timeout: Duration::from_secs(30),
        max_retry: LONG,
        bulk_bytes: 5 << 20,
        bulk_documents: 500,
        flush_interval: Duration::from_secs(1),
        index_template: true,
    }
}

/// A sink with its own folder.
struct Opened {
    sink: ElasticSink,
    folder: TempDir,
}

impl Deref for Opened {
    type Target = ElasticSink;

    fn deref(&self) -> &ElasticSink {
        &self.sink
    }
}

impl DerefMut for Opened {
    fn deref_mut(&mut self) -> &mut ElasticSink {
        &mut self.sink
    }
}

impl Opened {
    /// URL and reason of each dead letter on disk.
    fn dead(&self) -> Vec<(String, String)> {
        let mut dead = Vec::new();
        for path in dead_letters::files(self.folder.path()).expect("a folder that can be listed") {
            dead_letters::for_each(&path, &mut |note, reader| {
                assert_eq!(reader.event()?.id, note.id);
                dead.push((note.url, note.reason));
                Ok(())
            })
            .expect("letters that can be read");
        }
        dead
    }
}

fn open(config: &ElasticConfig) -> Opened {
    open_until(config, Shutdown::default())
}

fn open_until(config: &ElasticConfig, shutdown: Shutdown) -> Opened {
    let folder = tempfile::tempdir().expect("a folder");
    let context = SinkContext { shutdown, ..SinkContext::new(folder.path()) };
    let sink = ElasticSink::open(config, UPKEEP, &context).expect("the configuration is right");
    Opened { sink, folder }
}

/// A URL where nothing listens.
fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("its address"))
}
