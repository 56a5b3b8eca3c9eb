//! The price of a revisit: the value that a revisit must have. It is set so that all pages together use the planned
//! number of revisits.

use super::belief::{Belief, days};

/// How strongly the price reacts to one excess revisit per page. `AT_ONCE` acts immediately; `IN_TIME` moves the base
/// price over one mean interval, because the effect of a price shows only after about that long.
const AT_ONCE: f64 = 1.5;
const IN_TIME: f64 = 0.5;
/// The excess or shortfall, in revisits per page, is limited to this.
const MOST_DEBT: f64 = 1.0;
/// The price stays within this factor of its start value. Where intervals are at their bounds, the price has no effect
/// and would drift without end and take as long to return.
const SPAN: f64 = 1e4;
/// Keeps the price above 0, so that division is safe.
const LEAST_PRICE: f64 = 1e-100;
/// Fewer revisits than this say nothing: they are chance.
const ENOUGH: f64 = 16.0;
/// The price is updated at most this often per mean interval.
const STEPS: f64 = 100.0;

/// Controls the price of a revisit so that the mean interval between fetches of a page is `mean_ms`.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    mean_days: f64,
    /// In days of a fresh copy, see [`Belief::gain`].
    price: f64,
    /// The price before any revisit.
    first: f64,
    /// Excess revisits per page so far.
    debt: f64,
    since_ms: u64,
    rechecks: u64,
    late: u64,
}

impl Budget {
    /// `price` is the price found by an earlier run with the same mean.
    pub fn new(mean_ms: u64, price: Option<f64>, now: u64) -> Budget {
        let mean_days = days(mean_ms);
        // For intervals of a few milliseconds the gain is lost in rounding.
        let first = Belief::default().gain(mean_days).max(LEAST_PRICE);
        let price = price.filter(|price| price.is_finite()).unwrap_or(first).clamp(first / SPAN, first * SPAN);
        Budget { mean_days, price, first, debt: 0.0, since_ms: now, rechecks: 0, late: 0 }
    }

    pub fn price(&self) -> f64 {
        self.price * (AT_ONCE * self.debt).exp()
    }

    /// Counts a revisit; `pages` is the number of known pages. `is_late` tells that the revisit came late because it
    /// had to wait. Returns whether the price changed.
    pub fn count_recheck(&mut self, now: u64, pages: u64, is_late: bool) -> bool {
        self.rechecks += 1;
        self.late += u64::from(is_late);
        let passed = days(now.saturating_sub(self.since_ms)) / self.mean_days;
        let expected = pages as f64 * passed;
        if expected < ENOUGH || passed < 1.0 / STEPS {
            return false;
        }
        let mut too_many = self.rechecks as f64 / pages as f64 - passed;
        // Hosts and workers allow fewer revisits than planned. A lower price would not help.
        if self.late * 2 > self.rechecks {
            too_many = too_many.max(0.0);
        }
        self.debt = (self.debt + too_many).clamp(-MOST_DEBT, MOST_DEBT);
        let price = self.price * (IN_TIME * self.debt * passed.min(1.0)).exp();
        self.price = price.clamp(self.first / SPAN, self.first * SPAN);
        (self.since_ms, self.rechecks, self.late) = (now, 0, 0);
        true
    }
}
