//! Finds the message of one page. The sink's notes narrow it down to a few hundred offsets.

use std::path::Path;
use std::time::Duration;

use rdkafka::message::Message;

use super::audit::event_id;
use super::librdkafka::client_config;
use super::reader::TopicReader;
use crate::config::KafkaConfig;
use crate::sinks::location_notes::{RecordedLocation, Span};
use crate::sinks::page_location::{LocationUnknown, PageLocation, SoughtPage, recorded_span};

/// The last message of the page there, or the message of the event if its id is known.
pub(in crate::sinks) fn find(
    config: &KafkaConfig,
    folder: &Path,
    page: &SoughtPage,
    patience: Duration,
) -> Result<PageLocation, LocationUnknown> {
    let Span { location: RecordedLocation::Offsets(offsets), .. } = recorded_span(folder, page)? else {
        return Err(LocationUnknown("the sink's notes are of another destination".to_owned()));
    };
    let failed = |error: &dyn std::fmt::Display| LocationUnknown(format!("the topic cannot be read: {error}"));
    let reader = TopicReader::open(&mut client_config(config), "seine-why", &config.topic);
    let mut reader = reader.map_err(|error| failed(&error))?.with_patience(patience);
    let bounds = reader.partitions().map_err(|error| failed(&error))?;
    let bounds = bounds.ok_or_else(|| LocationUnknown(format!("the broker shows no topic {}", config.topic)))?;
    let within = |(partition, (first, last)): (&i32, &(i64, i64))| {
        let known = bounds.get(partition)?;
        Some((*partition, (*first).max(known.start)..(*last + 1).min(known.end)))
    };
    let gone = || {
        let places = offsets.iter().map(|(partition, (first, last))| format!("{partition}: {first} to {last}"));
        let places = places.collect::<Vec<_>>().join(", ");
        LocationUnknown(format!(
            "the topic has removed its message (retention, compaction); it went to offsets {places}"
        ))
    };
    let key: String = url::form_urlencoded::byte_serialize(page.url.as_bytes()).collect();
    let mut found = None;
    let read = reader.read(offsets.iter().filter_map(within).collect(), |message| {
        let is_its = message.key() == Some(key.as_bytes())
            && page.event_id.as_deref().is_none_or(|id| event_id(message) == Some(id));
        if is_its {
            let (partition, offset) = (message.partition(), message.offset());
            found = Some(PageLocation::Message { topic: config.topic.clone(), partition, offset });
        }
    });
    read.map_err(|error| failed(&error))?;
    found.ok_or_else(gone)
}
