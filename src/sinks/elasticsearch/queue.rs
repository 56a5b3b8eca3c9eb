//! The documents of one bulk still to be sent, divided to find the ones that break a request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use seine_delivery::Entry;
use tokio::sync::oneshot;

const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
/// A document that breaks a request alone, or at which the server fails, is tried this many times. After each time the
/// index must pass the probe.
const MOST_BREAKS: u32 = 6;

/// A document and its action line.
#[derive(Clone)]
pub(super) struct BulkDocument {
    pub entry: Arc<Entry>,
    pub lines: Bytes,
}

/// What is sent together.
pub(super) struct Bulk {
    pub items: Vec<BulkDocument>,
    /// Deletions of pages that became aliases.
    pub leaving: Vec<BulkDocument>,
    /// Pages that are as they were: of their documents the time alone is written.
    pub touches: Vec<Arc<Entry>>,
}

/// Whether another bulk is written, which may still be on its way.
pub(super) struct Written(Option<oneshot::Receiver<()>>);

impl Written {
    /// Where there is no such bulk.
    pub(super) fn nothing() -> Written {
        Written(None)
    }

    pub(super) fn channel() -> (oneshot::Sender<()>, Written) {
        let (sender, receiver) = oneshot::channel();
        (sender, Written(Some(receiver)))
    }

    /// Waits for it. False when it failed.
    pub(super) async fn succeeded(self) -> bool {
        match self.0 {
            Some(receiver) => receiver.await.is_ok(),
            None => true,
        }
    }
}

/// The body of a request with these documents.
pub(super) fn body(bulk: &[BulkDocument]) -> Bytes {
    if let [item] = bulk {
        return item.lines.clone();
    }
    let mut body = BytesMut::with_capacity(bulk.iter().map(|item| item.lines.len()).sum());
    bulk.iter().for_each(|item| body.extend_from_slice(&item.lines));
    body.freeze()
}

/// The result of a bulk.
#[derive(Default)]
pub(super) struct BulkOutcome {
    /// Number of documents in the index, in this or a newer version.
    pub written: u64,
    /// Documents rejected for good, with the reason.
    pub dead: Vec<(Arc<Entry>, String)>,
}

impl BulkOutcome {
    pub(super) fn add(&mut self, other: BulkOutcome) {
        self.written += other.written;
        self.dead.extend(other.dead);
    }
}

/// Documents waiting to be sent.
pub(super) struct QueuedBulk {
    pub bulk: Vec<BulkDocument>,
    /// How the last request with them broke, or why the server failed at them.
    pub broke: Option<String>,
    /// How often that happened while the index passed the probe. Counted only for a single document.
    pub breaks: u32,
}

impl QueuedBulk {
    pub(super) fn new(bulk: Vec<BulkDocument>) -> QueuedBulk {
        QueuedBulk { bulk, broke: None, breaks: 0 }
    }
}

/// How long a bulk has made no progress.
pub(super) struct Backoff {
    pub since: Instant,
    pub back_off: Duration,
    pub is_reported: bool,
}

impl Backoff {
    pub(super) fn new() -> Backoff {
        Backoff { since: Instant::now(), back_off: FIRST_BACK_OFF, is_reported: false }
    }
}

/// Handles a broken request while the index takes pages. Several documents are split into halves. A single document is
/// retried after the others, and given up in the end.
pub(super) fn narrow_down(broken: QueuedBulk, reason: &str, queue: &mut VecDeque<QueuedBulk>, all: &mut BulkOutcome) {
    if broken.bulk.len() > 1 {
        return halve(broken.bulk, reason, queue);
    }
    let breaks = broken.breaks + 1;
    if breaks < MOST_BREAKS {
        return queue.push_back(QueuedBulk { breaks, ..broken });
    }
    let why = format!("{breaks} requests with this page alone failed, while requests without it succeed: {reason}");
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

/// Documents to send again, and why.
#[derive(Default)]
pub(super) struct RetryLater {
    pub items: Vec<BulkDocument>,
    /// The reason of the first document.
    pub reason: String,
}

impl RetryLater {
    pub(super) fn push(&mut self, item: &BulkDocument, reason: String) {
        if self.items.is_empty() {
            self.reason = reason;
        }
        self.items.push(item.clone());
    }

    pub(super) fn add(&mut self, other: RetryLater) {
        if self.items.is_empty() {
            self.reason = other.reason;
        }
        self.items.extend(other.items);
    }
}
