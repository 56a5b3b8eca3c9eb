//! Which URLs have a page at a destination that cannot be asked for one URL, for an audit.
//!
//! The destination is read as a whole. URLs are kept as 64-bit hashes. If there are too many for the memory, the
//! audit reads the destination several times, and each pass keeps its share of the hashes.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

/// Hashes kept at once. The tables of so many take some 150 MiB while they grow.
pub const KEYS_AT_ONCE: usize = 7 << 20;

/// The URLs of one pass that have a page.
#[derive(Debug)]
pub struct LiveKeys {
    at_once: usize,
    /// This pass keeps hashes whose remainder by `passes` is `pass`.
    passes: u64,
    pass: u64,
    /// Pages in the parts that were read to their end …
    complete: HashSet<u64>,
    /// … and in the part that is being read. A removal in one part does not remove a page of another.
    part: HashSet<u64>,
}

impl LiveKeys {
    /// The first pass. It finds out how many are needed.
    pub fn new(at_once: usize) -> LiveKeys {
        LiveKeys { at_once, passes: 1, pass: 0, complete: HashSet::new(), part: HashSet::new() }
    }

    /// The pass after this one; none if this was the last.
    pub fn next_pass(self) -> Option<LiveKeys> {
        let next = LiveKeys { pass: self.pass + 1, passes: self.passes, ..LiveKeys::new(self.at_once) };
        (next.pass < next.passes).then_some(next)
    }

    /// A page was written.
    pub fn written(&mut self, url: &str) {
        let hash = xxh3_64(url.as_bytes());
        if !self.has(hash) {
            return;
        }
        self.part.insert(hash);
        // The shares of later passes are about as large, because hashes are spread evenly.
        while self.pass == 0 && self.part.len() + self.complete.len() > self.at_once {
            self.passes *= 2;
            for keys in [&mut self.part, &mut self.complete] {
                keys.retain(|hash| hash % self.passes == 0);
            }
        }
    }

    /// The page left.
    pub fn removed(&mut self, url: &str) {
        self.part.remove(&xxh3_64(url.as_bytes()));
    }

    /// A part of the destination, such as a partition, was read to its end.
    pub fn end_part(&mut self) {
        self.complete.extend(self.part.drain());
    }

    /// Whether this pass decides about the URL.
    pub fn cover(&self, url: &str) -> bool {
        self.has(xxh3_64(url.as_bytes()))
    }

    /// Whether the URL has a page. Only for URLs that this pass covers.
    pub fn hold(&self, url: &str) -> bool {
        self.complete.contains(&xxh3_64(url.as_bytes()))
    }

    fn has(&self, hash: u64) -> bool {
        hash % self.passes == self.pass
    }
}
