//! What a look must be worth: the price at which all pages together cost the looks there are.

use super::belief::{Belief, days};

/// How much dearer a look is for each look a page that was made too many, and how much the price to which that is added moves
/// while one mean interval passes: what a price does to the looks shows only after about as long.
const AT_ONCE: f64 = 1.5;
const IN_TIME: f64 = 0.5;
/// Looks a page, too many or too few, that are remembered.
const MOST_DEBT: f64 = 1.0;
/// The price is never so many times higher or lower than the one it began with: where intervals are at their bounds it would move
/// without end, and take as long to come back.
const SPAN: f64 = 1e4;
/// A price above 0, whatever it is divided by.
const LEAST_PRICE: f64 = 1e-100;
/// Fewer looks than these are chance.
const ENOUGH: f64 = 16.0;
/// At least so often in a mean interval the price is looked at.
const STEPS: f64 = 100.0;

/// Keeps the price of a look such that pages are looked at `mean_ms` apart on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    mean_days: f64,
    /// In days of a fresh copy, see [`Belief::gain`].
    price: f64,
    /// What it was before anything was known.
    first: f64,
    /// Looks a page that were made too many.
    debt: f64,
    since_ms: u64,
    looks: u64,
    late: u64,
}

impl Budget {
    /// `price`: as it was found before for the same mean, if ever.
    pub fn new(mean_ms: u64, price: Option<f64>, now: u64) -> Budget {
        let mean_days = days(mean_ms);
        // Of some milliseconds the gain is less than what rounding takes from it.
        let first = Belief::default().gain(mean_days).max(LEAST_PRICE);
        let price = price.filter(|price| price.is_finite()).unwrap_or(first).clamp(first / SPAN, first * SPAN);
        Budget { mean_days, price, first, debt: 0.0, since_ms: now, looks: 0, late: 0 }
    }

    pub fn price(&self) -> f64 {
        self.price * (AT_ONCE * self.debt).exp()
    }

    /// Counts a look, of `pages` there are. `is_late`: it had to wait for others. Returns whether the price has changed.
    pub fn looked(&mut self, now: u64, pages: u64, is_late: bool) -> bool {
        self.looks += 1;
        self.late += u64::from(is_late);
        let passed = days(now.saturating_sub(self.since_ms)) / self.mean_days;
        let expected = pages as f64 * passed;
        if expected < ENOUGH || passed < 1.0 / STEPS {
            return false;
        }
        let mut too_many = self.looks as f64 / pages as f64 - passed;
        // There are fewer looks than were planned because hosts and workers allow no more: asking for more helps nobody.
        if self.late * 2 > self.looks {
            too_many = too_many.max(0.0);
        }
        self.debt = (self.debt + too_many).clamp(-MOST_DEBT, MOST_DEBT);
        let price = self.price * (IN_TIME * self.debt * passed.min(1.0)).exp();
        self.price = price.clamp(self.first / SPAN, self.first * SPAN);
        (self.since_ms, self.looks, self.late) = (now, 0, 0);
        true
    }
}
