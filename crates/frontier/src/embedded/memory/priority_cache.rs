//! A small cache of URLs' priorities, if links have scores.

use crate::keys::UrlKey;

/// A small cache of URLs' priorities, so that most links to known URLs need no read of the store. Two URLs are mixed up
/// if 56 bits of their keys agree. An outdated priority keeps a URL in its position until the queue is scored again.
#[derive(Debug, Default)]
pub(crate) struct PriorityCache {
    /// The key without its last byte, and the priority. Empty until links have scores.
    slots: Box<[u64]>,
}

/// 2 MiB.
const SLOTS: usize = 1 << 18;

impl PriorityCache {
    /// Whether the URL is known to have at least this priority, or to have left the queue.
    pub(crate) fn is_as_good(&self, url: UrlKey, priority: u8) -> bool {
        let (at, mark) = slot(url);
        let known = self.slots.get(at).copied().unwrap_or(0);
        known >> 8 == mark && known as u8 <= priority
    }

    pub(crate) fn set(&mut self, url: UrlKey, priority: u8) {
        if self.slots.is_empty() {
            self.slots = vec![0; SLOTS].into_boxed_slice();
        }
        let (at, mark) = slot(url);
        self.slots[at] = mark << 8 | u64::from(priority);
    }
}

fn slot(url: UrlKey) -> (usize, u64) {
    let mixed = url.mixed();
    (mixed as usize % SLOTS, (mixed >> 8).max(1))
}
