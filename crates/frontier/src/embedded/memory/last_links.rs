//! The last link to each URL, for the latest pages, in memory (`changes/sources.rs`).

use crate::embedded::disk::records::Source;
use crate::keys::UrlKey;

/// 1 MiB, so that it stays in the processor's cache, and a quarter.
const SLOTS: usize = 1 << 17;
const PAGES: usize = 1 << 13;

/// The last links. If two URLs share a slot, the later one wins. Two URLs are mixed up if 49 bits of their keys agree.
#[derive(Debug)]
pub(crate) struct LastLinks {
    /// 32 bits of the URL's key, and the number of the page.
    slots: Box<[(u32, u32)]>,
    /// The latest pages; number `n`, from 1, is at `n % PAGES`.
    pages: Vec<Source>,
    count: u32,
}

impl Default for LastLinks {
    fn default() -> Self {
        LastLinks { slots: vec![(0, 0); SLOTS].into_boxed_slice(), pages: Vec::new(), count: 0 }
    }
}

impl LastLinks {
    pub(crate) fn add(&mut self, source: &Source, urls: &[UrlKey]) {
        self.count = self.count.wrapping_add(1).max(1);
        let at = self.count as usize % PAGES;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, Source::default());
        }
        self.pages[at] = source.clone();
        for url in urls {
            let (slot, mark) = slot_of(*url);
            self.slots[slot] = (mark, self.count);
        }
    }

    pub(crate) fn of(&self, url: UrlKey) -> Option<&Source> {
        let (slot, mark) = slot_of(url);
        let (is_of, page) = self.slots[slot];
        let is_kept = page > 0 && self.count.wrapping_sub(page) < PAGES as u32;
        self.pages.get(page as usize % PAGES).filter(|_| is_of == mark && is_kept)
    }
}

fn slot_of(url: UrlKey) -> (usize, u32) {
    let mixed = url.mixed();
    (mixed as usize % SLOTS, (mixed >> 32) as u32)
}
