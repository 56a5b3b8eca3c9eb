//! The queue in front of the writer, limited in bytes, and the batch that the writer has taken.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::record;
use seine_delivery::{Kept, Offset};
use seine_parse::page::{PageEvent, codec};

/// Bytes of records that may wait in the queue.
pub(super) const QUEUE_BYTES: usize = 16 << 20;
/// Bytes of derived data that may be kept, in the queue and in the tail.
pub(super) const KEPT_BYTES: usize = 40 << 20;
/// With this many bytes queued, the writer does not wait for more.
pub(super) const COMPANY: usize = 512 << 10;

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub items: VecDeque<Pending>,
    pub bytes: usize,
    pub closed: bool,
}

/// An event waiting to be written.
#[derive(Debug)]
pub(super) struct Pending {
    pub event: Arc<PageEvent>,
    pub kept: Option<Kept>,
    /// The payload is `head` followed by the event's body. The body is not copied before the write.
    pub head: Vec<u8>,
    pub payload_crc: u32,
    pub queued: Instant,
    pub accepted: oneshot::Sender<(Offset, Duration)>,
    pub _room: OwnedSemaphorePermit,
}

impl Pending {
    /// Bytes of memory that the entry will use. The head as text is smaller than its many parts in memory.
    pub(crate) fn memory(&self) -> u64 {
        let kept = self.kept.as_ref().map_or(0, Kept::bytes);
        (1000 + 3 * self.head.len() + self.body().len() + kept) as u64
    }

    pub(crate) fn body(&self) -> &[u8] {
        codec::body(&self.event)
    }

    pub(crate) fn record_bytes(&self) -> usize {
        record::HEADER + self.head.len() + self.body().len()
    }
}

/// The writer's state. It survives a failed run, so that the next run continues with the same events.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// None: the next batch needs a new segment.
    pub segment: Option<Active>,
    /// Events taken from the queue and not yet accepted.
    pub batch: Vec<Pending>,
    pub buffer: Vec<u8>,
    /// The file may contain bytes of `batch`.
    pub unsure: bool,
}

#[derive(Debug)]
pub(super) struct Active {
    pub file: File,
    pub path: PathBuf,
    /// The durable length.
    pub length: u64,
}
