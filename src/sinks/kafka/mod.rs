//! The KAFKA sink: one message per page, many in flight.
//!
//! librdkafka resends each message until the broker has it. The sink's cursor advances in order over acknowledged
//! messages. A message waits until earlier messages with its key are settled. So a resent message cannot overtake a
//! newer one, and a tombstone always follows its page. An outage delays everything and loses nothing.
//!
//! A message becomes a dead letter only if the fault is in that message alone. Any other permanent failure is an error
//! of the sink, which is then recreated and starts from its cursor.

pub(super) mod audit;
mod client;
pub mod cluster;
mod in_flight;
mod librdkafka;
pub(super) mod location;
mod message;
pub(crate) mod reader;
mod reports;
mod topic;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::error::RDKafkaErrorCode;
use seine_delivery::Entry;
use seine_formats::change;
use seine_formats::encoder::Encoder;
use seine_parse::page::PageChange;
use seine_system::blocking::Idle;

use self::client::{Producer, trouble};
use self::cluster::OutgoingMessage;
use self::in_flight::{MessageState, Slots};
use self::message::{headers, key_hash, key_of};
use self::topic::{KnownTopic, TopicWatch};
use crate::config::{KafkaConfig, Removed, Upkeep};
use crate::judge::upkeep::{DeliveryAction, has_no_page};
use crate::shutdown::Shutdown;
use crate::sinks::dead_letters::DeadLetters;
use crate::sinks::location_notes::{LocationNotes, RecordedLocation};
use crate::sinks::sink::{Delivered, Sink, SinkContext, SinkError, empty};
use crate::sinks::watch::Watch;

/// Longest single wait for delivery reports.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// A simulation waits longer, but never longer than this: a part that is to end has 10 s.
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// `flush` returns after this long without a report.
const PATIENCE: Duration = Duration::from_secs(2);
/// After the broker answers, a producer has this long to recover: it waits up to 10 s before it reconnects.
const GRACE: Duration = Duration::from_secs(15);
/// Most entries kept between the first unsettled one and the last.
const MAX_SLOTS: usize = 200_000;

/// Writes every page that its format stores to one topic, and announces there which pages are gone.
pub struct KafkaSink {
    producer: Producer,
    topic: TopicWatch,
    config: KafkaConfig,
    upkeep: Upkeep,
    encoder: Box<dyn Encoder>,
    schema: &'static str,
    dead: DeadLetters,
    notes: LocationNotes,
    slots: Slots,
    /// Messages without a report.
    in_flight: usize,
    /// Messages rejected together with their batch. Each is sent once more, alone.
    suspects: Vec<usize>,
    /// The message being sent alone.
    alone: Option<usize>,
    /// Messages whose timestamp the broker rejected, since it is too old or too far ahead for the topic.
    untimed: Vec<usize>,
    /// When the producer last reported, or got its first message after it had none.
    last_sign: Instant,
    idle: Idle,
    /// The topic's size limit; looked up when a message was too large.
    limit: Option<Option<u64>>,
    value: Vec<u8>,
    so_far: Delivered,
    /// Stops all waiting at shutdown.
    shutdown: Shutdown,
    watch: Watch,
}

impl KafkaSink {
    /// Opens a sink that has delivered nothing yet.
    pub fn open(
        config: &KafkaConfig,
        upkeep: Upkeep,
        encoder: Box<dyn Encoder>,
        schema: &'static str,
        context: &SinkContext,
    ) -> Result<KafkaSink, SinkError> {
        KafkaSink::reopen(config, upkeep, encoder, schema, context, &serde_json::Value::Null)
    }

    /// Connects, and finds or creates the topic. `schema`: the schema name in the message headers. `state`: that of the
    /// last committed [`Delivered`]. At shutdown the sink takes no more entries.
    pub fn reopen(
        config: &KafkaConfig,
        upkeep: Upkeep,
        encoder: Box<dyn Encoder>,
        schema: &'static str,
        context: &SinkContext,
        state: &serde_json::Value,
    ) -> Result<KafkaSink, SinkError> {
        let known = KnownTopic::from_state(state);
        let producer = client::connect(config, known.has_messages(), &context.shutdown)?;
        Ok(KafkaSink {
            topic: TopicWatch::open(known, config, &producer, &context.shutdown)?,
            producer,
            dead: DeadLetters::open(&context.letters)?,
            notes: LocationNotes::new(context),
            config: config.clone(),
            upkeep,
            encoder,
            schema,
            slots: Slots::default(),
            in_flight: 0,
            suspects: Vec::new(),
            alone: None,
            untimed: Vec::new(),
            last_sign: Instant::now(),
            idle: Idle::new(POLL_EVERY),
            limit: None,
            value: Vec::new(),
            so_far: Delivered::default(),
            shutdown: context.shutdown.clone(),
            watch: context.watch.clone(),
        })
    }

