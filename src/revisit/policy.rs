//! How pages are looked at again: what the configuration says.

use std::time::Duration;

use super::belief::{Belief, days, milliseconds, worth_after};
use super::hints::Outlook;
use crate::page::{Believed, Doubt, EpochMs};

/// A page that is never worth a look is looked at so many mean intervals after the last all the same: a price that falls is felt
/// only where a look is due. It costs less than 1 % of freshness (benches/recrawl).
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
    /// What speaks against a page that is there ([`Doubt`]) is believed once a second look, so long after the first, agrees. 0: at
    /// once.
    pub confirm_gone: Duration,
    /// Of some pages: the first that is theirs counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
}

/// Pages that are looked at in intervals of their own. What is not said is as it is for all, but of those with an interval alone: it
/// is their shortest and their longest, too.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Override {
    pub which: Which,
    /// `Some(None)`: never.
    pub interval: Option<Option<Duration>>,
    pub min_interval: Option<Duration>,
    pub max_interval: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub enum Which {
    /// Of this name, whatever the port.
    Host(String),
    /// Whose URL matches.
    Pattern(String),
}

impl RevisitPolicy {
    /// Nothing says that pages are looked at again.
    pub fn is_off(&self) -> bool {
        self.interval.is_none() && self.overrides.is_empty()
    }

    /// For the pages that `one` is about.
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

    /// From one look at a page to the next, where a look must be worth `price`.
    pub fn interval_ms(&self, belief: Belief, outlook: Outlook, price: f64) -> u64 {
        milliseconds(worth_after(|elapsed| outlook.gain(belief, elapsed), price, self.bounds(outlook)))
    }

    /// Whether a look so long after the one before came much later than was planned: it had to wait for others.
    pub fn is_late(&self, belief: Belief, outlook: Outlook, price: f64, elapsed_ms: u64) -> bool {
        let (shortest, longest) = self.bounds(outlook);
        let due = days(elapsed_ms) / LATE;
        due > longest || (due > shortest && outlook.gain(belief, due) > price)
    }

    /// Until a page that does not answer as a page is looked at once more, to tell whether it is gone.
    pub fn confirm_ms(&self) -> u64 {
        self.confirm_gone.as_millis() as u64
    }

    /// What is believed of an answer of `now`, of a page that is doubted like that.
    pub fn believed(&self, doubted: Option<(Doubt, EpochMs)>, now: EpochMs) -> Believed {
        match doubted {
            _ if self.confirm_gone.is_zero() => Believed::All,
            Some((doubt, since)) if now >= since + self.confirm_ms() => Believed::Only(doubt),
            _ => Believed::Nothing,
        }
    }

    /// Until a page that is doubted is looked at once more: soon at first, then at growing intervals.
    pub fn doubt_ms(&self, (doubt, since): (Doubt, EpochMs), now: EpochMs) -> u64 {
        let doubted = now.saturating_sub(since);
        let growing = self.growing_ms(since, now);
        match self.confirm_ms().checked_sub(doubted) {
            // The server says so itself: one look more is enough.
            _ if doubt == Doubt::Missing => self.confirm_ms(),
            // In time to confirm it.
            Some(left @ 1..) if doubt != Doubt::Cut => growing.min(left),
            _ => growing,
        }
    }

    /// As long as something has been so since then, so that the looks grow apart; soon at first.
    pub fn growing_ms(&self, since: EpochMs, now: EpochMs) -> u64 {
        let longest = self.max_interval.as_millis() as u64;
        now.saturating_sub(since).max(self.soonest().as_millis() as u64).min(longest)
    }

    /// Until a page that is gone is looked at again: as long as it has been away, so that the looks grow apart.
    pub fn gone_ms(&self, alive_ms: EpochMs, now: EpochMs) -> u64 {
        let longest = self.max_interval.as_millis() as u64;
        now.saturating_sub(alive_ms).max(self.confirm_ms()).max(self.shortest_ms()).min(longest)
    }

    /// Until what is doubted is looked at again for the first time, whether pages are looked at again or not.
    pub fn soonest(&self) -> Duration {
        self.interval.map_or(self.min_interval, |interval| interval.min(self.min_interval))
    }

    /// A mean below the shortest interval is the shortest one.
    fn shortest_ms(&self) -> u64 {
        self.interval.unwrap_or_default().min(self.min_interval).as_millis() as u64
    }

    /// No page is left alone for longer.
    pub fn longest_ms(&self) -> u64 {
        let mean = self.interval.unwrap_or_default();
        self.max_interval.min(mean * LONGEST).max(mean).as_millis() as u64
    }

    /// In days.
    fn bounds(&self, outlook: Outlook) -> (f64, f64) {
        let mean = days(self.interval.unwrap_or_default().as_millis() as u64);
        let shortest = days(self.shortest_ms().max(1));
        (shortest, days(self.longest_ms()).min(mean / outlook.looks).max(shortest))
    }
}
