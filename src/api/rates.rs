//! Rate limits: a token bucket per client. The owner's socket has no limit.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::problem::Refusal;

/// A rate limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Requests per second.
    per_second: u32,
    /// Maximum burst.
    at_once: u32,
}

/// For reading and operating.
pub(super) const ASKING: Rate = Rate { per_second: 200, at_once: 400 };
/// For a remote worker that sends its pages one by one.
pub(super) const WORKING: Rate = Rate { per_second: 2000, at_once: 4000 };
/// For refused requests, so that nobody can guess tokens.
pub(super) const REFUSED: Rate = Rate { per_second: 5, at_once: 50 };

impl Rate {
    /// The bucket is full again at `full`. Returns that time after one more request at `now`, or refuses it.
    fn one_more(self, full: Instant, now: Instant) -> Result<Instant, Refusal> {
        let each = Duration::from_secs(1) / self.per_second;
        let full_then = now.max(full) + each;
        if full_then - now > each * self.at_once { Err(self.refusal()) } else { Ok(full_then) }
    }

    pub fn refusal(self) -> Refusal {
        Refusal::TooOften(format!("more than {} requests a second: ask less often", self.per_second))
    }
}

/// At this number, full buckets are forgotten.
const MOST: usize = 4096;

/// When each bucket is full again.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Instant>>);

impl Rates {
    /// Whether the next request of `who` would be refused.
    pub fn is_empty(&self, who: &str, rate: Rate) -> bool {
        let now = Instant::now();
        self.0.lock().get(who).is_some_and(|full| rate.one_more(*full, now).is_err())
    }

    /// Counts a request of `who`, or refuses it.
    pub fn take(&self, who: String, rate: Rate) -> Result<(), Refusal> {
        let now = Instant::now();
        let mut buckets = self.0.lock();
        if buckets.len() >= MOST {
            buckets.retain(|_, full| *full > now);
        }
        let full = buckets.entry(who).or_insert(now);
        *full = rate.one_more(*full, now)?;
        Ok(())
    }
}