    /// See [`crate::sinks::kept_state`].
    pub fn kept_state(state: &serde_json::Value) -> serde_json::Value {
        KnownTopic::kept_state(state)
    }

    /// Returns false if the entry was not taken because the process is shutting down.
    fn take(&mut self, entry: &Arc<Entry>) -> Result<bool, SinkError> {
        let key = key_hash(entry);
        while self.slots.len() >= MAX_SLOTS || self.slots.has_key(key) {
            if self.shutdown.is_hurrying() {
                return Ok(false);
            }
            if self.in_flight > 0 {
                self.wait()?;
            } else {
                self.send_suspects()?;
            }
        }
        let sent = match self.encode(entry) {
            true => self.send(entry, self.slots.sequence())?,
            false => Some(MessageState::Skipped),
        };
        let Some(state) = sent else { return Ok(false) };
        self.slots.push(entry.end, state);
        Ok(true)
    }

    /// Fills `self.value`; empty for a tombstone. Returns false if the entry needs no message.
    fn encode(&mut self, entry: &Entry) -> bool {
        empty(&mut self.value);
        match self.upkeep.due(&entry.event) {
            DeliveryAction::Tombstone => true,
            DeliveryAction::Event => {
                change::write(&entry.event, &mut self.value);
                true
            }
            // A compacted topic would keep this message instead of the page.
            DeliveryAction::Write if has_no_page(&entry.event) => false,
            DeliveryAction::Write => self.encoder.encode(entry, &mut self.value) || self.must_leave(entry),
            DeliveryAction::Touch | DeliveryAction::Skip | DeliveryAction::Delete => false,
        }
    }

    /// The page changed to something that the format does not store, so its last message is outdated.
    fn must_leave(&mut self, entry: &Entry) -> bool {
        empty(&mut self.value);
        let was_there = entry.event.change == Some(PageChange::Changed);
        was_there && self.upkeep.removed == Removed::Tombstone
    }

    /// Gives `self.value` to the producer. Blocks while the producer's queue is full. Returns none if the process shuts
    /// down meanwhile.
    fn send(&mut self, entry: &Arc<Entry>, sequence: usize) -> Result<Option<MessageState>, SinkError> {
        let key = key_of(entry);
        // Formats never write an empty value.
        let is_tombstone = self.value.is_empty();
        loop {
            let message = OutgoingMessage {
                topic: &self.config.topic,
                key: &key,
                value: (!is_tombstone).then_some(&self.value),
                headers: headers(entry, self.upkeep, self.schema, is_tombstone),
                partition: None,
                timestamp_ms: self.time_of(entry, sequence),
                sequence,
            };
            let code = match self.producer.link.send(message) {
                Ok(()) => {
                    if self.in_flight == 0 {
                        self.last_sign = Instant::now();
                    }
                    self.in_flight += 1;
                    return Ok(Some(MessageState::InFlight(entry.clone())));
                }
                Err(code) => code,
            };
            match code {
                RDKafkaErrorCode::QueueFull if self.shutdown.is_hurrying() => return Ok(None),
                RDKafkaErrorCode::QueueFull => {
                    self.wait()?;
                }
                RDKafkaErrorCode::MessageSizeTooLarge => {
                    let limit = self.config.properties.get("message.max.bytes").map_or("", |it| it.expose());
                    let reason = format!(
                        "{} bytes, more than the limit of {limit} (max.request.size, and never more than buffer.memory)",
                        self.value.len()
                    );
                    return Ok(Some(MessageState::Dead(entry.clone(), reason)));
                }
                _ => return Err(self.producer.failure(&self.config.topic, code)),
            }
        }
    }

    /// The time of the fetch; none if it is unknown or the broker rejected it.
    fn time_of(&self, entry: &Entry, sequence: usize) -> Option<i64> {
        let known = i64::try_from(entry.event.ended_ms).ok().filter(|ms| *ms > 0);
        known.filter(|_| !self.untimed.contains(&sequence))
    }

