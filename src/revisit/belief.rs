//! How often a page changes, as far as looking at it has told.

use minicbor::{Decode, Encode};

const DAY_MS: f64 = 86_400_000.0;
/// Before the first look: once in 10 days, and nobody knows: as likely hardly ever as every day.
const PRIOR_CHANGES: f32 = 0.5;
const PRIOR_DAYS: f32 = 5.0;
/// What is known never counts for more than so many changes, so that a page that changes its ways is found out.
const MEMORY: f64 = 20.0;
/// Two looks in the same moment tell nothing apart.
const SHORTEST_DAYS: f64 = 1e-6;

/// A page's rate of change as a Gamma distribution. Changes are taken for a Poisson process (Cho and Garcia-Molina,
/// *Estimating Frequency of Change*, ACM TOIT 3:3, 2003), of which a look tells only whether there was any since the one
/// before: several count once. Its exact posterior is brought back to a Gamma distribution of the same mean and variance.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub struct Belief {
    /// The distribution's shape: as if so many changes had been seen …
    #[n(0)]
    pub changes: f32,
    /// … and its rate: in so many days.
    #[n(1)]
    pub days: f32,
}

impl Default for Belief {
    fn default() -> Belief {
        Belief { changes: PRIOR_CHANGES, days: PRIOR_DAYS }
    }
}

impl Belief {
    /// After a look `elapsed_ms` after the one before.
    #[must_use]
    pub fn after(self, elapsed_ms: u64, has_changed: bool) -> Belief {
        let elapsed = days(elapsed_ms).max(SHORTEST_DAYS);
        let (shape, rate) = (f64::from(self.changes), f64::from(self.days));
        let (shape, rate) = match has_changed {
            // The likelihood of no change is e^(-λt): again a Gamma distribution.
            false => (shape, rate + elapsed),
            true => after_change(shape, rate, elapsed),
        };
        remembered(shape, rate)
    }

    /// Changes a day, on average over all that is possible.
    pub fn changes_a_day(self) -> f64 {
        f64::from(self.changes) / f64::from(self.days)
    }

    /// What a look brings once `elapsed` days have passed since the last one, in days of a fresh copy: the crawl value
    /// of Azar, Horvitz, Lubetzky, Peres and Shahaf (*Tractable near-optimal policies for crawling*, PNAS 115:32, 2018),
    /// `(1 - e^(-λt)(1 + λt)) / λ`, expected over the belief. Grows with `elapsed`.
    pub fn gain(self, elapsed: f64) -> f64 {
        let (shape, rate) = (f64::from(self.changes), f64::from(self.days));
        let log = -(elapsed / rate).ln_1p();
        let less = shape - 1.0;
        // (1 - e^(log·less)) / less, which has a limit where less is 0
        let mean = if (less * log).abs() < 1e-6 { -log } else { -(less * log).exp_m1() / less };
        rate * mean - elapsed * (shape * log).exp()
    }

    /// How likely it is that nothing has changed for `elapsed` days.
    pub fn unchanged(self, elapsed: f64) -> f64 {
        let (shape, rate) = (f64::from(self.changes), f64::from(self.days));
        (-shape * (elapsed / rate).ln_1p()).exp()
    }

    /// After a change that happened so long after the last look, which others have told.
    #[must_use]
    pub fn after_change_at(self, elapsed_ms: u64) -> Belief {
        let elapsed = days(elapsed_ms).max(SHORTEST_DAYS);
        remembered(f64::from(self.changes) + 1.0, f64::from(self.days) + elapsed)
    }
}

/// After how many days, of these bounds, a look is worth `price`. `gain` grows with the days.
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

/// Mean and variance of `λ^(shape-1) e^(-rate·λ) (1 - e^(-λ·elapsed))`, as a Gamma distribution's.
fn after_change(shape: f64, rate: f64, elapsed: f64) -> (f64, f64) {
    let log = -(elapsed / rate).ln_1p();
    let weight = |moment: f64| -((shape + moment) * log).exp_m1();
    let mean = shape / rate * weight(1.0) / weight(0.0);
    let square = shape * (shape + 1.0) / (rate * rate) * weight(2.0) / weight(0.0);
    let variance = (square - mean * mean).max(mean * mean / MEMORY);
    (mean * mean / variance, mean / variance)
}

/// Days as the belief counts them.
pub fn days(ms: u64) -> f64 {
    ms as f64 / DAY_MS
}

/// The other way, rounded.
pub fn milliseconds(days: f64) -> u64 {
    (days * DAY_MS).round() as u64
}
