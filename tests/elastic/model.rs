//! Compares the simulation's model of Elasticsearch (`tests/simulate/destinations/elastic_model`) with the real server.
//! The same random and hand-written requests must get the same answers and leave the same contents.

#[path = "../simulate/destinations/elastic_model/mod.rs"]
pub mod elastic_model;

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Map, Value, json};

use self::elastic_model::Server;
use crate::node::Node;

/// The version that the other tests use, with the usual settings.
const VERSION: &str = "8.19.21";
const SEQUENCES: u64 = 9;
const REQUESTS: usize = 40;
const IDS: [&str; 5] = ["http://a.example/", "http://a.example/b", "c", "d", "e"];
const NAMES: [&str; 3] = ["one", "two", "pages"];

/// The real server and the model.
struct Both {
    node: Node,
    model: Server,
    started: Instant,
    /// Prefix of each name, so that every sequence begins with an empty server.
    prefix: String,
    said: Vec<String>,
    /// The first difference of each sequence; later ones mean nothing.
    differences: Vec<String>,
    differ: bool,
}

impl Both {
    /// Sends a request to both, and compares the answers.
    fn ask(&mut self, method: &str, path: &str, body: &str) {
        if self.differ {
            return;
        }
        let path = path.replace('@', &self.prefix);
        let body = body.replace('@', &self.prefix);
        let line = format!("{method} {path} {}", body.trim());
        let now_ms = self.started.elapsed().as_millis() as u64;
        let reply = self.model.answer(method, &path, body.as_bytes(), now_ms);
        let (status, text) = self.node.ask_text(method.parse().expect("a method"), &path, &body);
        let real: Value = serde_json::from_str(&text).unwrap_or_default();
        self.said.push(line);
        let (real, model) = (essence(&path, status, &real), essence(&path, reply.status, &reply.body));
        if real != model {
            let last = self.said.split_off(self.said.len().saturating_sub(6)).join("\n");
            self.differ = true;
            self.differences.push(format!("{last}\n  the server: {real}\n  the model:  {model}\n  in full: {text}"));
        }
    }

    fn begin(&mut self, prefix: String) {
        self.node.ask(Method::DELETE, &format!("/{}*", self.prefix), None);
        self.prefix = prefix;
        self.model = Server::new(1);
        self.said.clear();
        self.differ = false;
    }

    /// Compares the contents of every index.
    fn compare_contents(&mut self) {
        for name in NAMES {
            self.ask("POST", &format!("/@{name}/_refresh"), "");
            self.ask("GET", &format!("/@{name}/_count"), "");
            self.ask("GET", &format!("/@{name}/_mapping"), "");
            for id in IDS {
                let id = percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC);
                self.ask("GET", &format!("/@{name}/_doc/{id}"), "");
            }
        }
    }
}

