#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]
//!
//! Events to deliver, and how far each reader has come. Sinks share these types with the page log, archives and dead
//! letters.
//!
//! * [`Entry`]: an event with its position. It derives data on demand through its [`Deriver`].
//! * [`Offset`]: an offset in a sequence of events. [`Cursor`]: how far a reader has come in that sequence.

mod deriver;
mod entry;
pub mod large;

pub use deriver::{Deriver, Kept};
pub use entry::Entry;

/// An offset in a sequence of events: after event number `index` (the first has 1), at byte `offset` of the whole
/// sequence. An offset is never used twice. The default is the beginning.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    minicbor::Encode,
    minicbor::Decode,
)]
pub struct Offset {
    #[n(0)]
    pub index: u64,
    #[n(1)]
    pub offset: u64,
}

/// How far a reader has come, with its counters since it was created.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cursor {
    /// Everything before this offset is delivered, skipped, in the dead letters, or damaged.
    pub position: Offset,
    pub delivered: u64,
    /// Events that the reader's format does not store.
    pub skipped: u64,
    /// Events rejected for good; stored in the reader's dead letters.
    pub dead: u64,
    /// State owned by the reader (FILES: the open file and its length).
    pub state: serde_json::Value,
    /// Index of the last event before the reader's first one. Set by the log; ignored in a commit.
    pub from: u64,
    /// Number of the reader's events lost to disk damage. Set by the log; ignored in a commit.
    pub damaged: u64,
    /// Set if the counters were reset because the destination was replaced or the operator asked for it. Set by the
    /// log; ignored in a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anew: Option<BegunAnew>,
}

/// When and why a reader was set back to the oldest event in the log.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BegunAnew {
    pub at_ms: u64,
    pub why: String,
}
