//! The events that are written at once, and the segment they go to.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::error::LogError;
use super::queue::Pending;
use super::record::{Header, MAX_PAYLOAD};
use super::state::Segment;
use crate::delivery::Position;

/// Most bytes of one batch; one event may be larger.
pub(super) const BATCH_BYTES: u64 = 4 << 20;

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

impl Writer {
    /// Goes on with the last segment of an earlier run, cut and fsynced.
    pub fn go_on(&mut self, file: File, last: &Segment) {
        self.segment = Some(Active { file, path: last.path.clone(), length: last.bytes });
    }

    /// The next event begins a new segment.
    pub fn new_segment(&mut self) {
        self.segment = None;
    }

    /// The batch's records, one after the other; returns the place behind each.
    pub fn fill_buffer(&mut self, start: Position) -> Vec<Position> {
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

    pub fn write(&mut self) -> Result<(), LogError> {
        let Some(active) = &mut self.segment else { return Ok(()) };
        active.file.write_all_at(&self.buffer, active.length).map_err(LogError::io("write to", &active.path))?;
        active.file.sync_data().map_err(LogError::io("sync", &active.path))?;
        active.length += self.buffer.len() as u64;
        Ok(())
    }

    /// Gives the segment up, cut to what is durable. If even the cut fails, the next segment's start tells where this
    /// one ends.
    pub fn abandon(&mut self) {
        self.unsure = false;
        let Some(active) = self.segment.take() else { return };
        if let Err(error) = active.file.set_len(active.length) {
            tracing::warn!(segment = %active.path.display(), %error, "could not cut what was not accepted off a segment");
        }
    }
}
