//! Derives data from events, and limits how much derived data stays in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::large;
use seine_parse::decode::{DecodeProblem, Decoded};
use seine_parse::page::PageEvent;
use seine_parse::{DeriveOptions, Derived};

/// Derives data (decoded body, links, text) for the entries of one source: a log, an archive or dead letters.
#[derive(Debug)]
pub struct Deriver {
    pub(super) options: DeriveOptions,
    /// Memory for derived data that several readers share. None if every entry has one reader.
    room: Option<Arc<Semaphore>>,
    cut: AtomicU64,
}

/// Data derived from an event, with its share of the memory limit.
#[derive(Debug)]
pub struct Kept {
    pub(super) facts: Arc<Derived>,
    bytes: usize,
    _room: OwnedSemaphorePermit,
}

impl Kept {
    /// Bytes of memory used, apart from what is shared with the event.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Deriver {
    /// For entries with one reader: keeps nothing.
    pub fn new(options: DeriveOptions) -> Arc<Deriver> {
        Arc::new(Deriver { options, room: None, cut: AtomicU64::new(0) })
    }

    /// For entries that several readers share: keeps up to `bytes` of derived data in total.
    pub fn keeping(bytes: usize, options: DeriveOptions) -> Arc<Deriver> {
        let room = Some(Arc::new(Semaphore::new(bytes.min(MOST_KEPT))));
        Arc::new(Deriver { options, room, cut: AtomicU64::new(0) })
    }

    /// How many bodies were cut at the limit for decoding. A body counts each time it is decoded.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// Returns None if the data is large or the memory limit is reached. Never waits: the data can be derived again,
    /// and an entry must not be held up.
    pub fn keep(&self, event: &PageEvent, facts: Arc<Derived>) -> Option<Kept> {
        let bytes = bytes_of(event, &facts);
        let room = self.room.as_ref().filter(|_| (bytes as u64) < large::SMALL)?;
        let room = room.clone().try_acquire_many_owned(bytes as u32).ok()?;
        Some(Kept { facts, bytes, _room: room })
    }

    /// Applies `read` to the decoded body. A large page waits for memory and holds it until the body is dropped
    /// ([`large::derive`]).
    pub(super) fn derive(&self, event: &PageEvent, read: impl FnOnce(Decoded) -> Derived) -> Derived {
        let derived = large::derive(event, &self.options, read);
        if matches!(derived.decode_problem, Some(DecodeProblem::OverLimit { .. })) {
            self.cut.fetch_add(1, Ordering::Relaxed);
        }
        derived
    }
}

const MOST_KEPT: usize = u32::MAX as usize;

fn bytes_of(event: &PageEvent, facts: &Derived) -> usize {
    /// Size of a `String` plus allocator overhead.
    const STRING: usize = 48;
    let is_shared = event.response().is_some_and(|response| response.body.as_ptr() == facts.body.as_ptr());
    let urls = facts.links.iter().map(|link| &link.url).chain(&facts.sitemaps);
    let urls: usize = urls.map(|url| url.len() + STRING).sum();
    1000 + urls + if is_shared { 0 } else { facts.body.len() }
}
