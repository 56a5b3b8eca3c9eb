//! Limits a transfer to a rate.

use std::time::{Duration, Instant};

use crate::sinks::pump::BATCH_EVENTS;

pub(super) struct Pace {
    rate: f64,
    started: Instant,
    count: u64,
}

impl Pace {
    /// `rate`: most pages per second.
    pub(super) fn new(rate: f64) -> Pace {
        Pace { rate, started: Instant::now(), count: 0 }
    }

    /// Number of pages sent at once: those of a tenth of a second.
    pub(super) fn batch(&self) -> usize {
        (self.rate / 10.0).clamp(1.0, BATCH_EVENTS as f64) as usize
    }

    /// Waits until `count` more pages are due.
    pub(super) fn wait(&mut self, count: usize) {
        self.count += count as u64;
        let due = Duration::try_from_secs_f64(self.count as f64 / self.rate).unwrap_or(Duration::MAX);
        std::thread::sleep(due.saturating_sub(self.started.elapsed()));
    }
}
