//! The messages that a Kafka sink has taken and not yet passed, in the order of the log.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use seine_delivery::{Entry, Offset};

use super::message::key_hash;

/// Each slot has a permanent number, its sequence.
#[derive(Default)]
pub(super) struct Slots {
    slots: VecDeque<MessageSlot>,
    /// Sequence of the first slot.
    first: usize,
    /// Key hashes of unsettled messages. Only one message per key is in flight.
    keys: HashSet<u64>,
}

pub(super) struct MessageSlot {
    pub end: Offset,
    pub state: MessageState,
}

pub(super) enum MessageState {
    InFlight(Arc<Entry>),
    /// The message was written to `place`. Tombstones are in flight to the partitions that its key had before
    /// partitions were added.
    Moving {
        entry: Arc<Entry>,
        location: (i32, i64),
        tombstones: usize,
    },
    /// Written to this partition and offset.
    Delivered(Option<(i32, i64)>),
    Skipped,
    /// Rejected, with the reason.
    Dead(Arc<Entry>, String),
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Sequence of the next slot.
    pub(super) fn sequence(&self) -> usize {
        self.first + self.slots.len()
    }

    /// Whether a message with this key is in flight.
    pub(super) fn has_key(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }

    pub(super) fn push(&mut self, end: Offset, state: MessageState) {
        if let MessageState::InFlight(entry) = &state {
            self.keys.insert(key_hash(entry));
        }
        self.slots.push_back(MessageSlot { end, state });
    }

    pub(super) fn state(&self, sequence: usize) -> Option<&MessageState> {
        Some(&self.slots.get(sequence.checked_sub(self.first)?)?.state)
    }

    /// Changes the state of an unsettled message.
    pub(super) fn set(&mut self, sequence: usize, state: impl FnOnce(Arc<Entry>) -> MessageState) {
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

    /// Removes the first slot if it is settled.
    pub(super) fn pop(&mut self) -> Option<MessageSlot> {
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
