//! What is delivered, and how far it has come: what sinks share with the page log, with archives and with dead letters.
//!
//! * [`Entry`]: an event on its way to sinks, in its place; it derives itself, as its [`Deriver`] says.
//! * [`Position`]: a place in a row of events. [`Cursor`]: how far a reader has come in it.

mod deriver;
mod entry;

pub use deriver::{Deriver, Kept};
pub use entry::Entry;

/// A place in a row of events: just behind event number `index` (the first event has index 1), at byte `offset` of all of
/// it. Neither is ever used twice. The default is the very beginning.
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
pub struct Position {
    #[n(0)]
    pub index: u64,
    #[n(1)]
    pub offset: u64,
}

/// How far a reader has come, and its books over its whole life.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cursor {
    /// Everything before it is delivered, skipped, dead or damaged.
    pub position: Position,
    pub delivered: u64,
    /// Not for this reader: what its format does not hold.
    pub skipped: u64,
    /// Refused for good; in the reader's dead letters.
    pub dead: u64,
    /// The reader's own (FILES: the open file and its length).
    pub state: serde_json::Value,
    /// Index of the event before the first one this reader was ever due. Kept by the log; what is committed is ignored.
    pub from: u64,
    /// Events that this reader was due and that the disk has lost. Kept by the log; what is committed is ignored.
    pub damaged: u64,
    /// The books began anew, as the destination was another one, or as its operator ordered. Kept by the log; what is committed is
    /// ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anew: Option<BegunAnew>,
}

/// When and why a reader began again at the oldest event that the log held.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BegunAnew {
    pub at_ms: u64,
    pub why: String,
}
