//! Group commit: everything queued goes to the disk in one write and one fdatasync, and is then accepted.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::LogError;
use super::log::{Inner, PageLog};
use super::queue::{Active, COMPANY, Pending, Writer};
use super::record::{Header, MAX_PAYLOAD};
use super::segment::{self, FILE_HEADER};
use super::state::Segment;
use crate::blocking::Idle;
use crate::delivery::{Entry, Position};

/// How often an idle writer shows that it lives.
const IDLE: Duration = Duration::from_millis(200);

/// Most bytes of one batch; one event may be larger.
const BATCH_BYTES: u64 = 4 << 20;

impl PageLog {
    /// The group-commit loop; blocks until the log is closed and everything queued is accepted. `beat` is called after
    /// every commit and a few times a second when idle.
    ///
    /// On an error the segment is cut back to its last durable byte and the events stay queued. Run again, it goes on
    /// with them in a new segment: after a failed fsync nobody knows what the kernel still holds of the old one.
    pub fn run_writer(&self, beat: &mut dyn FnMut()) -> Result<(), LogError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        if writer.unsure {
            // The last run was torn out of a commit by a panic.
            writer.abandon();
        }
        // A log that is full from the start says so, and later that it is not any more.
        inner.tell_room(&inner.state.lock());
        let mut idle = Idle::new(IDLE);
        loop {
            beat();
            let left = writer.room_in_segment(inner)?;
            if writer.batch.is_empty() && !inner.take(&mut writer.batch, left, idle.time()) {
                break;
            }
            if !writer.batch.is_empty() {
                writer.commit(inner)?;
            }
        }
        inner.state.lock().finished = true;
        inner.published.notify_all();
        Ok(())
    }

    /// Closes a log whose writer has failed and is not run again: what waits for it is not accepted.
    pub fn abandon(&self) {
        self.close();
        self.inner.writer.lock().batch.clear();
        self.inner.queue.lock().items.clear();
        self.inner.state.lock().finished = true;
        self.inner.published.notify_all();
    }
}

impl Inner {
    /// A segment is closed at this length. Well below the disk limit: only closed segments can be freed.
    fn segment_bytes(&self) -> u64 {
        let config = self.config();
        config.segment_bytes.min(config.max_bytes / 4)
    }

    /// Waits a while for events, then a little for company, and takes up to `left` bytes of them, or one. False: the log is closed, and
    /// there are none.
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
    /// Makes sure of a segment that is not full; returns the bytes left in it. Full ones are closed even when nothing
    /// waits, so that readers that have passed them can free them.
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
        // An empty last one had the same name, and is replaced.
        if state.segments.back().is_some_and(|last| last.start.index == start.index) {
            state.segments.pop_back();
        }
        state.segments.push_back(Segment { path: path.clone(), start, bytes: FILE_HEADER });
        // Readers may have passed the one before already.
        let freed = state.free();
        inner.tell_room(&state);
        drop(state);
        segment::remove(&freed);
        self.segment = Some(Active { file, path, length: FILE_HEADER });
        Ok(left(FILE_HEADER))
    }

    /// Writes the batch, makes it durable, shows it to readers, and tells those who wait.
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

    /// The batch's records, one after the other; returns the place behind each.
    fn fill_buffer(&mut self, start: Position) -> Vec<Position> {
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
            at = Position { index: header.index, offset: at.offset + header.record_bytes() };
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

    /// Gives the segment up, cut to what is durable. If even the cut fails, the next segment's start tells where this
    /// one ends.
    fn abandon(&mut self) {
        self.unsure = false;
        let Some(active) = self.segment.take() else { return };
        if let Err(error) = active.file.set_len(active.length) {
            tracing::warn!(segment = %active.path.display(), %error, "could not cut what was not accepted off a segment");
        }
    }

    fn publish(&mut self, inner: &Inner, ends: &[Position]) {
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
        inner.tell_room(&state);
        drop(state);
        inner.published.notify_all();
        for (accepted, end, queued) in told {
            // Nobody need be waiting any more.
            let _ = accepted.send((end, queued.elapsed()));
        }
    }
}
