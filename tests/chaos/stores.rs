//! Real Kafka and Elasticsearch behind proxies. They fail on command, and their content is read at the end.

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use crate::broker::{Broker, Seen};
use crate::node::Node;
use crate::proxy::{Mood, Proxy, broker_settings, free_ports};

pub const TOPIC: &str = "pages";
pub const INDEX: &str = "pages";

/// A failure of a server. The first five are failures of its network, the others are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    Refused,
    Stalled,
    Reset,
    /// Each connection breaks after so many bytes.
    Cut,
    /// Requests arrive, but answers do not.
    Unheard,
    /// SIGSTOP.
    Stopped,
    /// SIGKILL, and started again in the end.
    Killed,
    /// Elasticsearch's own protection of a disk that runs full.
    ReadOnly,
}

impl Trouble {
    fn mood(self) -> Option<Mood> {
        match self {
            Trouble::Refused => Some(Mood::Refuse),
            Trouble::Stalled => Some(Mood::Stall),
            Trouble::Reset => Some(Mood::Reset),
            Trouble::Cut => Some(Mood::CutAfter(10_000)),
            Trouble::Unheard => Some(Mood::LoseAnswers),
            Trouble::Stopped | Trouble::Killed | Trouble::ReadOnly => None,
        }
    }
}

/// One message or document: its event, where the destination keeps it.
pub struct Held {
    pub id: String,
    pub url: String,
    pub content: String,
}

pub struct Kafka {
    pub proxy: Proxy,
    folder: PathBuf,
    /// None while it is killed.
    broker: Option<Broker>,
}

impl Kafka {
    pub fn start() -> Kafka {
        let [proxy, proxied] = free_ports();
        let broker =
            Broker::start(tempfile::tempdir().expect("a temporary folder").keep(), &broker_settings(proxy, proxied));
        broker.make_topic(TOPIC, &[("max.message.bytes", "20000000")]);
        let local = |port: u16| ([127, 0, 0, 1], port).into();
        let proxy = Proxy::start(local(proxy), local(proxied));
        Kafka { proxy, folder: broker.folder.clone(), broker: Some(broker) }
    }

    /// Lines of the crawl's configuration.
    pub fn settings(&self) -> String {
        let kafka = "target_storage.data_format.kafka";
        format!(
            "{kafka}.topic_name: {TOPIC}\n\
             {kafka}.stuck_after: 3s\n\
             {kafka}.properties.bootstrap.servers: '{}'\n\
             {kafka}.properties.request.timeout.ms: 3000\n\
             {kafka}.properties.socket.connection.setup.timeout.ms: 2000\n\
             {kafka}.properties.reconnect.backoff.ms: 50\n\
             {kafka}.properties.reconnect.backoff.max.ms: 500\n\
             {kafka}.properties.retry.backoff.ms: 50\n",
            self.proxy.address
        )
    }

    pub fn begin(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Stopped => self.broker().signal("-STOP"),
            Trouble::Killed => self.folder = self.broker.take().expect("it runs").kill(),
            other => self.proxy.set(other.mood().expect("the network's trouble")),
        }
    }

    pub fn end(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Stopped => self.broker().signal("-CONT"),
            Trouble::Killed => self.broker = Some(Broker::start(self.folder.clone(), &[])),
            _ => self.proxy.set(Mood::Pass),
        }
    }

    pub fn broker(&self) -> &Broker {
        self.broker.as_ref().expect("it runs")
    }

    /// Every message of the topic, in the order of their offsets.
    pub fn messages(&self) -> Vec<Seen> {
        self.broker().read(TOPIC)
    }

    pub fn held(&self) -> Vec<Held> {
        let messages = self.messages();
        let held = |message: &Seen| {
            let page = seine_formats::files::parse_line(&message.value).expect("a FILES object");
            let content = String::from_utf8(page.content.to_vec()).expect("the web's pages are text");
            Held { id: message.id().to_owned(), url: page.url.into_owned(), content }
        };
        messages.iter().map(held).collect()
    }
}

pub struct Elastic {
    pub proxy: Proxy,
    pub node: Node,
}

impl Elastic {
    pub fn start() -> Elastic {
        // After each look at its disk the node would lift the block that we have put on an index.
        const SETTINGS: [&str; 1] = ["cluster.info.update.interval: 1h"];
        let node = Node::start_with("elasticsearch", "8.19.21", &SETTINGS);
        let server = node.url.trim_start_matches("http://").parse().expect("the node's address");
        let [port] = free_ports();
        Elastic { proxy: Proxy::start(([127, 0, 0, 1], port).into(), server), node }
    }

    /// Lines of the crawl's configuration.
    pub fn settings(&self) -> String {
        let elastic = "target_storage.data_format.elasticsearch";
        format!(
            "{elastic}.rest.hosts: ['http://{}']\n\
             {elastic}.rest.connect_timeout: 2s\n\
             {elastic}.rest.socket_timeout: 5s\n\
             {elastic}.index_name: {INDEX}\n\
             {elastic}.flush_interval: 300ms\n",
            self.proxy.address
        )
    }

    pub fn begin(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Stopped => self.node.signal("STOP"),
            Trouble::Killed => self.node.signal("KILL"),
            Trouble::ReadOnly => self.set_block(json!(true)),
            other => self.proxy.set(other.mood().expect("the network's trouble")),
        }
    }

    pub fn end(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Stopped => self.node.signal("CONT"),
            Trouble::Killed => self.node.start_again(),
            Trouble::ReadOnly => self.set_block(Value::Null),
            _ => self.proxy.set(Mood::Pass),
        }
    }

    fn set_block(&self, set: Value) {
        self.node.put(&format!("/{INDEX}/_settings"), &json!({ "index.blocks.read_only_allow_delete": set }));
    }

    pub fn has_index(&self) -> bool {
        self.node.ask(Method::GET, &format!("/{INDEX}"), None).0 == 200
    }

    /// Every document; their `_id` is their URL.
    pub fn held(&self) -> Vec<Held> {
        self.node.ask(Method::POST, &format!("/{INDEX}/_refresh"), None);
        let mut held = Vec::new();
        let search = json!({ "size": 500, "_source": ["url", "html", "eventId"], "sort": ["_doc"] });
        let (_, mut answer) = self.node.ask(Method::POST, &format!("/{INDEX}/_search?scroll=2m"), Some(&search));
        loop {
            let hits = answer["hits"]["hits"].as_array().unwrap_or_else(|| panic!("no hits: {answer}")).clone();
            if hits.is_empty() {
                return held;
            }
            for hit in hits {
                let text = |name: &str| hit["_source"][name].as_str().unwrap_or_default().to_owned();
                assert_eq!(hit["_id"], text("url"));
                held.push(Held { id: text("eventId"), url: text("url"), content: text("html") });
            }
            let next = json!({ "scroll": "2m", "scroll_id": answer["_scroll_id"] });
            answer = self.node.ask(Method::POST, "/_search/scroll", Some(&next)).1;
        }
    }
}
