//! A model of a Kafka cluster with one broker, held against the real one by `tests/kafka/model.rs`: topics with partitions,
//! settings, offsets, idempotent producers, retention of deletions by compaction. Every request is answered at once, at a time
//! that is handed in.

// Each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

mod broker;
mod murmur;
mod topic;

pub use broker::Broker;
pub use murmur::partition_of;
pub use topic::{Batch, NewRecord, Record, Topic};
