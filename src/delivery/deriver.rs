//! How entries are derived, and how much of it is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::large;
use crate::page::PageEvent;
use crate::parse::decode::{DecodeProblem, Decoded};
use crate::parse::{DeriveOptions, Derived};

/// How the entries of one origin are derived: those of a log, of an archive, of dead letters.
#[derive(Debug)]
pub struct Deriver {
    pub(super) options: DeriveOptions,
    /// For what is kept; none where no two readers share an entry.
    room: Option<Arc<Semaphore>>,
    cut: AtomicU64,
}

/// What was derived of an event, and its share of what may be kept.
#[derive(Debug)]
pub struct Kept {
    pub(super) facts: Arc<Derived>,
    bytes: usize,
    _room: OwnedSemaphorePermit,
}

impl Kept {
    /// Bytes of memory it holds, beyond what it shares with the event.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Deriver {
    /// For entries that have one reader: nothing is kept.
    pub fn new(options: DeriveOptions) -> Arc<Deriver> {
        Arc::new(Deriver { options, room: None, cut: AtomicU64::new(0) })
    }

    /// For entries that readers share: up to `bytes` are kept of what is derived, in all.
    pub fn keeping(bytes: usize, options: DeriveOptions) -> Arc<Deriver> {
        let room = Some(Arc::new(Semaphore::new(bytes.min(MOST_KEPT))));
        Arc::new(Deriver { options, room, cut: AtomicU64::new(0) })
    }

    /// Bodies that were cut at the limit for decoding, each time that they were decoded.
    pub fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// None when it is large, or too much is kept already: this never waits, an entry is worth more than what can be
    /// derived of it again.
    pub fn keep(&self, event: &PageEvent, facts: Arc<Derived>) -> Option<Kept> {
        let bytes = bytes_of(event, &facts);
        let room = self.room.as_ref().filter(|_| (bytes as u64) < large::SMALL)?;
        let room = room.clone().try_acquire_many_owned(bytes as u32).ok()?;
        Some(Kept { facts, bytes, _room: room })
    }

    /// What `read` makes of the decoded body. A large page waits for room, and has it as long as the body is held
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
    /// A string's own, and what its allocation is rounded up by.
    const STRING: usize = 48;
    let is_shared = event.response().is_some_and(|response| response.body.as_ptr() == facts.body.as_ptr());
    let urls = facts.links.iter().map(|link| &link.url).chain(&facts.sitemaps);
    let urls: usize = urls.map(|url| url.len() + STRING).sum();
    1000 + urls + if is_shared { 0 } else { facts.body.len() }
}
