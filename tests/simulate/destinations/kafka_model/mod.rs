//! A model of a Kafka cluster with one broker: topics with partitions, settings, offsets, idempotent producers, retention of
//! tombstones by compaction. It answers every request at once; the time is a parameter. `tests/kafka/model.rs` compares it with a
//! real cluster.

// Each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

mod broker;
mod murmur;
mod topic;

pub use broker::Broker;
pub use murmur::partition_of;
pub use topic::{Batch, NewRecord, Record, Topic};
