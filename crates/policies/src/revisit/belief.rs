//! How often a page changes, as estimated from its revisits.

use minicbor::{Decode, Encode};

const DAY_MS: f64 = 86_400_000.0;
/// The estimate before the first fetch: one change in 10 days. The distribution is wide, since a page may change daily
/// or hardly ever.
const PRIOR_CHANGES: f32 = 0.5;
const PRIOR_DAYS: f32 = 5.0;
/// Evidence is limited to this many changes, so that the estimate follows a page whose rate changes.
const MEMORY: f64 = 20.0;
/// Two fetches at the same time give no information, so the time between them is at least this.
const SHORTEST_DAYS: f64 = 1e-6;

/// A page's rate of change as a Gamma distribution. Changes are assumed to be a Poisson process (Cho and Garcia-Molina,
/// *Estimating Frequency of Change*, ACM TOIT 3:3, 2003). A revisit shows only whether the page changed since the last
/// fetch, so several changes count as one. The exact posterior is not a Gamma distribution; it is replaced by the Gamma
/// distribution with the same mean and variance.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub struct Belief {
    /// Shape of the distribution: the number of changes observed …
    #[n(0)]
    pub changes: f32,
    /// … and its rate: the number of days observed.
    #[n(1)]
    pub days: f32,
}

impl Default for Belief {
    fn default() -> Belief {
        Belief { changes: PRIOR_CHANGES, days: PRIOR_DAYS }
    }
}

impl Belief {
    /// The estimate after a fetch, `elapsed_ms` after the previous one.
    #[must_use]
    pub fn after(self, elapsed_ms: u64, has_changed: bool) -> Belief {
        let elapsed = days(elapsed_ms).max(SHORTEST_DAYS);
        let (shape, rate) = (f64::from(self.changes), f64::from(self.days));
        let (shape, rate) = match has_changed {
            // The likelihood of no change is e^(-λt), so the posterior is again a Gamma distribution.
            false => (shape, rate + elapsed),
            true => after_change(shape, rate, elapsed),
        };
        remembered(shape, rate)
    }

    /// Expected changes per day.
    pub fn changes_a_day(self) -> f64 {
        f64::from(self.changes) / f64::from(self.days)
    }

    /// The value of a revisit `elapsed` days after the last fetch, in days of a fresh copy. This is the crawl value of
    /// Azar, Horvitz, Lubetzky, Peres and Shahaf (*Tractable near-optimal policies for crawling*, PNAS 115:32, 2018),
    /// `(1 - e^(-λt)(1 + λt)) / λ`, averaged over the estimate. It grows with `elapsed`.
    pub fn gain(self, elapsed: f64) -> f64 {
        let (shape, rate) = (f64::from(self.changes), f64::from(self.days));
        let log = -(elapsed / rate).ln_1p();
        let less = shape - 1.0;
        // (1 - e^(log·less)) / less, with its limit at less = 0
        let mean = if (less * log).abs() < 1e-6 { -log } else { -(less * log).exp_m1() / less };
        rate * mean - elapsed * (shape * log).exp()
    }

    /// Probability that nothing changes within `elapsed` days.
    pub fn unchanged(self, elapsed: f64) -> f64 {
        let (shape, rate) = (f64::from(self.changes), f64::from(self.days));
        (-shape * (elapsed / rate).ln_1p()).exp()
    }

    /// The estimate after a change at a known time, `elapsed_ms` after the last fetch. A hint gave the time.
    #[must_use]
    pub(crate) fn after_change_at(self, elapsed_ms: u64) -> Belief {
        let elapsed = days(elapsed_ms).max(SHORTEST_DAYS);
        remembered(f64::from(self.changes) + 1.0, f64::from(self.days) + elapsed)
    }
}

/// The number of days, within the bounds, after which a revisit is worth `price`. `gain` must grow with the days.
pub fn worth_after(gain: impl Fn(f64) -> f64, price: f64, (shortest, longest): (f64, f64)) -> f64 {
    if gain(longest) <= price {
        return longest;
    }
    if gain(shortest) >= price {
        return shortest;
    }
    let (mut low, mut high) = (shortest.ln(), longest.ln());
    while high - low > 1e-7 {
        let middle = (low + high) / 2.0;
        if gain(middle.exp()) < price { low = middle } else { high = middle }
    }
    ((low + high) / 2.0).exp()
}

fn remembered(shape: f64, rate: f64) -> Belief {
    let part = (MEMORY / shape).min(1.0);
    Belief { changes: (shape * part) as f32, days: (rate * part) as f32 }
}

/// Mean and variance of `λ^(shape-1) e^(-rate·λ) (1 - e^(-λ·elapsed))`, returned as shape and rate of a Gamma
/// distribution.
fn after_change(shape: f64, rate: f64, elapsed: f64) -> (f64, f64) {
    let log = -(elapsed / rate).ln_1p();
    let weight = |moment: f64| -((shape + moment) * log).exp_m1();
    let mean = shape / rate * weight(1.0) / weight(0.0);
    let square = shape * (shape + 1.0) / (rate * rate) * weight(2.0) / weight(0.0);
    let variance = (square - mean * mean).max(mean * mean / MEMORY);
    (mean * mean / variance, mean / variance)
}

/// Converts milliseconds to days.
pub(super) fn days(ms: u64) -> f64 {
    ms as f64 / DAY_MS
}

/// Converts days to milliseconds, rounded.
pub(super) fn milliseconds(days: f64) -> u64 {
    (days * DAY_MS).round() as u64
}
