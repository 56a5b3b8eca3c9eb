//! A small memory of URLs seen lately that are known: most links of a page lead to pages its neighbours link to as well,
//! and need no look into the store.

use crate::frontier::keys::UrlKey;

/// 8 MiB.
const SLOTS: usize = 1 << 20;

/// One URL a slot, the last one wins. A known URL stays known until it is forgotten, so nothing here ever grows stale. Two URLs are taken for
/// one when 64 bits of hash agree, as they are in the store's keys.
#[derive(Debug)]
pub struct Known {
    slots: Box<[u64]>,
}

impl Default for Known {
    fn default() -> Self {
        Known { slots: vec![0; SLOTS].into_boxed_slice() }
    }
}

impl Known {
    pub fn contains(&self, url: UrlKey) -> bool {
        let (slot, mark) = place(url);
        self.slots[slot] == mark
    }

    pub fn insert(&mut self, url: UrlKey) {
        let (slot, mark) = place(url);
        self.slots[slot] = mark;
    }

    pub fn remove(&mut self, url: UrlKey) {
        let (slot, mark) = place(url);
        if self.slots[slot] == mark {
            self.slots[slot] = 0;
        }
    }
}

/// The mark is never 0, which is an empty slot.
fn place(url: UrlKey) -> (usize, u64) {
    let mark = url.mixed();
    ((mark % SLOTS as u64) as usize, mark.max(1))
}
