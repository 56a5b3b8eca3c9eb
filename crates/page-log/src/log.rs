//! The state of the log that its parts share.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locks::{Mutex, MutexGuard, RwLock};
use tokio::sync::{Semaphore, watch};

use super::queue::{KEPT_BYTES, Queue, Writer};
use super::segment;
use super::state::State;
use super::status::LogStatus;
use crate::LogConfig;
use seine_delivery::{Deriver, Offset};
use seine_parse::DeriveOptions;
use seine_system::blocking::Signal;
use seine_system::disk;

/// The page log. Cheap to clone. The folder stays locked until the last clone and the last reader are dropped.
#[derive(Debug, Clone)]
pub struct PageLog {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub dir: PathBuf,
    pub config: RwLock<LogConfig>,
    pub queue: Mutex<Queue>,
    /// Signalled when the queue has its first event, has enough for a batch, or is closed.
    pub filled: Signal,
    /// Free bytes of the queue.
    pub space: Arc<Semaphore>,
    /// Derives data for all entries.
    pub deriver: RwLock<Arc<Deriver>>,
    /// Workers of the runtime take this lock, so nobody holds it while the disk is read or written.
    pub state: Mutex<State>,
    /// Held by whoever opens, resets, adds, removes or copies readers. So none of them changes a cursor file that another
    /// one uses. They may wait for the disk meanwhile. Taken before `state`.
    pub administration: Mutex<()>,
    /// Signalled when `state.end` or `state.finished` changes.
    pub published: Signal,
    /// Signalled after a reader's cursor has moved, or a reader was added or removed.
    pub moved: watch::Sender<()>,
    /// While the log is full: the reader that was named in the log message.
    pub full_because: Mutex<Option<String>>,
    pub writer: Mutex<Writer>,
    pub lock: File,
    /// Free bytes of the disk when they were last measured; [`UNKNOWN`] if that failed.
    pub free_bytes: AtomicU64,
}

/// No measured free space.
const UNKNOWN: u64 = u64::MAX;

impl PageLog {
    pub fn status(&self) -> LogStatus {
        let free_bytes = self.inner.free_bytes();
        let config = self.inner.config();
        let state = self.inner.state.lock();
        LogStatus {
            end: state.end,
            oldest: state.oldest(),
            bytes: state.bytes(),
            segments: state.segments.len(),
            room: state.bytes() < config.max_bytes,
            free_bytes,
            reserve_bytes: config.reserve_bytes,
            damage: state.damage.clone(),
            readers: state.reader_status(),
        }
    }

    /// Measures the free space of the disk, as the writer does several times a second. A file system on a network may let
    /// the caller wait.
    pub fn measure_free_space(&self) {
        self.inner.measure_free_space();
    }

    /// Uses these options from now on to derive data from entries.
    pub fn derive_by(&self, options: DeriveOptions) {
        *self.inner.deriver.write() = Deriver::keeping(KEPT_BYTES, options);
    }

    /// Replaces the configuration given at opening.
    pub fn configure(&self, config: &LogConfig) {
        *self.inner.config.write() = config.clone();
        self.inner.log_space(&self.inner.state.lock());
    }
}

impl Inner {
    pub(crate) fn deriver(&self) -> Arc<Deriver> {
        self.deriver.read().clone()
    }

    pub(crate) fn measure_free_space(&self) {
        self.free_bytes.store(disk::free_bytes(&self.lock).unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    /// As last measured; none if unknown.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        Some(self.free_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes != UNKNOWN)
    }

    pub(crate) fn config(&self) -> LogConfig {
        self.config.read().clone()
    }

    /// Removes the segments that every reader has passed.
    pub(crate) fn free(&self, mut state: MutexGuard<State>) {
        let freed = state.free();
        if !freed.is_empty() || self.full_because.lock().is_some() {
            self.log_space(&state);
        }
        drop(state);
        segment::remove(&freed);
    }

    /// Logs when the log becomes full, and when it has space again. Call it with the current state.
    pub(crate) fn log_space(&self, state: &State) {
        let closed = self.queue.lock().closed;
        let is_full = !closed && state.bytes() >= self.config().max_bytes;
        let last = state.readers.iter().min_by_key(|(_, slot)| slot.kept_from);
        let (reader, slot) = last.map_or(("nobody", None), |(name, slot)| (name.as_str(), Some(slot)));
        let told = std::mem::replace(&mut *self.full_because.lock(), is_full.then(|| reader.to_owned()));
        // The reader named earlier may have gone on, so that the log now waits for another one.
        if is_full && told.as_deref() != Some(reader) {
            let bytes = slot.map_or(0, |slot| state.end.offset - slot.kept_from.offset);
            tracing::warn!(
                state = "log_full",
                reader,
                bytes,
                "page log: full (page_log.max_size), because {reader} has not read its oldest events; fetching waits"
            );
        } else if !is_full && told.is_some() && !closed {
            tracing::info!(state = "log_room", "page log: has space again; fetching continues");
        }
    }
}

/// The first position that is after both.
pub(super) fn beyond(end: Offset, other: Offset) -> Offset {
    Offset { index: end.index.max(other.index), offset: end.offset.max(other.offset) }
}
