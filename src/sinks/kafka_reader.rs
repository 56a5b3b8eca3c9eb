//! Reads what a topic holds, from any offsets on, and leaves no trace at the broker.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::kafka_client::ANSWER;

/// One wait for messages.
const LOOK: Duration = Duration::from_millis(200);
/// See [`TopicReader::patience`], unless said otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads partitions of one topic.
pub(crate) struct TopicReader {
    consumer: BaseConsumer,
    topic: String,
    last_sign: Instant,
    /// Without a message for so long, although some are missing, a broker counts as gone.
    patience: Duration,
}

/// What came next.
pub(crate) enum Next<'r> {
    Message(BorrowedMessage<'r>),
    /// This partition has no more.
    End(i32),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the broker sent nothing for {0:?}")]
    Silence(Duration),
    #[error(transparent)]
    Kafka(#[from] KafkaError),
}

impl TopicReader {
    /// `client`: how to reach the broker. `group`: the name it is told.
    pub fn open(client: &mut ClientConfig, group: &str, topic: &str) -> KafkaResult<TopicReader> {
        let consumer = client
            // Never joined, and never committed to.
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            // Tells when nothing more comes although the last offsets hold no message, as after compaction.
            .set("enable.partition.eof", "true")
            .set("isolation.level", "read_committed")
            // What is read ahead, in KiB and bytes.
            .set("queued.max.messages.kbytes", "32768")
            .set("fetch.message.max.bytes", "8388608")
            .create()?;
        Ok(TopicReader { consumer, topic: topic.to_owned(), last_sign: Instant::now(), patience: PATIENCE })
    }

    /// For who does not wait for long.
    pub fn with_patience(self, patience: Duration) -> TopicReader {
        TopicReader { patience, ..self }
    }

    /// The first offset of each partition, and the one behind its last; none when the broker shows no such topic.
    pub fn partitions(&self) -> KafkaResult<Option<BTreeMap<i32, Range<i64>>>> {
        // All topics: asked for one by name, a broker may make it.
        let answer = ANSWER.min(self.patience);
        let metadata = self.consumer.fetch_metadata(None, answer)?;
        let Some(found) = metadata.topics().iter().find(|it| it.name() == self.topic) else { return Ok(None) };
        let bounds = |number| self.consumer.fetch_watermarks(&self.topic, number, answer).map(|(low, high)| low..high);
        let numbers = found.partitions().iter().map(|partition| partition.id());
        numbers.map(|number| Ok((number, bounds(number)?))).collect::<KafkaResult<_>>().map(Some)
    }

    /// Goes to these offsets of these partitions.
    pub fn go_to(&mut self, places: impl IntoIterator<Item = (i32, i64)>) -> Result<(), KafkaError> {
        let mut assigned = TopicPartitionList::new();
        for (number, offset) in places {
            assigned.add_partition_offset(&self.topic, number, Offset::Offset(offset))?;
        }
        self.last_sign = Instant::now();
        self.consumer.assign(&assigned)
    }

    /// Visits the messages of partitions from one offset up to another.
    pub fn read(
        &mut self,
        mut left: BTreeMap<i32, Range<i64>>,
        mut visit: impl FnMut(&BorrowedMessage<'_>),
    ) -> Result<(), ReadError> {
        left.retain(|_, offsets| !offsets.is_empty());
        self.go_to(left.iter().map(|(number, offsets)| (*number, offsets.start)))?;
        while !left.is_empty() {
            match self.next()? {
                Next::Message(message) => {
                    let Some(Range { end, .. }) = left.get(&message.partition()).cloned() else { continue };
                    if message.offset() < end {
                        visit(&message);
                    }
                    if message.offset() + 1 >= end {
                        left.remove(&message.partition());
                    }
                }
                Next::End(number) => drop(left.remove(&number)),
            }
        }
        Ok(())
    }

    /// Waits for what comes next.
    pub fn next(&mut self) -> Result<Next<'_>, ReadError> {
        loop {
            match self.consumer.poll(LOOK) {
                Some(Ok(message)) => {
                    self.last_sign = Instant::now();
                    return Ok(Next::Message(message));
                }
                Some(Err(KafkaError::PartitionEOF(number))) => return Ok(Next::End(number)),
                // librdkafka goes on trying after each of these.
                Some(Err(error)) => tracing::warn!(%error, "kafka"),
                None if self.last_sign.elapsed() < self.patience => {}
                None => return Err(ReadError::Silence(self.patience)),
            }
        }
    }
}
