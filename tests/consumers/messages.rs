//! Kafka messages: values against the schemas, keys and headers against docs/consuming.md.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::Value;

use crate::broker::{BROKER, Seen};
use crate::schemas::assert_valid;
use crate::site::{self, Expected};
use crate::support::Running;
use crate::support::program::run;
use crate::text_of_file;

/// A topic after a crawl of the site.
pub struct Topic {
    pub name: &'static str,
    pub origin: String,
    pub messages: Vec<Seen>,
}

pub static SITE: LazyLock<Running> = LazyLock::new(site::start);
pub static JSON: LazyLock<Topic> = LazyLock::new(|| crawled("pages-json", "JSON"));
pub static CDR31: LazyLock<Topic> = LazyLock::new(|| crawled("pages-cdr", "CDR31"));
pub static ELASTIC: LazyLock<Topic> = LazyLock::new(|| crawled("pages-elastic", "ELASTIC"));

fn crawled(name: &'static str, format: &str) -> Topic {
    BROKER.make_topic(name, &[]);
    site::crawl(&SITE, &settings(name, format));
    Topic { name, origin: SITE.origin(0), messages: BROKER.read(name) }
}

fn settings(topic: &str, format: &str) -> String {
    format!(
        "target_storage.data_formats: [KAFKA]\n\
         target_storage.data_format.kafka.topic_name: {topic}\n\
         target_storage.data_format.kafka.format: {format}\n\
         target_storage.data_format.kafka.properties.bootstrap.servers: '{}'\n\
         target_storage.data_format.kafka.team: {}\n",
        BROKER.plain,
        if format == "CDR31" { "NYU" } else { "null" },
    )
}

impl Topic {
    pub fn values(&self) -> Vec<Value> {
        self.messages.iter().map(|it| serde_json::from_slice(&it.value).expect("JSON")).collect()
    }

    /// URL requested → the message; each page occurs once.
    fn by_url(&self) -> BTreeMap<String, &Seen> {
        let by_url: BTreeMap<_, _> = self.messages.iter().map(|it| (url_of(&it.key), it)).collect();
        assert_eq!(by_url.len(), self.messages.len());
        by_url
    }

    #[track_caller]
    fn check(&self, schema: &str, name_of_schema: &str, is_held: impl Fn(&Expected) -> bool) {
        assert_valid(schema, &self.values());
        let expected = site::expected().into_iter().filter(|(_, page)| is_held(page));
        let expected: BTreeSet<String> = expected.map(|(path, _)| format!("{}{path}", self.origin)).collect();
        assert_eq!(self.by_url().into_keys().collect::<BTreeSet<_>>(), expected);
        // On this site no page is gone, and none was fetched twice.
        let mut documented = headers_documented();
        assert!(documented.remove("reason") && documented.remove("distance"));
        // No page classifier was used.
        assert!(["relevance", "is_relevant", "relevance_model"].iter().all(|header| documented.remove(*header)));
        // There is no wall.
        assert!(documented.remove("wall") && documented.remove("wall_evidence"));
        // The publisher makes no statements.
        assert!(documented.remove("preferences"));
        for message in &self.messages {
            assert_eq!(message.headers.keys().cloned().collect::<BTreeSet<_>>(), documented);
            assert_eq!(message.headers["schema"], name_of_schema);
            assert_eq!(message.headers["status"], "200");
            assert!(message.id().len() == 32 && message.id().bytes().all(|it| it.is_ascii_hexdigit()));
        }
    }
}

/// The key, form-decoded.
fn url_of(key: &str) -> String {
    let pair = format!("url={key}");
    url::form_urlencoded::parse(pair.as_bytes()).next().expect("a pair").1.into_owned()
}

/// The first column of the table in docs/consuming.md.
fn headers_documented() -> BTreeSet<String> {
    let page = text_of_file("docs/consuming.md");
    let section = page.split("## Key and headers").nth(1).expect("the section is there").split("\n## ").next().unwrap();
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn json_messages_are_files_records() {
    JSON.check("files-record", "files", |_| true);
    for (key, message) in JSON.by_url() {
        let value: Value = serde_json::from_slice(&message.value).unwrap();
        let page = &site::expected()[key.strip_prefix(&JSON.origin).unwrap()];
        assert_eq!(value["url"], key);
        assert_eq!(value["content_type"].as_str().unwrap_or_default(), page.content_type);
        assert_eq!(seine_formats::base64::decode(value["content"].as_str().unwrap()).unwrap(), page.body);
        let redirected = key.ends_with("/moved").then(|| format!("{}/packed", JSON.origin));
        assert_eq!(value["redirected_url"].as_str(), redirected.as_deref());
    }
}

#[test]
fn cdr_messages_are_cdr_documents() {
    CDR31.check("cdr31", "cdr-3.1", Expected::is_html);
    assert!(CDR31.values().iter().all(|it| it["team"] == "NYU"));
}

#[test]
fn elastic_messages_are_documents_of_the_index() {
    ELASTIC.check("elastic-document", "elastic", |_| true);
    for (message, value) in ELASTIC.messages.iter().zip(ELASTIC.values()) {
        assert_eq!(value["eventId"], message.id());
        let page = &site::expected()[value["url"].as_str().unwrap().strip_prefix(&ELASTIC.origin).unwrap()];
        assert_eq!(value["language"].as_str(), page.language);
        assert_eq!(value["html"].as_str(), page.text.filter(|_| page.is_html()));
    }
}

#[test]
fn dead_letters_are_as_their_schema_says() {
    BROKER.make_topic("small", &[("max.message.bytes", "300")]);
    let place = site::crawl_until(5, &SITE, &settings("small", "JSON"));
    let data = place.data();
    let letters = |action: &[&str]| {
        let mut arguments = vec!["dead-letters"];
        arguments.extend(action);
        arguments.extend(["--sink", "kafka", "-o", data.to_str().unwrap()]);
        run(&arguments).ok().json_lines()
    };
    let listed = letters(&["list", "--json"]);
    let shown = letters(&["show", "--all"]);
    assert_eq!((listed.len(), shown.len()), (site::expected().len(), site::expected().len()));
    assert_valid("dead-letter", &listed);
    assert_valid("dead-letter", &shown);
    assert!(
        shown.iter().any(|it| it["content"].is_string()) && shown.iter().any(|it| it["content_base64"].is_string())
    );
}
