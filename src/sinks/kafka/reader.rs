//! Reads a topic from given offsets. Changes nothing at the broker.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::client::ANSWER;

/// Longest single wait for messages.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// Default of [`TopicReader::patience`].
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads partitions of one topic.
pub(crate) struct TopicReader {
    consumer: BaseConsumer,
    topic: String,
    last_sign: Instant,
    /// If messages are missing and none arrives for this long, the broker counts as down.
    patience: Duration,
}

/// The next item of a topic.
pub(crate) enum Next<'r> {
    Message(BorrowedMessage<'r>),
    /// The end of this partition.
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
    /// `client`: how to reach the broker. `group`: the consumer group to name.
    pub(crate) fn open(client: &mut ClientConfig, group: &str, topic: &str) -> KafkaResult<TopicReader> {
        let consumer = client
            // A group name is required, but this reader never joins or commits.
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            // Reports the end of a partition even if its last offsets have no message, as after compaction.
            .set("enable.partition.eof", "true")
            .set("isolation.level", "read_committed")
            // Limits of the read-ahead, in KiB and bytes.
            .set("queued.max.messages.kbytes", "32768")
            .set("fetch.message.max.bytes", "8388608")
            .create()?;
        Ok(TopicReader { consumer, topic: topic.to_owned(), last_sign: Instant::now(), patience: PATIENCE })
    }

    /// Sets a shorter wait.
    pub(crate) fn with_patience(self, patience: Duration) -> TopicReader {
        TopicReader { patience, ..self }
    }

    /// For each partition, its first offset and the offset after its last message. None if the broker does not show the
    /// topic.
    pub(crate) fn partitions(&self) -> KafkaResult<Option<BTreeMap<i32, Range<i64>>>> {
        // Lists all topics, since a broker may create a topic that is asked for by name.
        let answer = ANSWER.min(self.patience);
        let metadata = self.consumer.fetch_metadata(None, answer)?;
        let Some(found) = metadata.topics().iter().find(|it| it.name() == self.topic) else { return Ok(None) };
        let bounds = |number| self.consumer.fetch_watermarks(&self.topic, number, answer).map(|(low, high)| low..high);
        let numbers = found.partitions().iter().map(|partition| partition.id());
        numbers.map(|number| Ok((number, bounds(number)?))).collect::<KafkaResult<_>>().map(Some)
    }

    /// Starts reading at these offsets.
    pub(crate) fn go_to(&mut self, places: impl IntoIterator<Item = (i32, i64)>) -> Result<(), KafkaError> {
        let mut assigned = TopicPartitionList::new();
        for (number, offset) in places {
            assigned.add_partition_offset(&self.topic, number, Offset::Offset(offset))?;
        }
        self.last_sign = Instant::now();
        self.consumer.assign(&assigned)
    }

    /// Visits the messages within a range of offsets per partition.
    pub(crate) fn read(
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

    /// Waits for the next item.
    pub(crate) fn next(&mut self) -> Result<Next<'_>, ReadError> {
        loop {
            match self.consumer.poll(POLL_EVERY) {
                Some(Ok(message)) => {
                    self.last_sign = Instant::now();
                    return Ok(Next::Message(message));
                }
                Some(Err(KafkaError::PartitionEOF(number))) => return Ok(Next::End(number)),
                // librdkafka keeps trying after these errors.
                Some(Err(error)) => tracing::warn!(%error, "kafka"),
                None if self.last_sign.elapsed() < self.patience => {}
                None => return Err(ReadError::Silence(self.patience)),
            }
        }
    }
}
