//! Files, folders, patterns and topics as inputs, in order.

use std::path::Path;

use seine::archive::detect::{Detected, by_content};
use seine::archive::inputs::{ArchiveInputs, FoundInput, InputOptions};

use crate::broker::Broker;
use crate::support::program::run;
use crate::{events, pages, transfer, write};

fn names(pattern: &str) -> Vec<String> {
    let source = ArchiveInputs::open(&[pattern.to_owned()], InputOptions::default()).unwrap();
    let name = |found| match found {
        FoundInput::Input(input) => Path::new(&*input.name).file_name().unwrap().to_str().unwrap().to_owned(),
        FoundInput::PassedOver { name, .. } => {
            format!("not {}", Path::new(&*name).file_name().unwrap().to_str().unwrap())
        }
    };
    source.map(|found| name(found.unwrap())).collect()
}

#[test]
fn folders_and_patterns_come_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let line = "{\"url\":\"http://a.example/\",\"content\":\"\"}\n";
    std::fs::create_dir(folder.path().join("m")).unwrap();
    for name in ["x-10", "x-9", "x-2.open", "a", "m/2", "m/10", "x-007", ".seine-convert.json", ".seine-convert.tmp"] {
        std::fs::write(folder.path().join(name), line).unwrap();
    }
    std::fs::write(folder.path().join("b"), "").unwrap();
    std::fs::write(folder.path().join("a.cdxj"), "an index of a").unwrap();
    std::fs::create_dir(folder.path().join("log")).unwrap();
    std::fs::write(folder.path().join("log/lock"), "").unwrap();
    std::fs::write(folder.path().join("log/00000001.log"), line).unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(names(path), ["a", "not b", "not log", "2", "10", "x-2.open", "x-007", "x-9", "x-10"]);
    assert_eq!(names(&format!("{path}/x-[0-9]*")), ["x-2.open", "x-007", "x-9", "x-10"]);
    assert_eq!(names(&format!("{path}/**/1?")), ["10"]);
}

#[test]
fn a_format_is_told_by_its_content() {
    let of = |text: &str| match by_content(text.as_bytes()) {
        Detected::Format(format) => Some(format),
        _ => None,
    };
    assert_eq!(of("{\"url\":\"http://a/\",\"redirected_url\":null,\"content\":\""), Some(crate::FILES));
    assert_eq!(of("\n {\"response_body\":\"a \\\" {\\\"_id\\\"\",\"url\":\"x\"}"), Some(crate::FILES));
    assert_eq!(of("{\"response_headers\":{\"_id\":[\"raw_content\"]},\"url\":\"x\"}"), Some(crate::FILES));
    assert_eq!(of("{\"_id\":\"x\",\"content_type\":null,\"crawler\":\"c\",\"objects\":[],\"raw"), Some(crate::CDR31));
    assert_eq!(of("{\"_index\":\"x\",\"_id\":\"1\",\"_source\":{\"url\":\"x\"}}"), Some(crate::ELASTIC));
    assert_eq!(of("{\"domain\":\"a\",\"url\":\"x\",\"title\":null"), Some(crate::ELASTIC));
    assert_eq!(of("{\"name\":\"package.json\",\"version\":\"1\"}"), None);
    assert_eq!(of("Version:1.0\nurl: http://a/\n"), Some(crate::TIANWANG));
    assert_eq!(of("versions: 1\n"), None);
    assert_eq!(of("\"{\"\"original_url\"\": \"\"x"), Some(crate::WEB_INDEX));
    assert_eq!(of("[1]"), None);
    assert_eq!(by_content(b""), Detected::Empty);
}

#[test]
fn a_topic_is_read_from_its_beginning_to_its_present_end() {
    let broker: &Broker = &crate::broker::BROKER;
    for format in ["JSON", "CDR31", "ELASTIC"] {
        let topic = format!("archive-{format}");
        broker.make_topic(&topic, &[]);
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("seine.yml");
        let yaml = format!(
            "target_storage.data_format.kafka.topic_name: {topic}\ntarget_storage.data_format.kafka.format: {format}\n\
             target_storage.data_format.kafka.properties.bootstrap.servers: '{}'\n",
            broker.plain
        );
        std::fs::write(&config, yaml).unwrap();
        let first = folder.path().join("first");
        let events: Vec<_> = (0..300).map(|n| events::page(n, format!("<p>{n}</p>"))).collect();
        write(crate::FILES, &events, &first);
        let (first, state) = (first.to_str().unwrap(), folder.path().join("state"));
        let arguments =
            ["replay", first, "--to", "kafka", "-c", config.to_str().unwrap(), "-o", state.to_str().unwrap()];
        run(&arguments).ok();
        let address = format!("kafka://{}/{topic}", broker.plain);
        let cat = run(&["cat", &address]).ok().json_lines();
        let mut urls: Vec<_> = cat.iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect();
        let mut wanted: Vec<_> = events.iter().map(|event| event.url.clone()).collect();
        urls.sort();
        wanted.sort();
        assert_eq!(urls, wanted, "{format}");
        let verified = run(&["verify", "--json", &address]).ok().json_lines();
        assert_eq!(verified.len(), 2, "one line a partition");
        let back = folder.path().join("back");
        run(&["convert", &address, back.to_str().unwrap(), "--to", "FILES"]).ok();
        assert_eq!(pages(&back).len(), 300);
    }
    run(&["cat", &format!("kafka://{}/no-such-topic", broker.plain)]).fails_naming(&["no-such-topic"]);
}

#[test]
fn an_archive_may_be_several_formats_at_once() {
    let folder = tempfile::tempdir().unwrap();
    write(crate::CDR31, &[events::page(1, "one")], &folder.path().join("from/a"));
    write(crate::FILES, &[events::page(2, "two")], &folder.path().join("from/b"));
    let to = folder.path().join("to");
    let summary = transfer(&folder.path().join("from"), &to, "FILES").run(&mut crate::Silent).unwrap();
    assert_eq!(summary.formats.into_iter().collect::<Vec<_>>(), [(crate::FILES, 1), (crate::CDR31, 1)]);
    assert_eq!(pages(&to).len(), 2);
}
