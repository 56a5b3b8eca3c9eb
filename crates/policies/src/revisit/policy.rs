//! The revisit policy, from the configuration.

use std::time::Duration;

use super::belief::{Belief, days, milliseconds, worth_after};
use super::hints::Outlook;
use seine_parse::page::{Believed, Doubt, EpochMs};

/// Every page is revisited after this many mean intervals, even if a revisit never seems worth its price. Otherwise a
/// falling price would not be noticed, since it takes effect only when a revisit is due. Costs less than 1 % of
/// freshness (benches/recrawl).
const LONGEST: u32 = 8;

/// A revisit is late if it takes this many times the planned interval.
const LATE: f64 = 1.5;

/// The revisit policy (`link_storage.recrawl`).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RevisitPolicy {
    /// Mean interval between fetches of a page, over all pages; none: no revisits.
    pub interval: Option<Duration>,
    /// Shortest interval between two fetches of a page …
    pub min_interval: Duration,
    /// … and longest.
    pub max_interval: Duration,
    /// An answer that contradicts a known page ([`Doubt`]) is confirmed by a second fetch, this long after the first.
    /// 0: confirmed at once.
    pub confirm_gone: Duration,
    /// Settings for some pages. The first override that matches a page counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

/// Pages with intervals of their own. If `interval` is set, a missing shortest or longest
/// interval is equal to it. Other missing values are taken from the general policy.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Override {
    pub which: Which,
    /// `Some(None)`: never revisited.
    pub interval: Option<Option<Duration>>,
    pub min_interval: Option<Duration>,
    pub max_interval: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum Which {
    /// Pages of the host with this name, on any port.
    Host(String),
    /// Pages whose URL matches.
    Pattern(String),
}

impl RevisitPolicy {
    /// Whether no page is ever revisited.
    pub fn is_off(&self) -> bool {
        self.interval.is_none() && self.overrides.is_empty()
    }

    /// The policy for the pages of an override.
    #[must_use]
    pub fn overridden(&self, one: &Override) -> RevisitPolicy {
        let own = one.interval.flatten();
        RevisitPolicy {
            interval: one.interval.unwrap_or(self.interval),
            min_interval: one.min_interval.or(own).unwrap_or(self.min_interval),
            max_interval: one.max_interval.or(own).unwrap_or(self.max_interval),
            confirm_gone: self.confirm_gone,
            overrides: Vec::new(),
        }
    }

    /// Interval between two fetches of a page, for a given price of a revisit.
    pub fn interval_ms(&self, belief: Belief, outlook: Outlook, price: f64) -> u64 {
        milliseconds(worth_after(|elapsed| outlook.gain(belief, elapsed), price, self.bounds(outlook)))
    }

    /// Whether a revisit came much later than planned, so that it must have waited.
    pub fn is_late(&self, belief: Belief, outlook: Outlook, price: f64, elapsed_ms: u64) -> bool {
        let (shortest, longest) = self.bounds(outlook);
        let due = days(elapsed_ms) / LATE;
        due > longest || (due > shortest && outlook.gain(belief, due) > price)
    }

    /// Time until a page that seems gone is fetched again to confirm it.
    pub(crate) fn confirm_ms(&self) -> u64 {
        self.confirm_gone.as_millis() as u64
    }

    /// Which doubts an answer at `now` confirms, for a page with this doubt.
    pub fn believed(&self, doubted: Option<(Doubt, EpochMs)>, now: EpochMs) -> Believed {
        match doubted {
            _ if self.confirm_gone.is_zero() => Believed::All,
            Some((doubt, since)) if now >= since + self.confirm_ms() => Believed::Only(doubt),
            _ => Believed::Nothing,
        }
    }

    /// Time until a page in doubt is fetched again: short at first, then growing.
    pub fn doubt_ms(&self, (doubt, since): (Doubt, EpochMs), now: EpochMs) -> u64 {
        let doubted = now.saturating_sub(since);
        let growing = self.growing_ms(since, now);
        match self.confirm_ms().checked_sub(doubted) {
            // The server itself says that the page is gone, so one more fetch is enough.
            _ if doubt == Doubt::Missing => self.confirm_ms(),
            // Not later than the time at which the doubt can be confirmed.
            Some(left @ 1..) if doubt != Doubt::Cut => growing.min(left),
            _ => growing,
        }
    }

    /// Time until the next fetch while a state lasts: as long as it has lasted so far, within bounds. So the intervals
    /// grow.
    pub fn growing_ms(&self, since: EpochMs, now: EpochMs) -> u64 {
        let longest = self.max_interval.as_millis() as u64;
        now.saturating_sub(since).max(self.soonest().as_millis() as u64).min(longest)
    }

    /// Time until a gone page is fetched again: as long as it has been gone. So the intervals grow.
    pub fn gone_ms(&self, alive_ms: EpochMs, now: EpochMs) -> u64 {
        let longest = self.max_interval.as_millis() as u64;
        now.saturating_sub(alive_ms).max(self.confirm_ms()).max(self.shortest_ms()).min(longest)
    }

    /// Time until the first repeated fetch of a page in doubt. Applies even if revisits are off.
    pub fn soonest(&self) -> Duration {
        self.interval.map_or(self.min_interval, |interval| interval.min(self.min_interval))
    }

    /// The shortest interval. A smaller mean interval replaces it.
    fn shortest_ms(&self) -> u64 {
        self.interval.unwrap_or_default().min(self.min_interval).as_millis() as u64
    }

    /// The longest interval of any page.
    pub fn longest_ms(&self) -> u64 {
        let mean = self.interval.unwrap_or_default();
        self.max_interval.min(mean * LONGEST).max(mean).as_millis() as u64
    }

    /// Shortest and longest interval, in days.
    fn bounds(&self, outlook: Outlook) -> (f64, f64) {
        let mean = days(self.interval.unwrap_or_default().as_millis() as u64);
        let shortest = days(self.shortest_ms().max(1));
        (shortest, days(self.longest_ms()).min(mean / outlook.rechecks).max(shortest))
    }
}
