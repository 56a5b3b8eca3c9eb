//! Hints: sitemaps and feeds that say when other pages changed. Revisits show how reliable the hints of a host are.

use minicbor::{Decode, Encode};

use super::belief::Belief;

/// How many revisits of pages with hints, or changes of such pages, an estimate remembers. The estimate follows a host
/// that changes its habits after about as many.
const MEMORY: f32 = 200.0;
/// A new host starts with this many revisits and changes counted against it.
const CAUTION: f64 = 5.0;
/// The estimate is lowered by this many standard errors, so that chance alone earns no trust.
const DOUBT: f64 = 2.0;
/// Even for a reliable host, this share of its changes may come without a hint.
const LEAST_SILENT: f64 = 0.1;
/// A reliable sitemap gets up to this share of the revisits of the pages that it lists, because late hints are worth
/// less (benches/recrawl: values of 0.05 to 0.2 differ little).
const TELLING: f64 = 0.1;
/// Above this excess a change is assumed to have happened at the time given by the hint.
const EXACT: f64 = 0.3;

/// The evidence of revisits about the hints of a host. Old counts fade, all at the same rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct Trust {
    /// Revisits of pages with a hint.
    #[n(0)]
    rechecks: f32,
    /// Of those, revisits that found a change …
    #[n(1)]
    right: f32,
    /// … and the number expected to find one without a hint, from the known change rates.
    #[n(2)]
    expected: f32,
    /// Changes without a hint, on pages that had hints before.
    #[n(3)]
    missed: f32,
}

/// The evidence of one revisit about the hints of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lesson {
    /// The page had a hint. `expected`: probability of a change without the hint.
    Hinted { expected: f32, has_changed: bool },
    /// The page changed without a hint, and had hints before.
    Missed,
}

impl Trust {
    #[must_use]
    pub fn after(self, lesson: Lesson) -> Trust {
        let Trust { mut rechecks, mut right, mut expected, mut missed } = self;
        match lesson {
            Lesson::Hinted { expected: chance, has_changed } => {
                rechecks += 1.0;
                right += f32::from(u8::from(has_changed));
                expected += chance;
            }
            Lesson::Missed => missed += 1.0,
        }
        let fade = (MEMORY / rechecks.max(right + missed)).min(1.0);
        Trust { rechecks: rechecks * fade, right: right * fade, expected: expected * fade, missed: missed * fade }
    }

    /// Probability that a hint announces a change that the change rate did not predict. 0 for an unreliable host and
    /// for too little evidence.
    pub(super) fn excess(&self) -> f64 {
        let [rechecks, right, expected] = [self.rechecks, self.right, self.expected].map(f64::from);
        let error = (expected * (1.0 - expected / rechecks.max(1.0))).max(right * (1.0 - right / rechecks.max(1.0)));
        let surplus = right - expected - DOUBT * error.max(0.0).sqrt();
        (surplus / (rechecks - expected + CAUTION)).clamp(0.0, 1.0 - LEAST_SILENT)
    }

    /// The share of changes that hints announced.
    fn recall(&self) -> f64 {
        f64::from(self.right) / (f64::from(self.right + self.missed) + CAUTION)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.excess() > EXACT
    }
}

/// How the hints of its host affect the revisits of one page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// Probability that the page's present hint announces an unpredicted change; 0 without a hint.
    hinted: f64,
    /// The share of the page's changes that come without a hint.
    silent: f64,
    /// Minimum number of revisits per mean interval, for a page that gives hints about others.
    pub(super) rechecks: f64,
}

impl Default for Outlook {
    /// For a page without hints.
    fn default() -> Outlook {
        Outlook { hinted: 0.0, silent: 1.0, rechecks: 0.0 }
    }
}

impl Outlook {
    /// `has_hint`: a hint newer than the last fetch. `tells`: number of other pages for which this page gives dates.
    pub(super) fn new(trust: &Trust, has_hints: bool, has_hint: bool, tells: u32) -> Outlook {
        let (excess, announced) = (trust.excess(), trust.excess() * trust.recall());
        Outlook {
            hinted: if has_hint { excess } else { 0.0 },
            silent: if has_hints { (1.0 - announced).max(LEAST_SILENT) } else { 1.0 },
            rechecks: TELLING * f64::from(tells) * announced,
        }
    }

    /// [`Belief::gain`], adjusted for hints. No hint means that the copy is probably still fresh. A hint counts as much
    /// as the time in which such a change would have been likely.
    pub(super) fn gain(&self, belief: Belief, elapsed: f64) -> f64 {
        let without_hint = Belief { days: (f64::from(belief.days) / self.silent) as f32, ..belief };
        let gain = self.silent * without_hint.gain(elapsed);
        if self.hinted == 0.0 {
            return gain;
        }
        // The share of time that a revisit would end, 1 - (1 - told)·e^(-λt)·(1 + x), where x is λt plus the effect of
        // the hint, divided by λ. The mean of λ is used here, since the mean of the quotient over the whole
        // distribution does not exist.
        let left = 1.0 - self.hinted;
        let still = left * without_hint.unchanged(elapsed);
        left * gain + (self.hinted + still * left.ln()) / belief.changes_a_day()
    }
}
