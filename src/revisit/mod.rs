//! When a page is looked at again: as often as it changes and no oftener, within the looks there are. Arithmetic alone, of
//! times handed in.

mod belief;
mod budget;

use std::time::Duration;

pub use belief::Belief;
use belief::{days, milliseconds};
pub use budget::Budget;

use minicbor::{Decode, Encode};

use crate::page::{EpochMs, PageChange};

/// A page that is never worth a look is looked at so many mean intervals after the last all the same: a price that falls is felt
/// only where a look is due. It costs less than 1 % of freshness (benches/recrawl.rs).
const LONGEST: u32 = 8;

/// A look that comes so many times as late as was planned is late.
const LATE: f64 = 1.5;

/// How pages are looked at again (`link_storage.recrawl`).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RevisitPolicy {
    /// From one look to the next, on average over all pages; none: pages are not looked at again.
    pub interval: Option<Duration>,
    /// No page is looked at oftener …
    pub min_interval: Duration,
    /// … or more seldom.
    pub max_interval: Duration,
    /// A page that is not there any more is gone once a second look, so long after the first, agrees. 0: at once.
    pub confirm_gone: Duration,
}

/// What looking at a page has told.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub struct History {
    /// When it was last there.
    #[n(0)]
    pub alive_ms: EpochMs,
    /// Since when a page that counts as live has not been there: 404 or 410, until a second look agrees.
    #[n(3)]
    pub missing_since: Option<EpochMs>,
    /// How often it had changed when it was looked at.
    #[n(1)]
    pub changes: u32,
    #[n(2)]
    pub belief: Belief,
}

impl History {
    /// Of a page seen for the first time, or again after it was gone.
    pub fn new(now: EpochMs) -> History {
        History { alive_ms: now, missing_since: None, changes: 0, belief: Belief::default() }
    }

    /// After a look that found the page there.
    #[must_use]
    pub fn seen(self, now: EpochMs, change: PageChange) -> History {
        let has_changed = change == PageChange::Changed;
        History {
            alive_ms: now,
            missing_since: None,
            changes: self.changes.saturating_add(u32::from(has_changed)),
            belief: self.belief.after(now.saturating_sub(self.alive_ms), has_changed),
        }
    }

    /// After a look that did not, and was the first of them or one of several.
    #[must_use]
    pub fn missed(self, now: EpochMs) -> History {
        History { missing_since: Some(self.missing_since.unwrap_or(now)), ..self }
    }
}

impl RevisitPolicy {
    /// From one look at a page to the next, where a look must be worth `price`.
    pub fn interval_ms(&self, belief: Belief, price: f64) -> u64 {
        milliseconds(belief.worth_after(price, self.bounds()))
    }

    /// Whether a look so long after the one before came much later than was planned: it had to wait for others.
    pub fn is_late(&self, belief: Belief, price: f64, elapsed_ms: u64) -> bool {
        let (shortest, longest) = self.bounds();
        let due = days(elapsed_ms) / LATE;
        due > longest || (due > shortest && belief.gain(due) > price)
    }

    /// Until a page that does not answer as a page is looked at once more, to tell whether it is gone.
    pub fn confirm_ms(&self) -> u64 {
        self.confirm_gone.as_millis() as u64
    }

    /// Whether a page missing since then is gone, now that it is missing still.
    pub fn is_gone(&self, missing_since: Option<EpochMs>, now: EpochMs) -> bool {
        self.confirm_gone.is_zero() || missing_since.is_some_and(|since| now >= since + self.confirm_ms())
    }

    /// Until a page that is gone is looked at again: as long as it has been away, so that the looks grow apart.
    pub fn gone_ms(&self, alive_ms: EpochMs, now: EpochMs) -> u64 {
        let longest = self.max_interval.as_millis() as u64;
        now.saturating_sub(alive_ms).max(self.confirm_ms()).max(self.shortest_ms()).min(longest)
    }

    /// A mean below the shortest interval is the shortest one.
    fn shortest_ms(&self) -> u64 {
        self.interval.unwrap_or_default().min(self.min_interval).as_millis() as u64
    }

    fn bounds(&self) -> (f64, f64) {
        let mean = self.interval.unwrap_or_default();
        let longest = self.max_interval.min(mean * LONGEST).max(mean);
        (days(self.shortest_ms().max(1)), days(longest.as_millis() as u64))
    }
}