    /// Waits a while for reports and handles them. Returns true if there were any.
    fn wait(&mut self) -> Result<bool, SinkError> {
        let reports = self.producer.reports.take(self.idle.time().min(LONGEST_POLL));
        let came = !reports.is_empty();
        self.take_in(reports)?;
        if !came {
            if let Some(complaint) = self.producer.reports.complaint() {
                self.watch.waits(complaint);
            }
            self.take_care_of()?;
            self.topic.check_now_and_then(&self.config.topic, &self.producer, &self.shutdown)?;
        }
        Ok(came)
    }

    /// Advances over settled messages, in order. Dead letters are written to disk first.
    fn settle(&mut self) -> Result<(), SinkError> {
        while let Some(slot) = self.slots.pop() {
            match &slot.state {
                MessageState::InFlight(_) | MessageState::Moving { .. } => {}
                MessageState::Delivered(place) => {
                    self.so_far.delivered += 1;
                    let noted = || place.map(|(partition, offset)| RecordedLocation::offset(partition, offset));
                    self.notes.add(slot.end.index, noted);
                }
                MessageState::Skipped => self.so_far.skipped += 1,
                MessageState::Dead(entry, reason) => {
                    self.dead.add(&entry.event, reason)?;
                    self.so_far.dead += 1;
                }
            }
            self.so_far.up_to = slot.end;
        }
        self.notes.write(self.in_flight == 0);
        self.dead.sync()
    }

    /// The broker rejects a batch as a whole. Sending each message alone shows which one was at fault.
    fn send_suspects(&mut self) -> Result<(), SinkError> {
        while !self.suspects.is_empty() {
            if !self.wait_for_all()? {
                return Ok(());
            }
            let sequence = self.suspects.remove(0);
            let Some(MessageState::InFlight(entry)) = self.slots.state(sequence) else { continue };
            let entry = entry.clone();
            self.encode(&entry);
            self.alone = Some(sequence);
            if let Some(MessageState::Dead(_, reason)) = self.send(&entry, sequence)? {
                self.slots.set(sequence, |entry| MessageState::Dead(entry, reason));
            }
            if !self.wait_for_all()? {
                return Ok(());
            }
            self.alone = None;
        }
        self.untimed.clear();
        self.settle()
    }

    /// Waits for a report on every message. Returns false if the process shuts down first.
    fn wait_for_all(&mut self) -> Result<bool, SinkError> {
        while self.in_flight > 0 {
            if self.shutdown.is_hurrying() {
                return Ok(false);
            }
            self.wait()?;
        }
        Ok(true)
    }

    /// Checks whether a producer without reports is still usable.
    fn take_care_of(&mut self) -> Result<(), SinkError> {
        if let Some((code, reason)) = self.producer.link.fatal_error() {
            return Err(trouble(format!("{code}: {reason}"), client::REMADE));
        }
        if self.in_flight == 0 || self.last_sign.elapsed() < self.config.stuck_after || self.shutdown.is_hurrying() {
            return Ok(());
        }
        let waited = self.last_sign.elapsed();
        if !client::could_deliver(&self.config, &self.shutdown) {
            // An outage. librdkafka waits for its end, and remembers what was sent.
            self.last_sign = Instant::now();
            tracing::warn!(messages = self.in_flight, "kafka: the broker does not answer; pages wait for it");
            return Ok(());
        }
        // The broker may have just come back.
        let deadline = Instant::now() + GRACE.min(self.config.stuck_after * 5);
        while Instant::now() < deadline {
            let reports = self.producer.reports.take(POLL_EVERY);
            if !reports.is_empty() || self.shutdown.is_hurrying() {
                return self.take_in(reports);
            }
        }
        let problem =
            format!("{} messages were not delivered for {waited:?}, although the broker answers", self.in_flight);
        Err(trouble(problem, client::REMADE))
    }
}

impl KafkaSink {
    fn so_far(&self) -> Delivered {
        Delivered { state: self.topic.to_state(), ..self.so_far.clone() }
    }
}

impl Sink for KafkaSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            if !self.take(entry)? {
                break;
            }
        }
        let reports = self.producer.reports.take(Duration::ZERO);
        self.take_in(reports)?;
        self.send_suspects()?;
        Ok(self.so_far())
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        let mut last_report = Instant::now();
        while self.in_flight > 0 && last_report.elapsed() < PATIENCE {
            if self.wait()? {
                last_report = Instant::now();
            }
        }
        if self.in_flight == 0 {
            self.send_suspects()?;
            self.topic.check_now_and_then(&self.config.topic, &self.producer, &self.shutdown)?;
        }
        Ok(self.so_far())
    }
}
