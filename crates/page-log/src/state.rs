//! The state that the writer and the readers share, behind one lock: which events are durable, and which of them
//! readers still need.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::status::{Counters, Damage, ReaderStatus};
use seine_delivery::{Cursor, Entry, Offset};

/// Bytes of accepted entries kept in memory for readers that keep up.
const TAIL_BYTES: u64 = 24 << 20;
pub(super) const MOST_DAMAGE: usize = 1000;

#[derive(Debug)]
pub(super) struct State {
    /// The position after the last accepted event.
    pub end: Offset,
    /// In order and without gaps: each segment ends where the next starts, and the last ends at `end`. Never empty once
    /// the writer has started.
    pub segments: VecDeque<Segment>,
    pub tail: Tail,
    pub readers: BTreeMap<String, Slot>,
    pub damage: Vec<Damage>,
    /// The writer has emptied the queue after `close`.
    pub finished: bool,
    /// Number of copies being taken and of readers being added. While above 0, no segment is removed.
    pub holds: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub path: PathBuf,
    pub start: Offset,
    pub bytes: u64,
}

/// The log's record of a reader, whether open or not.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// The last committed or released cursor.
    pub cursor: Cursor,
    /// The durable position: segments after it are kept. For a follower it may be before its cursor.
    pub kept_from: Offset,
    pub follower: bool,
    pub opened: bool,
}

impl Slot {
    pub(crate) fn new(cursor: Cursor, follower: bool) -> Slot {
        Slot { kept_from: cursor.position, cursor, follower, opened: false }
    }
}

impl State {
    /// The position before the oldest event.
    pub(crate) fn oldest(&self) -> Offset {
        self.segments.front().map_or(self.end, |segment| segment.start)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The segment with the event after `at`, and its end. If that segment was removed, the oldest one.
    pub(crate) fn segment_of(&self, at: Offset) -> Option<(Segment, Offset)> {
        let number = self.segments.partition_point(|segment| segment.start.index <= at.index).saturating_sub(1);
        let segment = self.segments.get(number)?.clone();
        Some((segment, self.segments.get(number + 1).map_or(self.end, |next| next.start)))
    }

    /// Takes out the segments that every reader has passed; the caller deletes their files. The last segment always
    /// stays, since it records the end of the log.
    pub(crate) fn free(&mut self) -> Vec<PathBuf> {
        let (Some(held), Some(passed)) = (
            self.readers.values().map(|slot| slot.kept_from).min(),
            self.readers.values().map(|slot| slot.cursor.position).min(),
        ) else {
            return Vec::new();
        };
        self.tail.trim(passed);
        let mut freed = Vec::new();
        while self.holds == 0 && self.segments.get(1).is_some_and(|next| next.start.index <= held.index) {
            freed.extend(self.segments.pop_front().map(|segment| segment.path));
        }
        freed
    }

    /// Records damage once, however many readers find it.
    pub(crate) fn note(&mut self, damage: Damage) {
        if self.damage.len() < MOST_DAMAGE && !self.damage.contains(&damage) {
            tracing::error!(
                segment = %damage.segment.display(), offset = damage.offset, bytes = damage.bytes, events = damage.events,
                "the page log is damaged: these events are lost, and readers continue after them; check this disk"
            );
            self.damage.push(damage);
        }
    }

    /// Bytes of records that a reader has not passed; none if there is no such reader.
    pub(crate) fn unread(&self, reader: &str) -> Option<u64> {
        let at = self.readers.get(reader)?.cursor.position;
        Some(self.end.offset.saturating_sub(at.offset))
    }

    pub(crate) fn reader_status(&self) -> Vec<ReaderStatus> {
        let status = |(name, slot): (&String, &Slot)| {
            let pending = self.end.index.saturating_sub(slot.cursor.position.index);
            let books = (!slot.follower).then(|| Counters {
                accepted: self.end.index.saturating_sub(slot.cursor.from),
                delivered: slot.cursor.delivered,
                skipped: slot.cursor.skipped,
                dead: slot.cursor.dead,
                damaged: slot.cursor.damaged,
                pending,
            });
            ReaderStatus {
                name: name.clone(),
                position: slot.cursor.position,
                pending,
                unread_bytes: self.end.offset.saturating_sub(slot.kept_from.offset),
                missed: slot.cursor.from,
                anew: slot.cursor.anew.clone(),
                opened: slot.opened,
                counters: books,
            }
        };
        self.readers.iter().map(status).collect()
    }
}

/// The last accepted entries, without gaps. Data derived from them is kept as long as they are here.
#[derive(Debug, Default)]
pub(super) struct Tail {
    entries: VecDeque<(Arc<Entry>, u64)>,
    bytes: u64,
}

impl Tail {
    /// `cost`: bytes of memory used by the entry.
    pub(crate) fn push(&mut self, entry: Arc<Entry>, cost: u64) {
        self.bytes += cost;
        self.entries.push_back((entry, cost));
        while self.bytes > TAIL_BYTES {
            self.pop();
        }
    }

    /// Drops the entries that every reader has passed.
    fn trim(&mut self, passed: Offset) {
        while self.entries.front().is_some_and(|(entry, _)| entry.end.index <= passed.index) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some((entry, cost)) = self.entries.pop_front() {
            self.bytes -= cost;
            entry.forget();
        }
    }

    /// Entries after `at`: at least one if available, limited in number and in bytes of records.
    pub(crate) fn behind(&self, at: Offset, max_events: usize, max_bytes: u64) -> Vec<Arc<Entry>> {
        let Some((first, _)) = self.entries.front() else { return Vec::new() };
        if at.index + 1 < first.end.index {
            return Vec::new();
        }
        let skip = (at.index + 1 - first.end.index) as usize;
        let mut taken = Vec::new();
        for (entry, _) in self.entries.iter().skip(skip).take(max_events.max(1)) {
            if !taken.is_empty() && entry.end.offset.saturating_sub(at.offset) > max_bytes {
                break;
            }
            taken.push(entry.clone());
        }
        taken
    }
}
