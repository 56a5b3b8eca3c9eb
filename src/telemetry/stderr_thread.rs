//! Standard error of a crawl, written by a thread of its own. Its reader may stop reading, such as a terminal after
//! Ctrl-S or a log driver that stalls. Then the crawl goes on, and lines are counted instead of written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Lines that may wait for the reader.
const WAITING: usize = 4096;
/// How long the end of a crawl waits for the reader.
const LAST_WAIT: Duration = Duration::from_secs(2);

type Write = Box<dyn FnOnce() + Send>;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct StderrThread {
    queue: SyncSender<Write>,
    dropped: Arc<AtomicU64>,
}

impl StderrThread {
    /// `report`: writes how many lines were not written.
    pub(super) fn start(report: impl Fn(u64) + Send + 'static) -> StderrThread {
        let (queue, waiting) = sync_channel(WAITING);
        let dropped = Arc::<AtomicU64>::default();
        let at = StderrThread { queue, dropped: dropped.clone() };
        std::thread::Builder::new()
            .name("stderr".to_owned())
            .spawn(move || write_all(&waiting, &dropped, &report))
            .expect("the system gives the process a thread");
        at
    }

    /// Writes soon, or never if too much waits already.
    pub(super) fn write(&self, write: impl FnOnce() + Send + 'static) {
        if self.queue.try_send(Box::new(write)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but not long.
    pub(super) fn finish(&self) {
        let (done, is_done) = sync_channel(1);
        self.write(move || _ = done.send(()));
        let _ = is_done.recv_timeout(LAST_WAIT);
    }
}

fn write_all(waiting: &Receiver<Write>, dropped: &AtomicU64, report: &dyn Fn(u64)) {
    while let Ok(write) = waiting.recv() {
        write();
        match dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            count => report(count),
        }
    }
}
