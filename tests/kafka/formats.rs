//! Every format except folders goes to a topic, and is read back from it.

use seine::archive::inputs::{ArchiveInputs, FoundInput, InputOptions};
use seine::archive::read::Pages;
use seine::sinks::Sink;
use seine_formats::Format;

use crate::broker::BROKER;
use crate::{finish, kafka_config, open, pages};

#[test]
fn every_format_of_records_goes_to_a_topic_and_says_what_it_is() {
    for format in Format::ALL.into_iter().filter(|format| *format != seine_formats::pagestore::FORMAT) {
        let topic = format!("as-{}", format.name.to_lowercase());
        BROKER.make_topic(&topic, &[]);
        let more = format!("target_storage.data_format.kafka.format: {format}\n");
        let folder = tempfile::tempdir().unwrap();
        let mut sink = open(&kafka_config(&BROKER.plain, &topic, &more), folder.path()).unwrap();
        let entries = pages(1..4, 300);
        sink.deliver(&entries).unwrap();
        let delivered = finish(&mut sink, entries[2].end.index).unwrap();
        assert_eq!((delivered.delivered, delivered.dead), (3, 0), "{format}");
        sink.close().unwrap();
        for message in BROKER.read(&topic) {
            assert_eq!(message.headers["schema"], format.schema, "{format}");
        }
        // A body alone has no URL.
        if format != seine_formats::filesystem::HTML {
            assert_eq!(read_back(&topic), urls(), "{format}");
        }
    }
}

fn urls() -> Vec<String> {
    let mut urls: Vec<String> = pages(1..4, 300).iter().map(|entry| entry.event.url.clone()).collect();
    urls.sort();
    urls
}

/// The URLs of a topic's pages, as `seine cat kafka://…` finds them.
fn read_back(topic: &str) -> Vec<String> {
    let address = format!("kafka://{}/{topic}", BROKER.plain);
    let source = ArchiveInputs::open(&[address], InputOptions::default()).unwrap();
    let mut urls = Vec::new();
    for found in source {
        let FoundInput::Input(input) = found.unwrap() else { continue };
        urls.extend(Pages::open(&input, 0, &Default::default()).unwrap().map(|page| page.unwrap().event.url));
    }
    urls.sort();
    urls
}
