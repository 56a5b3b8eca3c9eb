//! How often somebody may ask: a bucket of requests each, filled again at a steady rate. The owner's socket has none.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;

use super::problem::Refusal;

/// What one may ask for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// Requests.
    per_second: f64,
    /// … and so many at once, who has been quiet.
    at_once: f64,
}

/// Looking and steering, by whoever it is.
pub(super) const ASKING: Rate = Rate { per_second: 200.0, at_once: 400.0 };
/// A client that sends its pages one by one.
pub(super) const WORKING: Rate = Rate { per_second: 2000.0, at_once: 4000.0 };
/// Whoever is refused: tokens are not to be guessed.
pub(super) const REFUSED: Rate = Rate { per_second: 5.0, at_once: 50.0 };

/// Those that have filled up again are forgotten when there are so many.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<String, Bucket>>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
    rate: Rate,
}

impl Bucket {
    fn fill(&mut self, now: Instant) {
        let filled = now.saturating_duration_since(self.at).as_secs_f64() * self.rate.per_second;
        (self.left, self.at) = ((self.left + filled).min(self.rate.at_once), now);
    }
}

impl Rates {
    /// One more request of `who`; refused when it is one too many.
    pub fn take(&self, who: String, rate: Rate) -> Result<(), Refusal> {
        let now = Instant::now();
        let mut buckets = self.0.lock();
        if buckets.len() >= MOST {
            buckets.retain(|_, bucket| {
                bucket.fill(now);
                bucket.left < bucket.rate.at_once
            });
        }
        let bucket = buckets.entry(who).or_insert(Bucket { left: rate.at_once, at: now, rate });
        bucket.fill(now);
        if bucket.left < 1.0 {
            let detail = format!("more than {} requests a second: ask less often", rate.per_second);
            return Err(Refusal::TooOften(detail));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}
