//! The documents of one bulk that wait for their turn, narrowed down to what breaks a request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use crate::delivery::Entry;

const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
/// A document that breaks the request it is alone in, or that the server fails at, is tried so often, each time with the
/// server found well behind it.
const MOST_BREAKS: u32 = 6;

/// A document and the line before it.
#[derive(Clone)]
pub(super) struct BulkDocument {
    pub entry: Arc<Entry>,
    pub lines: Bytes,
}

/// Of the request with these documents.
pub(super) fn body(bulk: &[BulkDocument]) -> Bytes {
    if let [item] = bulk {
        return item.lines.clone();
    }
    let mut body = BytesMut::with_capacity(bulk.iter().map(|item| item.lines.len()).sum());
    bulk.iter().for_each(|item| body.extend_from_slice(&item.lines));
    body.freeze()
}

/// What became of a bulk.
#[derive(Default)]
pub(super) struct BulkOutcome {
    /// They, or newer ones, are in the index.
    pub written: u64,
    /// Refused for good, and why.
    pub dead: Vec<(Arc<Entry>, String)>,
}

/// Documents that wait for their turn.
pub(super) struct QueuedBulk {
    pub bulk: Vec<BulkDocument>,
    /// How the last request with them broke, or what the server failed of, when it did.
    pub broke: Option<String>,
    /// How often it has, with the server found well behind it. Counted for a document alone.
    pub breaks: u32,
}

impl QueuedBulk {
    pub fn new(bulk: Vec<BulkDocument>) -> QueuedBulk {
        QueuedBulk { bulk, broke: None, breaks: 0 }
    }
}

/// How long a bulk has been without progress.
pub(super) struct Backoff {
    pub since: Instant,
    pub back_off: Duration,
    pub told: bool,
}

impl Backoff {
    pub fn new() -> Backoff {
        Backoff { since: Instant::now(), back_off: FIRST_BACK_OFF, told: false }
    }
}

/// A request broke, and the server is well: with several documents in it each half is tried, and one that is alone is
/// tried again behind the others, and in the end set aside.
pub(super) fn narrow_down(broken: QueuedBulk, reason: &str, queue: &mut VecDeque<QueuedBulk>, all: &mut BulkOutcome) {
    if broken.bulk.len() > 1 {
        return halve(broken.bulk, reason, queue);
    }
    let breaks = broken.breaks + 1;
    if breaks < MOST_BREAKS {
        return queue.push_back(QueuedBulk { breaks, ..broken });
    }
    let why =
        format!("{breaks} requests with this page alone came to nothing, and those without it are answered: {reason}");
    for item in broken.bulk {
        tracing::warn!(url = item.entry.event.url, reason, "document set aside");
        all.dead.push((item.entry, why.clone()));
    }
}

pub(super) fn halve(mut bulk: Vec<BulkDocument>, reason: &str, queue: &mut VecDeque<QueuedBulk>) {
    let second = bulk.split_off(bulk.len() / 2);
    tracing::info!(reason, documents = bulk.len() + second.len(), "a bulk is sent in halves");
    queue.push_front(QueuedBulk::new(second));
    queue.push_front(QueuedBulk::new(bulk));
}

/// What is to be sent again, and why.
#[derive(Default)]
pub(super) struct RetryLater {
    pub items: Vec<BulkDocument>,
    /// The first one's.
    pub reason: String,
}

impl RetryLater {
    pub fn push(&mut self, item: &BulkDocument, reason: String) {
        if self.items.is_empty() {
            self.reason = reason;
        }
        self.items.push(item.clone());
    }

    pub fn add(&mut self, other: RetryLater) {
        if self.items.is_empty() {
            self.reason = other.reason;
        }
        self.items.extend(other.items);
    }
}
