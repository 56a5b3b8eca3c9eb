//! What waits for the writer: a queue, bounded by bytes, that it empties; and what it has taken.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::record;
use crate::delivery::{Kept, Position};
use crate::page::{PageEvent, codec};

/// Bytes of records that may wait to be written.
pub(super) const QUEUE_BYTES: usize = 16 << 20;
/// Bytes that may be kept of what was derived, in the queue and behind it.
pub(super) const KEPT_BYTES: usize = 40 << 20;
/// With so much queued the writer does not wait for more.
pub(super) const COMPANY: usize = 512 << 10;

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub items: VecDeque<Pending>,
    pub bytes: usize,
    pub closed: bool,
}

/// An event on its way to the disk.
#[derive(Debug)]
pub(super) struct Pending {
    pub event: Arc<PageEvent>,
    pub kept: Option<Kept>,
    /// The payload is this and the event's body, which is not copied before the write.
    pub head: Vec<u8>,
    pub payload_crc: u32,
    pub queued: Instant,
    pub accepted: oneshot::Sender<(Position, Duration)>,
    pub _room: OwnedSemaphorePermit,
}

impl Pending {
    /// Bytes of memory that its entry will hold: what stands in the head as text is several times that in many pieces.
    pub fn memory(&self) -> u64 {
        let kept = self.kept.as_ref().map_or(0, Kept::bytes);
        (1000 + 3 * self.head.len() + self.body().len() + kept) as u64
    }

    pub fn body(&self) -> &[u8] {
        codec::body(&self.event)
    }

    pub fn record_bytes(&self) -> usize {
        record::HEADER + self.head.len() + self.body().len()
    }
}

/// The writer's own state. It outlives a failed run, so that the next one goes on with the same events.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// None: a new segment is to be made.
    pub segment: Option<Active>,
    /// Taken from the queue and not yet accepted.
    pub batch: Vec<Pending>,
    pub buffer: Vec<u8>,
    /// Bytes of `batch` may be in the file.
    pub unsure: bool,
}

#[derive(Debug)]
pub(super) struct Active {
    pub file: File,
    pub path: PathBuf,
    /// Its durable length.
    pub length: u64,
}
