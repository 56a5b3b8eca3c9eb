//! How quickly a crawl goes: counters as they were some time ago, against what they are now.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    pub attempts: u64,
    /// Answers with 2xx.
    pub pages: u64,
    /// Neither 2xx nor 3xx.
    pub failures: u64,
    /// Of bodies, as received.
    pub bytes: u64,
}

/// What counters grew by, and in which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    pub span: Duration,
    pub by: Counters,
}

/// A counter's value is remembered so often …
const APART: Duration = Duration::from_secs(5);
/// … for the last hour.
const REMEMBERED: usize = 3600 / 5 + 1;

/// The last hour of a process.
#[derive(Debug)]
pub struct Rates(Mutex<VecDeque<(Instant, Counters)>>);

impl Rates {
    /// Counters begin at nothing now.
    pub fn new() -> Rates {
        Rates(Mutex::new(VecDeque::from([(Instant::now(), Counters::default())])))
    }

    /// To be called often.
    pub fn note(&self, counters: impl FnOnce() -> Counters) {
        let mut past = self.0.lock();
        if past.back().is_some_and(|(at, _)| at.elapsed() < APART) {
            return;
        }
        past.push_back((Instant::now(), counters()));
        if past.len() > REMEMBERED {
            past.pop_front();
        }
    }

    /// Growth over each of these spans, the last `now`; one that is longer than the process is old ends with it.
    pub fn over(&self, spans: &[Duration], now: Counters) -> Vec<Growth> {
        let past = self.0.lock();
        let growth = |span: &Duration| {
            // The youngest that is old enough, or the oldest there is.
            let since = past.iter().rev().find(|(at, _)| at.elapsed() >= *span).or_else(|| past.front())?;
            let (at, before) = since;
            let by = Counters {
                attempts: now.attempts.saturating_sub(before.attempts),
                pages: now.pages.saturating_sub(before.pages),
                failures: now.failures.saturating_sub(before.failures),
                bytes: now.bytes.saturating_sub(before.bytes),
            };
            Some(Growth { span: at.elapsed(), by })
        };
        let mut grown: Vec<Growth> = spans.iter().filter_map(growth).collect();
        grown.dedup_by_key(|growth| growth.span.as_secs());
        grown
    }
}