/// The relevant part of an answer: without times, names of nodes and shards, UUIDs, and wording of reasons.
fn essence(path: &str, status: u16, body: &Value) -> Value {
    if let Some(kind) = body["error"]["type"].as_str() {
        return json!({ "status": status, "error": kind });
    }
    let item = |item: &Value| {
        let mut kept = Map::new();
        for name in ["_index", "_id", "_version", "_seq_no", "_primary_term", "result", "status", "found", "_source"] {
            if let Some(value) = item.get(name) {
                kept.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(kind) = item["error"]["type"].as_str() {
            // The answer may name the alias that was written to, or the index behind it.
            kept.remove("_index");
            kept.insert("error".into(), json!(kind));
        }
        Value::Object(kept)
    };
    let path = path.split('?').next().unwrap_or_default();
    let said = if let Some(items) = body["items"].as_array() {
        let verdict = |it: &Value| -> Map<String, Value> {
            it.as_object().into_iter().flatten().map(|(name, it)| (name.clone(), item(it))).collect()
        };
        json!({ "errors": body["errors"], "items": items.iter().map(verdict).collect::<Vec<_>>() })
    } else if let Some(docs) = body["docs"].as_array() {
        docs.iter().map(item).collect()
    } else if path.contains("/_doc/") {
        item(body)
    } else if path.ends_with("/_count") {
        body["count"].clone()
    } else if path.ends_with("/_mapping") || path.ends_with("/_alias") {
        body.clone()
    } else if path.contains("/_settings/") {
        let settings = body.as_object().into_iter().flatten();
        let names = settings.map(|(name, it)| {
            let gc = it["settings"]["index.gc_deletes"].clone();
            (name.clone(), json!({ "gc": gc, "has_uuid": it["settings"]["index.uuid"].is_string() }))
        });
        names.collect::<Map<_, _>>().into()
    } else {
        Value::Null
    };
    json!({ "status": status, "said": said })
}

/// A document with fields of several types, which a guessed mapping may reject.
fn document(random: &mut fastrand::Rng, id: &str) -> Value {
    let mut document =
        json!({ "url": id, "retrieved": "2026-11-23T21:44:00.000Z", "digest": random.u32(..3).to_string() });
    match random.u32(..14) {
        0 => document["status"] = json!(200),
        1 => document["status"] = json!("two hundred"),
        2 => document["published"] = json!("2026-01-01"),
        3 => document["published"] = json!("yesterday"),
        4 => document["headers"] = json!({ "server": ["a", "b"], "x.y": "1" }),
        5 => document["headers"] = json!("none"),
        6 => document["relevance"] = json!(0.5),
        7 => document["words"] = json!(["a", "b"]),
        8 => document["words"] = json!([]),
        9 => document["title"] = Value::Null,
        10 => document["flag"] = json!(true),
        11 => document["flag"] = json!("perhaps"),
        _ => {}
    }
    document
}

fn bulk(random: &mut fastrand::Rng) -> String {
    let mut body = String::new();
    for _ in 0..random.usize(1..6) {
        let id = IDS[random.usize(..IDS.len())];
        let mut meta = json!({ "_id": id });
        let action = match random.u32(..10) {
            0..5 => "index",
            5..8 => "delete",
            _ => "update",
        };
        match random.u32(..8) {
            0..5 if action != "update" => {
                meta["version"] = json!(random.u32(1..9));
                meta["version_type"] = json!("external");
            }
            5 if action != "update" => {
                meta["version"] = json!(random.u32(1..9));
                meta["version_type"] = json!("external_gte");
            }
            6 => {
                meta["if_seq_no"] = json!(random.u32(..8));
                meta["if_primary_term"] = json!(1);
            }
            _ => {}
        }
        body += &format!("{}\n", json!({ action: meta }));
        match action {
            "index" => body += &format!("{}\n", document(random, id)),
            "update" => {
                body += &format!(
                    "{}\n",
                    json!({ "doc": { "retrieved": "2026-11-24T00:00:00.000Z", "n": random.u32(..2) } })
                )
            }
            _ => {}
        }
    }
    body
}

fn request(random: &mut fastrand::Rng) -> (&'static str, String, String) {
    let name = NAMES[random.usize(..NAMES.len())];
    let fields = json!({ "url": { "type": "keyword" }, "retrieved": { "type": "date" }, "status": { "type": "short" },
        "headers": { "type": "flattened" } });
    let block = json!({ "index.blocks.write": random.bool() }).to_string();
    match random.u32(..40) {
        0 => ("PUT", format!("/@{name}"), "{}".into()),
        1 => {
            let body = json!({ "settings": { "index": { "gc_deletes": "7d" } }, "mappings": { "properties": fields } });
            ("PUT", format!("/@{name}"), body.to_string())
        }
        2 => ("DELETE", format!("/@{name}"), String::new()),
        3 => ("PUT", format!("/@{name}/_mapping"), json!({ "properties": fields }).to_string()),
        4 => ("PUT", format!("/@{name}/_settings"), block),
        5 => {
            let add = json!({ "index": format!("@{name}"), "alias": "@pages", "is_write_index": random.bool() });
            ("POST", "/_aliases".into(), json!({ "actions": [{ "add": add }] }).to_string())
        }
        6 => {
            let remove = json!({ "index": format!("@{name}"), "alias": "@pages" });
            ("POST", "/_aliases".into(), json!({ "actions": [{ "remove": remove }] }).to_string())
        }
        7 => ("GET", format!("/@{name}/_settings/index.gc_deletes,index.uuid?flat_settings=true"), String::new()),
        8 => ("GET", format!("/@{name}/_alias"), String::new()),
        9..12 => {
            let path = format!("/@{name}/_mget?_source_includes=url,retrieved");
            ("POST", path, json!({ "ids": IDS }).to_string())
        }
        12 => ("GET", format!("/@{name}/_mapping"), String::new()),
        _ => ("POST", format!("/@{name}/_bulk"), bulk(random)),
    }
}

#[test]
fn the_model_answers_as_elasticsearch_does() {
    let node = Node::start_with("elasticsearch", VERSION, &[]);
    let mut both = Both {
        node,
        model: Server::new(1),
        started: Instant::now(),
        prefix: "m0-".into(),
        said: Vec::new(),
        differences: Vec::new(),
        differ: false,
    };
    for seed in 0..SEQUENCES {
        both.begin(format!("m{seed}-"));
        let mut random = fastrand::Rng::with_seed(seed);
        // In some sequences the index is mapped first, in some the mapping is guessed, and in some a template sets it.
        if seed % 3 == 0 {
            both.ask(
                "PUT",
                "/@one",
                &json!({ "mappings": { "properties": { "url": { "type": "keyword" } } } }).to_string(),
            );
        }
        if seed % 3 == 1 {
            let template = json!({ "mappings": { "properties": { "url": { "type": "keyword" } } }, "settings": { "index": { "gc_deletes": "7d" } } });
            let body = json!({ "index_patterns": [format!("m{seed}-two")], "priority": 500, "template": template });
            both.ask("PUT", "/_index_template/seine-@two", &body.to_string());
        }
        for _ in 0..REQUESTS {
            let (method, path, body) = request(&mut random);
            both.ask(method, &path, &body);
        }
        both.compare_contents();
    }
    deletions_are_forgotten(&mut both);
    let differences = &both.differences;
    assert!(differences.is_empty(), "{} sequences differ\n\n{}", differences.len(), differences.join("\n\n"));
}

/// A document older than a deletion is rejected while the deletion is remembered.
fn deletions_are_forgotten(both: &mut Both) {
    both.begin("gc-".into());
    both.ask("PUT", "/@one", &json!({ "settings": { "index": { "gc_deletes": "1s" } } }).to_string());
    let line = |action: &str, version: u32| {
        let meta = json!({ action: { "_id": "a", "version": version, "version_type": "external" } });
        if action == "delete" { format!("{meta}\n") } else { format!("{meta}\n{{\"url\":\"a\"}}\n") }
    };
    both.ask("POST", "/@one/_bulk", &line("index", 5));
    both.ask("POST", "/@one/_bulk", &line("delete", 7));
    both.ask("POST", "/@one/_bulk", &line("index", 6));
    // The elapsed time is under test.
    std::thread::sleep(Duration::from_millis(2500));
    both.ask("POST", "/@one/_bulk", &line("index", 6));
    both.ask("GET", "/@one/_doc/a", "");
}
