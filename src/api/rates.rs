//! How often somebody may ask: a bucket of requests each, filled again at a steady rate. The owner's socket has none.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::problem::Refusal;

/// What one may ask for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Requests.
    per_second: u32,
    /// … and so many at once, who has been quiet.
    at_once: u32,
}

/// Looking and steering, by whoever it is.
pub(super) const ASKING: Rate = Rate { per_second: 200, at_once: 400 };
/// A client that sends its pages one by one.
pub(super) const WORKING: Rate = Rate { per_second: 2000, at_once: 4000 };
/// Whoever is refused: tokens are not to be guessed.
pub(super) const REFUSED: Rate = Rate { per_second: 5, at_once: 50 };

impl Rate {
    /// When a bucket that is full again at `full` is so after one more request at `now`; refused when that is one too many.
    fn one_more(self, full: Instant, now: Instant) -> Result<Instant, Refusal> {
        let each = Duration::from_secs(1) / self.per_second;
        let full_then = now.max(full) + each;
        if full_then - now > each * self.at_once { Err(self.refusal()) } else { Ok(full_then) }
    }

    pub fn refusal(self) -> Refusal {
        Refusal::TooOften(format!("more than {} requests a second: ask less often", self.per_second))
    }
}

/// Those that have filled up again are forgotten when there are so many.
const MOST: usize = 4096;

/// When each bucket is full again.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Instant>>);

impl Rates {
    /// Whether one more request of `who` would be refused.
    pub fn is_empty(&self, who: &str, rate: Rate) -> bool {
        let now = Instant::now();
        self.0.lock().get(who).is_some_and(|full| rate.one_more(*full, now).is_err())
    }

    /// One more request of `who`; refused when it is one too many.
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
