//! How quickly a crawl goes: counters as they were some time ago, against what they are now; and what it did over the last hours.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::page::EpochMs;

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
    /// Pages whose relevance is known, and those of them that are relevant.
    pub judged: u64,
    pub relevant: u64,
}

/// What counters grew by, and in which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    pub span: Duration,
    pub by: Counters,
}

/// One span of the last hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its end.
    pub at: EpochMs,
    pub growth: Growth,
    /// Events that each sink was behind by then.
    pub pending: Vec<(String, u64)>,
}

/// A counter's value is remembered so often …
const APART: Duration = Duration::from_secs(5);
/// … for the last hour.
const REMEMBERED: usize = 3600 / 5 + 1;
/// Samples of the last hours: the first ones are short, so that a crawl that has just begun has some.
const SAMPLE: Duration = Duration::from_secs(60);
const FIRST_SAMPLES: Duration = Duration::from_secs(5);
const SHORT_ONES: usize = 60;
/// A day.
const SAMPLES: usize = 24 * 60;

/// The last hours of a process.
#[derive(Debug)]
pub struct Rates(Mutex<Past>);

#[derive(Debug)]
struct Past {
    counters: VecDeque<(Instant, Counters)>,
    sampled: (Instant, Counters),
    samples: VecDeque<Sample>,
    taken: usize,
}

impl Rates {
    /// Counters begin at nothing now.
    pub fn new() -> Rates {
        let now = (Instant::now(), Counters::default());
        Rates(Mutex::new(Past { counters: VecDeque::from([now]), sampled: now, samples: VecDeque::new(), taken: 0 }))
    }

    /// To be called often.
    pub fn note(&self, at: EpochMs, counters: impl FnOnce() -> Counters, pending: impl FnOnce() -> Vec<(String, u64)>) {
        let mut past = self.0.lock();
        if past.counters.back().is_some_and(|(at, _)| at.elapsed() < APART) {
            return;
        }
        let now = (Instant::now(), counters());
        past.counters.push_back(now);
        if past.counters.len() > REMEMBERED {
            past.counters.pop_front();
        }
        let span = now.0 - past.sampled.0;
        if span >= if past.taken < SHORT_ONES { FIRST_SAMPLES } else { SAMPLE } {
            let growth = Growth { span, by: now.1.since(past.sampled.1) };
            past.samples.push_back(Sample { at, growth, pending: pending() });
            (past.sampled, past.taken) = (now, past.taken + 1);
            if past.samples.len() > SAMPLES {
                past.samples.pop_front();
            }
        }
    }

    /// Growth over each of these spans, the last `now`; one that is longer than the process is old ends with it.
    pub fn over(&self, spans: &[Duration], now: Counters) -> Vec<Growth> {
        let past = self.0.lock();
        let growth = |span: &Duration| {
            // The youngest that is old enough, or the oldest there is.
            let since = past.counters.iter().rev().find(|(at, _)| at.elapsed() >= *span);
            let (at, before) = since.or_else(|| past.counters.front())?;
            Some(Growth { span: at.elapsed(), by: now.since(*before) })
        };
        let mut grown: Vec<Growth> = spans.iter().filter_map(growth).collect();
        grown.dedup_by_key(|growth| growth.span.as_secs());
        grown
    }

    /// The last day, the oldest first.
    pub fn samples(&self) -> Vec<Sample> {
        self.0.lock().samples.iter().cloned().collect()
    }
}

impl Counters {
    fn since(self, before: Counters) -> Counters {
        Counters {
            attempts: self.attempts.saturating_sub(before.attempts),
            pages: self.pages.saturating_sub(before.pages),
            failures: self.failures.saturating_sub(before.failures),
            bytes: self.bytes.saturating_sub(before.bytes),
            judged: self.judged.saturating_sub(before.judged),
            relevant: self.relevant.saturating_sub(before.relevant),
        }
    }
}
