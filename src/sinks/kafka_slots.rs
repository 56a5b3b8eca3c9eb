//! What a Kafka sink has taken and not passed, in the log's order.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::kafka_message::key_hash;
use crate::delivery::{Entry, Position};

/// Each slot has a number for good, its sequence.
#[derive(Default)]
pub(super) struct Slots {
    slots: VecDeque<MessageSlot>,
    /// The first slot's sequence.
    first: usize,
    /// Hashes of the keys of messages that are not settled. Of one key one is under way.
    keys: HashSet<u64>,
}

pub(super) struct MessageSlot {
    pub end: Position,
    pub state: MessageState,
}

pub(super) enum MessageState {
    InFlight(Arc<Entry>),
    /// It went to this place, and so many tombstones are on their way to where messages of its key lay before partitions were added.
    Moving {
        entry: Arc<Entry>,
        place: (i32, i64),
        tombstones: usize,
    },
    /// To this partition and offset.
    Delivered(Option<(i32, i64)>),
    Skipped,
    /// With the reason.
    Dead(Arc<Entry>, String),
}

impl Slots {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The next slot's.
    pub fn sequence(&self) -> usize {
        self.first + self.slots.len()
    }

    /// A message of this key is under way.
    pub fn has_key(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }

    pub fn push(&mut self, end: Position, state: MessageState) {
        if let MessageState::InFlight(entry) = &state {
            self.keys.insert(key_hash(entry));
        }
        self.slots.push_back(MessageSlot { end, state });
    }

    pub fn state(&self, sequence: usize) -> Option<&MessageState> {
        Some(&self.slots.get(sequence.checked_sub(self.first)?)?.state)
    }

    /// Of a message that is not settled.
    pub fn set(&mut self, sequence: usize, state: impl FnOnce(Arc<Entry>) -> MessageState) {
        let slot = sequence.checked_sub(self.first).and_then(|at| self.slots.get_mut(at));
        if let Some(slot) = slot
            && let MessageState::InFlight(entry) | MessageState::Moving { entry, .. } = &slot.state
        {
            let entry = entry.clone();
            slot.state = state(entry.clone());
            if !slot.is_under_way() {
                self.keys.remove(&key_hash(&entry));
            }
        }
    }

    /// The first slot, if it is settled.
    pub fn pop(&mut self) -> Option<MessageSlot> {
        if self.slots.front()?.is_under_way() {
            return None;
        }
        self.first += 1;
        self.slots.pop_front()
    }
}

impl MessageSlot {
    fn is_under_way(&self) -> bool {
        matches!(self.state, MessageState::InFlight(_) | MessageState::Moving { .. })
    }
}
