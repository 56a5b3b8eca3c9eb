//! The rates of a crawl, from counters now and some time ago, and samples of the last day.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seine_frontier::Harvest;
use seine_parse::page::EpochMs;
use serde::{Deserialize, Serialize};

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub attempts: u64,
    /// Responses with 2xx.
    pub pages: u64,
    /// Neither 2xx nor 3xx.
    pub failures: u64,
    /// Of bodies as received.
    pub bytes: u64,
    /// Pages with a known relevance, and the relevant ones.
    pub judged: u64,
    pub relevant: u64,
}

/// Average increase per second over this many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub seconds: f64,
    pub attempts: f64,
    /// Responses with 2xx.
    pub pages: f64,
    /// Neither 2xx nor 3xx.
    pub failures: f64,
    /// Of bodies as received.
    pub bytes: f64,
    /// Relevant pages as a part of all fetched pages; none without pages.
    #[serde(default)]
    pub harvest: Option<f64>,
}

/// One interval of the last day: `GET /api/v1/history`. In the first five minutes an interval has 5 seconds, later a
/// minute.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sample {
    /// Its end.
    pub at_ms: EpochMs,
    pub rate: Rate,
    /// Pending events of each sink at the end.
    pub pending: Vec<Pending>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    pub sink: String,
    pub events: u64,
}

/// Counters are stored this often …
const APART: Duration = Duration::from_secs(5);
/// … for the last hour.
const REMEMBERED: usize = 3600 / 5 + 1;
/// Length of a sample. The first ones are short, so that a new crawl has some.
const SAMPLE: Duration = Duration::from_secs(60);
const FIRST_SAMPLES: Duration = Duration::from_secs(5);
const SHORT_ONES: usize = 60;
/// A day.
const SAMPLES: usize = 24 * 60;

/// The history of a process.
#[derive(Debug)]
pub(crate) struct Rates(Mutex<Past>);

#[derive(Debug)]
struct Past {
    counters: VecDeque<(Instant, Counters)>,
    sampled: (Instant, Counters),
    samples: VecDeque<Sample>,
    taken: usize,
}

impl Rates {
    /// Counters start at zero now.
    pub(crate) fn new() -> Rates {
        let now = (Instant::now(), Counters::default());
        Rates(Mutex::new(Past { counters: VecDeque::from([now]), sampled: now, samples: VecDeque::new(), taken: 0 }))
    }

    /// Call it often.
    pub(crate) fn note(
        &self,
        at: EpochMs,
        counters: impl FnOnce() -> Counters,
        pending: impl FnOnce() -> Vec<Pending>,
    ) {
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
            let rate = Rate::over(span, &past.sampled.1, &now.1);
            past.samples.push_back(Sample { at_ms: at, rate, pending: pending() });
            (past.sampled, past.taken) = (now, past.taken + 1);
            if past.samples.len() > SAMPLES {
                past.samples.pop_front();
            }
        }
    }

    /// The rates over these spans up to `now`. Spans longer than the process's life are cut to it.
    pub(crate) fn over(&self, spans: &[Duration], now: Counters) -> Vec<Rate> {
        let past = self.0.lock();
        let rate = |span: &Duration| {
            // The newest entry that is old enough, or the oldest.
            let since = past.counters.iter().rev().find(|(at, _)| at.elapsed() >= *span);
            let (at, before) = since.or_else(|| past.counters.front())?;
            Some(Rate::over(at.elapsed(), before, &now))
        };
        let mut rates: Vec<Rate> = spans.iter().filter_map(rate).collect();
        rates.dedup_by_key(|rate| rate.seconds as u64);
        rates
    }

    /// The last day, oldest first.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.0.lock().samples.iter().cloned().collect()
    }
}

impl Rate {
    /// The rate of increase between two states.
    fn over(span: Duration, before: &Counters, now: &Counters) -> Rate {
        let seconds = span.as_secs_f64();
        let grown = |count: fn(&Counters) -> u64| count(now).saturating_sub(count(before));
        let each = |count| if seconds > 0.0 { grown(count) as f64 / seconds } else { 0.0 };
        Rate {
            seconds,
            attempts: each(|it| it.attempts),
            pages: each(|it| it.pages),
            failures: each(|it| it.failures),
            bytes: each(|it| it.bytes),
            harvest: Harvest { judged: grown(|it| it.judged), relevant: grown(|it| it.relevant) }.ratio(),
        }
    }
}
