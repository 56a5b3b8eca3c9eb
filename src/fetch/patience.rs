//! How long a response body may take: the whole request's time, silence, and a minimum rate.

use std::time::{Duration, Instant};

use super::client::Limits;

/// The time limits of a body.
pub(super) struct Patience<'l> {
    limits: &'l Limits,
    deadline: Instant,
    last_byte: Instant,
    /// Start of the present rate span.
    began: Instant,
    bytes: u64,
}

impl Patience<'_> {
    pub(super) fn new(deadline: Instant, limits: &Limits) -> Patience<'_> {
        let now = Instant::now();
        Patience { limits, deadline, last_byte: now, began: now, bytes: 0 }
    }

    /// When to check the limits again.
    pub(super) fn until(&self) -> Instant {
        let until = self.deadline.min(self.last_byte + self.limits.silence);
        if self.limits.min_rate == 0 { until } else { until.min(self.began + self.limits.rate_span) }
    }

    /// We kept the server waiting, so the limits are extended.
    pub(super) fn waited(&mut self, time: Duration) {
        self.deadline += time;
        self.last_byte = Instant::now();
        self.began += time;
    }

    pub(super) fn received(&mut self, bytes: usize) {
        self.last_byte = Instant::now();
        self.bytes += bytes as u64;
    }

    /// Checks the limits. After a span with enough bytes, the next one starts.
    pub(super) fn check_expired(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.deadline || now >= self.last_byte + self.limits.silence {
            return true;
        }
        let span = now - self.began;
        if self.limits.min_rate == 0 || span < self.limits.rate_span {
            return false;
        }
        let is_too_slow = (self.bytes as f64) < self.limits.min_rate as f64 * span.as_secs_f64();
        (self.began, self.bytes) = (now, 0);
        is_too_slow
    }
}
