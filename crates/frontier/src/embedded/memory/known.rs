//! A small cache of known URLs. Most links of a page are also on neighbouring pages, and then need no read of the
//! store.

use crate::keys::UrlKey;

/// 8 MiB.
const SLOTS: usize = 1 << 20;

/// One URL per slot; the last one wins. A known URL stays known until it is forgotten, so entries never become stale.
/// Two URLs are mixed up if 64 bits of their hashes agree, as in the store's keys.
#[derive(Debug)]
pub(crate) struct Known {
    slots: Box<[u64]>,
}

impl Default for Known {
    fn default() -> Self {
        Known { slots: vec![0; SLOTS].into_boxed_slice() }
    }
}

impl Known {
    pub(crate) fn contains(&self, url: UrlKey) -> bool {
        let (slot, mark) = slot_of(url);
        self.slots[slot] == mark
    }

    pub(crate) fn insert(&mut self, url: UrlKey) {
        let (slot, mark) = slot_of(url);
        self.slots[slot] = mark;
    }

    pub(crate) fn remove(&mut self, url: UrlKey) {
        let (slot, mark) = slot_of(url);
        if self.slots[slot] == mark {
            self.slots[slot] = 0;
        }
    }
}

/// The mark is never 0, which is an empty slot.
fn slot_of(url: UrlKey) -> (usize, u64) {
    let mark = url.mixed();
    ((mark % SLOTS as u64) as usize, mark.max(1))
}
