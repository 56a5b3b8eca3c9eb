//! What the writer and the readers share, behind one lock: what is durable, and who needs which of it.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::status::{Books, Damage, ReaderStatus};
use crate::delivery::{Cursor, Entry, Position};

/// Bytes of accepted entries kept in memory for readers that keep up.
const TAIL_BYTES: u64 = 24 << 20;
pub(super) const MOST_DAMAGE: usize = 1000;

#[derive(Debug)]
pub(super) struct State {
    /// Behind the last accepted event.
    pub end: Position,
    /// In order and without gaps: one ends where the next starts, the last at `end`. Never empty after the writer's start.
    pub segments: VecDeque<Segment>,
    pub tail: Tail,
    pub readers: BTreeMap<String, Slot>,
    pub damage: Vec<Damage>,
    /// The writer has drained the queue after `close`.
    pub finished: bool,
    /// So many just copy the log: nothing is freed.
    pub holds: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub path: PathBuf,
    pub start: Position,
    pub bytes: u64,
}

/// What is known of a reader, opened in this run or not.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// The last one committed or released.
    pub cursor: Cursor,
    /// Durable: segments behind it are kept. A follower's may lie before its cursor.
    pub held: Position,
    pub follower: bool,
    pub opened: bool,
}

impl Slot {
    pub fn new(cursor: Cursor, follower: bool) -> Slot {
        Slot { held: cursor.position, cursor, follower, opened: false }
    }
}

impl State {
    /// Before the oldest event kept.
    pub fn oldest(&self) -> Position {
        self.segments.front().map_or(self.end, |segment| segment.start)
    }

    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The segment with the event behind `at`, and where it ends; the oldest one when that is gone.
    pub fn segment_of(&self, at: Position) -> Option<(Segment, Position)> {
        let number = self.segments.partition_point(|segment| segment.start.index <= at.index).saturating_sub(1);
        let segment = self.segments.get(number)?.clone();
        Some((segment, self.segments.get(number + 1).map_or(self.end, |next| next.start)))
    }

    /// Takes the segments out that every reader has passed; their files are to be removed. The last one always stays:
    /// it keeps the log's place.
    pub fn free(&mut self) -> Vec<PathBuf> {
        let (Some(held), Some(passed)) = (
            self.readers.values().map(|slot| slot.held).min(),
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

    /// Notes damage once, however many readers meet it.
    pub fn note(&mut self, damage: Damage) {
        if self.damage.len() < MOST_DAMAGE && !self.damage.contains(&damage) {
            tracing::error!(
                segment = %damage.segment.display(), offset = damage.offset, bytes = damage.bytes, events = damage.events,
                "the page log is damaged: these events are lost, readers go on behind them; check this disk"
            );
            self.damage.push(damage);
        }
    }

    /// Bytes of records that a reader has not passed; none when there is no such reader.
    pub fn unread(&self, reader: &str) -> Option<u64> {
        let at = self.readers.get(reader)?.cursor.position;
        Some(self.end.offset.saturating_sub(at.offset))
    }

    pub fn reader_status(&self) -> Vec<ReaderStatus> {
        let status = |(name, slot): (&String, &Slot)| {
            let pending = self.end.index.saturating_sub(slot.cursor.position.index);
            let books = (!slot.follower).then(|| Books {
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
                unread_bytes: self.end.offset.saturating_sub(slot.held.offset),
                missed: slot.cursor.from,
                anew: slot.cursor.anew.clone(),
                opened: slot.opened,
                books,
            }
        };
        self.readers.iter().map(status).collect()
    }
}

/// The last accepted entries, without gaps. What was derived of them is kept as long as they are here.
#[derive(Debug, Default)]
pub(super) struct Tail {
    entries: VecDeque<(Arc<Entry>, u64)>,
    bytes: u64,
}

impl Tail {
    /// `cost`: bytes of memory it holds.
    pub fn push(&mut self, entry: Arc<Entry>, cost: u64) {
        self.bytes += cost;
        self.entries.push_back((entry, cost));
        while self.bytes > TAIL_BYTES {
            self.pop();
        }
    }

    /// Forgets what every reader has passed.
    fn trim(&mut self, passed: Position) {
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

    /// Entries behind `at`, at least one if it is here, up to so many and so many bytes of records.
    pub fn behind(&self, at: Position, max_events: usize, max_bytes: u64) -> Vec<Arc<Entry>> {
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
