//! Group commit: all queued events are written with one write and one fdatasync, and are then accepted.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::LogError;
use super::log::{Inner, PageLog};
use super::queue::{Active, COMPANY, Pending, Writer};
use super::record::{Header, MAX_PAYLOAD};
use super::segment::{self, FILE_HEADER};
use super::state::Segment;
use seine_delivery::{Entry, Offset};
use seine_system::blocking::Idle;

/// How often an idle writer reports that it is alive.
const IDLE: Duration = Duration::from_millis(200);

/// Largest batch in bytes; a single event may be larger.
const BATCH_BYTES: u64 = 4 << 20;

impl PageLog {
    /// The group-commit loop. Blocks until the log is closed and all queued events are accepted. `beat` is called after
    /// every commit and a few times a second when idle.
    ///
    /// On an error the segment is cut back to its last durable byte, and the events stay queued. The next run writes
    /// them to a new segment: after a failed fsync, nobody knows which bytes of the old file the kernel still has.
    pub fn run_writer(&self, beat: &mut dyn FnMut()) -> Result<(), LogError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        if writer.unsure {
            // A panic interrupted a commit of the last run.
            writer.abandon();
        }
        // A log that is full from the start is reported, so that the message about free space makes sense later.
        inner.log_space(&inner.state.lock());
        let mut idle = Idle::woken(IDLE);
        loop {
            let left = writer.room_in_segment(inner)?;
            if writer.batch.is_empty() && !inner.take(&mut writer.batch, left, idle.time()) {
                break;
            }
            if !writer.batch.is_empty() {
                writer.commit(inner)?;
            }
            inner.measure_free_space();
            // Not before: a writer that fails again and again makes no progress.
            beat();
        }
        inner.state.lock().finished = true;
        inner.published.notify_all();
        Ok(())
    }

    /// Closes a log whose writer failed and is not run again. Queued events are not accepted.
    pub fn abandon(&self) {
        self.close();
        self.inner.writer.lock().batch.clear();
        self.inner.queue.lock().items.clear();
        self.inner.state.lock().finished = true;
        self.inner.published.notify_all();
    }
}

impl Inner {
    /// A segment is closed at this length. It must be well below the disk limit, since only closed segments can be
    /// removed.
    fn segment_bytes(&self) -> u64 {
        let config = self.config();
        config.segment_bytes.min(config.max_bytes / 4)
    }

    /// Waits for events, then a little longer so that a batch fills. Takes up to `left` bytes of events, but at least
    /// one. Returns false if the log is closed and the queue is empty.
    fn take(&self, batch: &mut Vec<Pending>, left: u64, idle: Duration) -> bool {
        let mut queue = self.queue.lock();
        let until = Instant::now() + idle;
        let first = loop {
            if let Some(first) = queue.items.front() {
                break first.queued;
            } else if queue.closed {
                return false;
            } else if self.filled.wait_until(&mut queue, until) {
                return true;
            }
        };
        let patience = first + self.config().commit_interval;
        while queue.bytes < COMPANY && !queue.closed {
            if self.filled.wait_until(&mut queue, patience) {
                break;
            }
        }
        let (most, mut bytes) = (left.min(BATCH_BYTES), 0);
        while bytes < most || batch.is_empty() {
            let Some(pending) = queue.items.pop_front() else { break };
            bytes += pending.record_bytes() as u64;
            queue.bytes -= pending.record_bytes();
            batch.push(pending);
        }
        true
    }
}

impl Writer {
    /// Makes sure that the segment has space; returns the bytes left in it. A full segment is closed even if no event
    /// waits, so that it can be removed when readers have passed it.
    fn room_in_segment(&mut self, inner: &Inner) -> Result<u64, LogError> {
        let full = inner.segment_bytes();
        let left = |length: u64| full.saturating_sub(length).max(1);
        if let Some(active) =
            self.segment.as_ref().filter(|active| active.length < full || active.length == FILE_HEADER)
        {
            return Ok(left(active.length));
        }
        self.segment = None;
        let start = inner.state.lock().end;
        let (file, path) = segment::create(&inner.dir, start)?;
        let mut state = inner.state.lock();
        // An empty last segment has the same name and is replaced.
        if state.segments.back().is_some_and(|last| last.start.index == start.index) {
            state.segments.pop_back();
        }
        state.segments.push_back(Segment { path: path.clone(), start, bytes: FILE_HEADER });
        // Readers may have passed the previous segment already.
        let freed = state.free();
        inner.log_space(&state);
        drop(state);
        segment::remove(&freed);
        self.segment = Some(Active { file, path, length: FILE_HEADER });
        Ok(left(FILE_HEADER))
    }

    /// Writes the batch, makes it durable, publishes it to readers, and notifies the senders.
    fn commit(&mut self, inner: &Inner) -> Result<(), LogError> {
        let start = inner.state.lock().end;
        let ends = self.fill_buffer(start);
        self.unsure = true;
        if let Err(e) = self.write() {
            self.abandon();
            return Err(e);
        }
        self.publish(inner, &ends);
        self.unsure = false;
        Ok(())
    }

    /// Fills the buffer with the records of the batch. Returns the position after each.
    fn fill_buffer(&mut self, start: Offset) -> Vec<Offset> {
        self.buffer.clear();
        self.buffer.shrink_to(2 * BATCH_BYTES as usize);
        let mut at = start;
        let mut ends = Vec::with_capacity(self.batch.len());
        for pending in &self.batch {
            let length = (pending.head.len() + pending.body().len()).min(MAX_PAYLOAD) as u32;
            let header = Header { length, index: at.index + 1, payload_crc: pending.payload_crc };
            self.buffer.extend_from_slice(&header.to_bytes(at.offset));
            self.buffer.extend_from_slice(&pending.head);
            self.buffer.extend_from_slice(pending.body());
            at = Offset { index: header.index, offset: at.offset + header.record_bytes() };
            ends.push(at);
        }
        ends
    }

    fn write(&mut self) -> Result<(), LogError> {
        let Some(active) = &mut self.segment else { return Ok(()) };
        active.file.write_all_at(&self.buffer, active.length).map_err(LogError::io("write to", &active.path))?;
        active.file.sync_data().map_err(LogError::io("sync", &active.path))?;
        active.length += self.buffer.len() as u64;
        Ok(())
    }

    /// Abandons the segment, cut to its durable length. If the cut fails, the start of the next segment marks the end
    /// of this one.
    fn abandon(&mut self) {
        self.unsure = false;
        let Some(active) = self.segment.take() else { return };
        if let Err(error) = active.file.set_len(active.length) {
            tracing::warn!(segment = %active.path.display(), %error, "could not cut the unaccepted end of a segment");
        }
    }

    fn publish(&mut self, inner: &Inner, ends: &[Offset]) {
        let mut state = inner.state.lock();
        let mut told = Vec::with_capacity(self.batch.len());
        for (pending, &end) in self.batch.drain(..).zip(ends) {
            let cost = pending.memory();
            let Pending { event, kept, queued, accepted, _room, .. } = pending;
            state.tail.push(Arc::new(Entry::shared(end, event, kept, &inner.deriver())), cost);
            state.end = end;
            told.push((accepted, end, queued));
        }
        if let (Some(last), Some(active)) = (state.segments.back_mut(), &self.segment) {
            last.bytes = active.length;
        }
        inner.log_space(&state);
        drop(state);
        inner.published.notify_all();
        for (accepted, end, queued) in told {
            // The sender may have stopped waiting.
            let _ = accepted.send((end, queued.elapsed()));
        }
    }
}
