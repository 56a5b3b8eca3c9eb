//! Handles the producer's delivery reports.

use std::sync::Arc;
use std::time::Instant;

use rdkafka::error::RDKafkaErrorCode;
use seine_delivery::Entry;

use super::KafkaSink;
use super::cluster::{OutgoingMessage, Report};
use super::in_flight::MessageState;
use super::message::{key_of, moved_headers};
use crate::config::Removed;
use crate::sinks::sink::SinkError;

impl KafkaSink {
    pub(super) fn take_in(&mut self, reports: Vec<Report>) -> Result<(), SinkError> {
        if reports.is_empty() {
            return Ok(());
        }
        self.last_sign = Instant::now();
        for report in reports {
            self.in_flight -= 1;
            self.note(report)?;
        }
        self.settle()
    }

    fn note(&mut self, Report { sequence, delivered }: Report) -> Result<(), SinkError> {
        use RDKafkaErrorCode::{
            InvalidDifferentRecord, InvalidMessageSize, InvalidRecord, InvalidTimestamp, MessageSizeTooLarge,
        };
        let code = match delivered {
            Ok(location) => {
                self.watch.moved();
                return self.arrived(sequence, location);
            }
            Err(code) => code,
        };
        if let Some(MessageState::Moving { .. }) = self.slots.state(sequence) {
            return Err(self.producer.failure(&self.config.topic, code));
        }
        match code {
            InvalidDifferentRecord => self.suspects.push(sequence),
            InvalidTimestamp if !self.untimed.contains(&sequence) => {
                if self.alone == Some(sequence) {
                    self.untimed.push(sequence);
                }
                self.suspects.push(sequence);
            }
            MessageSizeTooLarge | InvalidMessageSize | InvalidRecord if self.alone != Some(sequence) => {
                self.suspects.push(sequence);
            }
            InvalidRecord => {
                self.slots.set(sequence, |entry| MessageState::Dead(entry, format!("refused by the broker: {code}")))
            }
            MessageSizeTooLarge | InvalidMessageSize => {
                let limit = *self.limit.get_or_insert_with(|| self.producer.topic_limit(&self.config.topic));
                let limit = limit.map_or("the broker's limit".into(), |bytes| format!("{bytes}"));
                let reason = format!(
                    "{} bytes, even when compressed more than {limit} (the topic's max.message.bytes)",
                    self.value.len()
                );
                self.slots.set(sequence, |entry| MessageState::Dead(entry, reason));
            }
            code => return Err(self.producer.failure(&self.config.topic, code)),
        }
        Ok(())
    }

    /// A page's message was written, or a tombstone for a key that moved to another partition.
    fn arrived(&mut self, sequence: usize, location: Option<(i32, i64)>) -> Result<(), SinkError> {
        if let Some(location) = location {
            self.topic.acknowledge(&self.config.topic, &self.producer, location)?;
        }
        match self.slots.state(sequence) {
            Some(MessageState::Moving { location, tombstones, .. }) => {
                let (location, tombstones) = (*location, *tombstones - 1);
                self.slots.set(sequence, |entry| match tombstones {
                    0 => MessageState::Delivered(Some(location)),
                    tombstones => MessageState::Moving { entry, location, tombstones },
                });
                Ok(())
            }
            Some(MessageState::InFlight(entry)) if self.upkeep.removed == Removed::Tombstone => {
                let entry = entry.clone();
                self.clean_up_behind(&entry, sequence, location)
            }
            _ => {
                self.slots.set(sequence, |_| MessageState::Delivered(location));
                Ok(())
            }
        }
    }

    /// If the key has moved to another partition, sends tombstones to the partitions with older messages of the key.
    fn clean_up_behind(
        &mut self,
        entry: &Arc<Entry>,
        sequence: usize,
        location: Option<(i32, i64)>,
    ) -> Result<(), SinkError> {
        let key = key_of(entry);
        let former = match location {
            Some((partition, _)) => {
                self.topic.former(&self.config.topic, &self.producer, &self.shutdown, (&key, partition))?
            }
            None => Vec::new(),
        };
        let (Some(location), false) = (location, former.is_empty()) else {
            self.slots.set(sequence, |_| MessageState::Delivered(location));
            return Ok(());
        };
        for partition in &former {
            let message = OutgoingMessage {
                topic: &self.config.topic,
                key: &key,
                value: None,
                headers: moved_headers(entry),
                partition: Some(*partition),
                timestamp_ms: None,
                sequence,
            };
            // A full queue is an error as well: the sink is recreated and sends the page again.
            self.producer.link.send(message).map_err(|code| self.producer.failure(&self.config.topic, code))?;
            self.in_flight += 1;
        }
        self.slots.set(sequence, |entry| MessageState::Moving { entry, location, tombstones: former.len() });
        Ok(())
    }
}
