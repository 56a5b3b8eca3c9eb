//! The consumers in docs/consumers and the commands in docs/consuming.md, run against a real topic.

use std::collections::BTreeMap;
use std::process::Command;

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{Value, json};

use crate::broker::{BROKER, Seen};
use crate::messages::{CDR31, ELASTIC, JSON, Topic};
use crate::site::{self, Expected};
use crate::support::program::json_lines;
use crate::{LONG, installed, project_file, text_of_file};

/// Sends messages again, as Seine does if it did not receive the acknowledgement.
fn send_again(topic: &str, messages: &[Seen]) {
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", &BROKER.plain).create().unwrap();
    for message in messages {
        let headers = message
            .headers
            .iter()
            .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
        let mut record = BaseRecord::to(topic).key(&message.key).headers(headers);
        record.payload = (!message.is_tombstone).then_some(&message.value);
        producer.send(record).unwrap();
    }
    producer.flush(LONG).unwrap();
}

/// A topic with a crawl's messages, some of them twice. One page was fetched once more, unchanged, as another event.
/// Two pages are gone: one by a tombstone, one by a change event.
fn with_duplicates(name: &str, topic: &Topic) {
    BROKER.make_topic(name, &[]);
    send_again(name, &topic.messages);
    send_again(name, &topic.messages[..4]);
    send_again(name, &[fetched_again(topic)]);
    send_again(name, &gone(topic));
    assert_eq!(BROKER.read(name).len(), topic.messages.len() + 7);
}

fn gone(topic: &Topic) -> [Seen; 2] {
    let gone = |number: usize, id: char, is_tombstone| {
        let mut message = Seen { is_tombstone, value: b"{}".to_vec(), ..topic.messages[number].clone() };
        let schema = if is_tombstone { message.headers["schema"].clone() } else { "change".into() };
        let id: String = std::iter::repeat_n(id, 32).collect();
        let told =
            [("event_id", &*id), ("schema", &schema), ("status", "404"), ("change", "gone"), ("reason", "http_404")];
        message.headers = told.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        message
    };
    [gone(0, 'd', true), gone(1, 'e', false)]
}

fn fetched_again(topic: &Topic) -> Seen {
    let mut message = topic.messages[0].clone();
    message.headers.insert("event_id".into(), "f".repeat(32));
    message
}

fn lines_of(mut command: Command) -> Vec<Value> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    json_lines(std::str::from_utf8(&output.stdout).expect("UTF-8"))
}

fn python() -> Command {
    let mut command = Command::new(installed("scripts/services/python", "install"));
    command.arg(project_file("docs/consumers/pages.py"));
    command
}

fn java() -> Command {
    let needed = Command::new(project_file("scripts/need")).arg("javac").status().unwrap();
    assert!(needed.success(), "see above");
    let mut command = Command::new("java");
    command.args(["-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp"]);
    command.arg(format!("{}/*", installed("scripts/services/kafka", "jars")));
    command.arg(project_file("docs/consumers/Pages.java"));
    command
}

/// The expected output of a consumer for each message, by event id. `has_content`: the format has the body's bytes.
fn expected(topic: &Topic, has_content: bool) -> BTreeMap<String, Value> {
    let pages = site::expected();
    let line = |message: &Seen, value: Value| {
        let url = value["url"].as_str().unwrap().to_owned();
        let page: &Expected = &pages[url.strip_prefix(&topic.origin).unwrap()];
        let text = page.text.filter(|_| has_content || page.is_html());
        let line = json!({
            "event_id": message.id(),
            "url": url,
            "status": 200,
            "content_type": page.content_type,
            "bytes": has_content.then_some(page.body.len()),
            "characters": text.map(|text| text.chars().count()),
            "title": page.title,
        });
        (message.id().to_owned(), line)
    };
    let mut lines: BTreeMap<_, _> =
        topic.messages.iter().zip(topic.values()).map(|(message, value)| line(message, value)).collect();
    lines.extend([line(&fetched_again(topic), topic.values().remove(0))]);
    // For a page that is gone only the key is known: the URL requested (encoded in FILES). A document of CDR31 has the
    // final URL instead.
    for message in &gone(topic) {
        let url = match message.key.contains("://") {
            true => message.key.as_str().into(),
            false => percent_encoding::percent_decode_str(&message.key).decode_utf8_lossy(),
        };
        let line = json!({ "event_id": message.id(), "url": url, "gone": "http_404" });
        lines.insert(message.id().to_owned(), line);
    }
    lines
}

fn check(language: &str, program: impl Fn() -> Command) {
    for (topic, has_content) in [(&*JSON, true), (&*CDR31, false), (&*ELASTIC, false)] {
        let name = format!("{}-{language}", topic.name);
        with_duplicates(&name, topic);
        let read = || {
            let mut command = program();
            command.args([&BROKER.plain, &name, "readers", "--until-end"]);
            lines_of(command)
        };
        let lines = read();
        let by_id: BTreeMap<String, Value> =
            lines.iter().map(|line| (line["event_id"].as_str().unwrap().to_owned(), line.clone())).collect();
        assert_eq!(by_id, expected(topic, has_content), "{name}");
        assert_eq!(lines.len(), by_id.len(), "{name}: a page was printed twice");
        if has_content {
            assert_eq!(read(), Vec::<Value>::new(), "{name}: what was dealt with came again");
        }
    }
}

#[test]
fn the_python_consumer_prints_every_page_once() {
    check("python", python);
}

#[test]
fn the_java_consumer_prints_every_page_once() {
    check("java", java);
}

#[test]
fn the_lines_with_kcat_show_what_is_there() {
    let needed = Command::new(project_file("scripts/need")).args(["kcat", "jq"]).status().unwrap();
    assert!(needed.success(), "see above");
    let page = text_of_file("docs/consuming.md");
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("kcat ")).collect();
    let output = |line: &str| {
        let line = line.replace("localhost:9092", &BROKER.plain).replace("-t pages ", &format!("-t {} ", JSON.name));
        let output = Command::new("bash").args(["-o", "pipefail", "-c", &line]).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let [list, body] = lines[..] else { panic!("two lines with kcat, not {lines:?}") };
    let listed = String::from_utf8(output(list)).unwrap();
    assert_eq!(listed.lines().count(), JSON.messages.len());
    for message in &JSON.messages {
        let is_it = |line: &&str| line.contains(&message.key) && line.contains(&format!("event_id={}", message.id()));
        assert_eq!(listed.lines().filter(is_it).count(), 1, "{} in\n{listed}", message.key);
    }
    let body = output(body);
    assert!(site::expected().values().any(|page| page.body == body), "{}", String::from_utf8_lossy(&body));
}
