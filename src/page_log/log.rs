//! The log as its parts share it.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::{Semaphore, watch};

use super::queue::{KEPT_BYTES, Queue, Writer};
use super::segment;
use super::state::State;
use super::status::LogStatus;
use crate::blocking::Signal;
use crate::config::LogConfig;
use crate::delivery::{Deriver, Position};
use crate::disk;
use crate::parse::DeriveOptions;

/// The page log. Cheap to clone; the folder stays locked until the last clone and reader are gone.
#[derive(Debug, Clone)]
pub struct PageLog {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub dir: PathBuf,
    pub config: RwLock<LogConfig>,
    pub queue: Mutex<Queue>,
    /// The queue has something, has enough, or is closed.
    pub filled: Signal,
    /// Free bytes of the queue.
    pub space: Arc<Semaphore>,
    /// Of all entries.
    pub deriver: RwLock<Arc<Deriver>>,
    pub state: Mutex<State>,
    /// `state.end` or `state.finished` has changed.
    pub published: Signal,
    /// Marked changed, behind the change, whenever a reader's cursor has moved or a reader came or went.
    pub moved: watch::Sender<()>,
    /// While it is full: the reader that was said to be last.
    pub full_because: Mutex<Option<String>>,
    pub writer: Mutex<Writer>,
    pub lock: File,
}

impl PageLog {
    pub fn status(&self) -> LogStatus {
        let free_bytes = disk::free_bytes(&self.inner.lock).ok();
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

    /// Entries derive themselves by these options from now on, instead of those that it was opened with.
    pub fn derive_by(&self, options: DeriveOptions) {
        *self.inner.deriver.write() = Deriver::keeping(KEPT_BYTES, options);
    }

    /// Puts another configuration in the place of the one it was opened with.
    pub fn configure(&self, config: &LogConfig) {
        *self.inner.config.write() = config.clone();
        self.inner.tell_room(&self.inner.state.lock());
    }
}

impl Inner {
    pub fn deriver(&self) -> Arc<Deriver> {
        self.deriver.read().clone()
    }

    pub fn config(&self) -> LogConfig {
        self.config.read().clone()
    }

    /// Frees the segments that every reader has passed.
    pub fn free(&self, mut state: MutexGuard<State>) {
        let freed = state.free();
        if !freed.is_empty() || self.full_because.lock().is_some() {
            self.tell_room(&state);
        }
        drop(state);
        segment::remove(&freed);
    }

    /// Says when the log is full, and when it is not any more. To be called with the state as it is now.
    pub fn tell_room(&self, state: &State) {
        let closed = self.queue.lock().closed;
        let is_full = !closed && state.bytes() >= self.config().max_bytes;
        let last = state.readers.iter().min_by_key(|(_, slot)| slot.held);
        let (reader, slot) = last.map_or(("nobody", None), |(name, slot)| (name.as_str(), Some(slot)));
        let told = std::mem::replace(&mut *self.full_because.lock(), is_full.then(|| reader.to_owned()));
        // Who was last when it filled up may have gone on meanwhile, and another be what it waits for.
        if is_full && told.as_deref() != Some(reader) {
            let bytes = slot.map_or(0, |slot| state.end.offset - slot.held.offset);
            tracing::warn!(
                state = "log_full",
                reader,
                bytes,
                "page log: full (page_log.max_size) because of {reader}, which has the oldest of it still to take; fetching waits"
            );
        } else if !is_full && told.is_some() && !closed {
            tracing::info!(state = "log_room", "page log: room again, fetching goes on");
        }
    }
}

/// The first place that is behind both.
pub(super) fn beyond(end: Position, other: Position) -> Position {
    Position { index: end.index.max(other.index), offset: end.offset.max(other.offset) }
}
