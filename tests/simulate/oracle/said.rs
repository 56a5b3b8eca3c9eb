//! What the program says of itself, as far as the oracle listens.

use std::collections::BTreeMap;

use seine::api::said::{SinkStatus, Status};
use seine::supervisor::Phase;

#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// By the program's clock.
    pub now_ms: u64,
    pub next_due_ms: Option<u64>,
    pub in_flight: u64,
    /// Events that each sink has still to take.
    pub pending: BTreeMap<String, u64>,
    pub is_paused: bool,
    /// Ready, with notes; or not, with reasons.
    pub ready: Result<Vec<String>, Vec<String>>,
    pub parts_stuck: Vec<String>,
    pub parts_failing: Vec<String>,
    /// Pages that are live, as the frontier has it.
    pub live: u64,
}

/// A sink's books.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Books {
    pub sink: String,
    pub accepted: u64,
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    pub damaged: u64,
    pub pending: u64,
}

impl Said {
    pub fn of(status: &Status, ready: Result<Vec<String>, Vec<String>>, now_ms: u64) -> Said {
        let parts = status.running.as_ref().map(|live| live.parts.as_slice()).unwrap_or_default();
        let stuck = parts.iter().filter(|part| part.is_stuck).map(|part| part.name.clone());
        let failing = parts.iter().filter(|part| part.phase == Phase::BackingOff).map(|part| part.name.clone());
        Said {
            now_ms,
            next_due_ms: None,
            in_flight: status.frontier.in_flight,
            pending: status.sinks.iter().map(|sink| (sink.name.clone(), sink.pending)).collect(),
            is_paused: status.is_paused,
            ready,
            parts_stuck: stuck.collect(),
            parts_failing: failing.collect(),
            live: status.frontier.live,
        }
    }
}

impl Books {
    pub fn of(sink: &SinkStatus) -> Books {
        Books {
            sink: sink.name.clone(),
            accepted: sink.accepted,
            delivered: sink.delivered,
            skipped: sink.skipped,
            dead: sink.dead_lettered,
            damaged: sink.damaged,
            pending: sink.pending,
        }
    }
}
