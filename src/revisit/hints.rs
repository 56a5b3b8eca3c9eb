//! Hints: who says that a page has changed since it was looked at, and how far that is to be believed. Sitemaps and feeds
//! say so of other pages; what their host's hints are worth, looks tell.

use minicbor::{Decode, Encode};

use super::belief::Belief;

/// Looks at pages with a hint, or changes of pages that had hints, that a host is judged by: one that changes its ways is found
/// out after as many.
const MEMORY: f32 = 200.0;
/// Looks and changes that count against a host before there are any.
const CAUTION: f64 = 5.0;
/// So many standard errors of what has been found out are taken off: what may be chance is no trust.
const DOUBT: f64 = 2.0;
/// However well a host's hints did, this part of its changes may come without one.
const LEAST_SILENT: f64 = 0.1;
/// A sitemap takes up to such a part of the looks that the pages take of which it tells, where it can be believed: hints that come
/// late are worth less (benches/recrawl: 0.05 to 0.2 make little difference).
const TELLING: f64 = 0.1;
/// From this excess on a change is taken to have happened when the hint says.
const EXACT: f64 = 0.3;

/// What looks at a host's pages have told of its hints. Counts that fade, all of them alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Encode, Decode)]
pub struct Trust {
    /// Looks at pages with a hint.
    #[n(0)]
    looked: f32,
    /// Of them: found a change …
    #[n(1)]
    right: f32,
    /// … and would have found one without any hint, as often as the pages were known to change.
    #[n(2)]
    expected: f32,
    /// Changes that no hint told of, on pages of which hints told before.
    #[n(3)]
    missed: f32,
}

/// What one look told of the hints of its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lesson {
    /// There was a hint. `expected`: how likely a change was without it.
    Told { expected: f32, has_changed: bool },
    /// There was a change and no hint, on a page that had hints before.
    Missed,
}

impl Trust {
    #[must_use]
    pub fn after(self, lesson: Lesson) -> Trust {
        let Trust { mut looked, mut right, mut expected, mut missed } = self;
        match lesson {
            Lesson::Told { expected: chance, has_changed } => {
                looked += 1.0;
                right += f32::from(u8::from(has_changed));
                expected += chance;
            }
            Lesson::Missed => missed += 1.0,
        }
        let fade = (MEMORY / looked.max(right + missed)).min(1.0);
        Trust { looked: looked * fade, right: right * fade, expected: expected * fade, missed: missed * fade }
    }

    /// How likely a hint tells of a change that was not to be expected: 0 of a host that lies, or of which too little is known.
    pub(super) fn excess(&self) -> f64 {
        let [looked, right, expected] = [self.looked, self.right, self.expected].map(f64::from);
        let error = (expected * (1.0 - expected / looked.max(1.0))).max(right * (1.0 - right / looked.max(1.0)));
        let surplus = right - expected - DOUBT * error.max(0.0).sqrt();
        (surplus / (looked - expected + CAUTION)).clamp(0.0, 1.0 - LEAST_SILENT)
    }

    /// The part of the changes that hints tell of.
    fn recall(&self) -> f64 {
        f64::from(self.right) / (f64::from(self.right + self.missed) + CAUTION)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.excess() > EXACT
    }
}

/// How its host's hints bear on one page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// How likely a hint that there is tells of a change that was not to be expected; 0 without one.
    told: f64,
    /// The part of the page's changes that comes unannounced.
    silent: f64,
    /// Looks while a mean interval passes, at least: it tells of others.
    pub(super) looks: f64,
}

impl Default for Outlook {
    /// Of a page of which nobody says anything.
    fn default() -> Outlook {
        Outlook { told: 0.0, silent: 1.0, looks: 0.0 }
    }
}

impl Outlook {
    /// `has_hint`: one that the last look could not know of. `tells`: of so many pages it says when they changed.
    pub(super) fn new(trust: &Trust, has_hints: bool, has_hint: bool, tells: u32) -> Outlook {
        let (excess, announced) = (trust.excess(), trust.excess() * trust.recall());
        Outlook {
            told: if has_hint { excess } else { 0.0 },
            silent: if has_hints { (1.0 - announced).max(LEAST_SILENT) } else { 1.0 },
            looks: TELLING * f64::from(tells) * announced,
        }
    }

    /// [`Belief::gain`], where some changes are told of: that none was makes fresh for longer what was looked at, and that one
    /// was is as much as the time in which it would have been likely.
    pub(super) fn gain(&self, belief: Belief, elapsed: f64) -> f64 {
        let unsaid = Belief { days: (f64::from(belief.days) / self.silent) as f32, ..belief };
        let gain = self.silent * unsaid.gain(elapsed);
        if self.told == 0.0 {
            return gain;
        }
        // The part of the time that a look would end, 1 - (1 - told)·e^(-λt)·(1 + x), where x is λt and what the hint stands
        // for. Over λ, whose mean is taken: over the whole belief the quotient has none.
        let left = 1.0 - self.told;
        let still = left * unsaid.unchanged(elapsed);
        left * gain + (self.told + still * left.ln()) / belief.changes_a_day()
    }
}
