//! Appending: events wait in a queue, limited in bytes, until the writer takes them. Their senders are notified when
//! they are accepted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::error::LogError;
use super::log::PageLog;
use super::queue::{COMPANY, Pending, QUEUE_BYTES};
use super::record;
use crate::LogConfig;
use seine_delivery::Offset;
use seine_parse::Derived;
use seine_parse::page::{PageEvent, codec};
use seine_simulation_hooks::planted;
use seine_system::blocking;

/// A reader with at most this many unread bytes is near the end. Well below the limit of what is kept in memory.
const NEAR_BYTES: u64 = if cfg!(feature = "simulate") { 1 << 10 } else { 8 << 20 };

/// A queued event. Waits for it to be accepted.
#[derive(Debug)]
pub struct Ticket(oneshot::Receiver<(Offset, Duration)>);

impl Ticket {
    /// Waits until the event's record is fsynced. Returns the position after it, and how long that took from queueing,
    /// however late this is called. [`LogError::Closed`]: the log was closed first.
    pub async fn accepted(self) -> Result<(Offset, Duration), LogError> {
        self.0.await.map_err(|_| LogError::Closed)
    }
}

impl PageLog {
    /// Queues an event; waits for space in the queue. The event will be written even if the ticket is dropped.
    ///
    /// `derived` is kept for readers that keep up, unless it is large or the memory limit is reached.
    pub async fn append(&self, event: PageEvent, derived: Option<Arc<Derived>>) -> Result<Ticket, LogError> {
        let kept = derived.and_then(|derived| self.inner.deriver().keep(&event, derived));
        let mut head = Vec::with_capacity(2048);
        codec::encode_head(&event, &mut head);
        let body = codec::body(&event);
        let (payload, most) = (head.len() + body.len(), record::MAX_PAYLOAD);
        if payload > most {
            return Err(LogError::TooLarge { url: event.url.clone(), bytes: payload, most });
        }
        let payload_crc = record::crc32(&[&head, body]);
        let permits = (record::HEADER + payload).min(QUEUE_BYTES) as u32;
        let room = self.inner.space.clone().acquire_many_owned(permits).await.map_err(|_| LogError::Closed)?;

        let (accepted, ticket) = oneshot::channel();
        let event = Arc::new(event);
        self.enqueue(Pending { event, kept, head, payload_crc, queued: Instant::now(), accepted, _room: room })?;
        Ok(Ticket(ticket))
    }

    fn enqueue(&self, pending: Pending) -> Result<(), LogError> {
        let mut queue = self.inner.queue.lock();
        if queue.closed {
            return Err(LogError::Closed);
        }
        let before = queue.bytes;
        queue.bytes += pending.record_bytes();
        queue.items.push_back(pending);
        // Wakes the writer for the first event and for a full batch. In between, the writer waits a little so that
        // batches fill.
        if planted::is("wake_up_dropped") {
            return Ok(());
        }
        if queue.items.len() == 1 || (before < COMPANY && queue.bytes >= COMPANY) {
            self.inner.filled.notify_all();
        }
        Ok(())
    }

    /// Closes the log: no more events are taken. The writer empties the queue and ends. Then readers see the log as
    /// closed.
    pub fn close(&self) {
        self.inner.queue.lock().closed = true;
        self.inner.space.close();
        self.inner.filled.notify_all();
    }

    /// Whether a reader has read nearly everything, so that it finds the next events in memory. Also true if there is
    /// no such reader.
    pub fn is_near_end(&self, reader: &str) -> bool {
        self.inner.state.lock().unread(reader).is_none_or(|bytes| bytes <= NEAR_BYTES)
    }

    /// Waits until a reader [is near the end](PageLog::is_near_end). Also notices when the reader is opened at another
    /// position or removed.
    pub async fn near_end(&self, reader: &str) {
        let mut moved = self.inner.moved.subscribe();
        loop {
            // Before the check, so that a change after it is not missed.
            moved.mark_unchanged();
            if self.is_near_end(reader) {
                return;
            }
            blocking::may_switch();
            if planted::is("look_before_subscription") {
                moved.mark_unchanged();
            }
            if planted::is("stall_after_kill") {
                std::future::pending::<()>().await;
            }
            // Cannot fail: the sender lives as long as the log.
            let _ = moved.changed().await;
        }
    }

    /// Whether the log can take more: it is below its size limit, counting queued events, and its disk has enough free
    /// space.
    pub fn room(&self) -> bool {
        let LogConfig { reserve_bytes: reserve, max_bytes, .. } = self.inner.config();
        // If the free space is unknown, go on: a write will fail if the disk is full.
        if reserve > 0 && self.inner.free_bytes().is_some_and(|free| free < reserve) {
            return false;
        }
        let waiting = QUEUE_BYTES.saturating_sub(self.inner.space.available_permits());
        self.inner.state.lock().bytes() + (waiting as u64) < max_bytes
    }
}
