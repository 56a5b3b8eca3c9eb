//! When deferred URLs are released, and how many.

use super::{HostTraps, MIRROR, MIRRORED, MIRRORED_PAGES};

/// How many URLs are released at once after a pattern became warm again.
const DRAINED: usize = 512;
/// The same for each fetch of the host while it has others.
const DRAINED_BESIDE: usize = 8;

impl HostTraps {
    /// Counts a fetch of the host. Returns the marks whose URLs are now released, and how many of each.
    pub fn visited(&mut self) -> Vec<(u32, usize)> {
        let mut released = Vec::new();
        for stats in &mut self.patterns {
            if stats.is_draining {
                released.push((stats.mark, DRAINED_BESIDE));
            } else if stats.is_cool {
                stats.earned += 1;
                if stats.earned >= stats.every() && self.allowance.is_for_more() {
                    stats.earned = 0;
                    released.push((stats.mark, 1));
                }
            }
        }
        if self.mirror.as_ref().is_some_and(|mirror| !mirror.is_believed && mirror.agreed >= MIRRORED_PAGES) {
            released.extend([(MIRROR, DRAINED), (MIRRORED, DRAINED)]);
        }
        released
    }

    /// How many URLs to release if the host has nothing else.
    pub fn portion(&self) -> usize {
        self.allowance.portion()
    }

    /// The marks to release first: patterns that still lead to more URLs. The size of the other sets is measured after
    /// these are exhausted.
    pub fn leading(&self) -> Vec<u32> {
        self.patterns.iter().filter(|stats| stats.leads > 0).map(|stats| stats.mark).collect()
    }

    /// How many URLs of a portion other marks get nevertheless: when the allowance is nearly spent, a quarter. Otherwise
    /// an endless pattern keeps a few URLs of a finite one waiting for ever.
    pub fn of_others(&self) -> usize {
        if self.allowance.is_nearly_spent() { self.portion().div_ceil(4) } else { 0 }
    }

    /// The host had nothing else, so `released` of its `held` deferred URLs were released. Returns whether the
    /// statistics must be stored.
    pub fn let_go(&mut self, held: u64, released: usize, tell: &mut Vec<String>) -> bool {
        if held == 0 {
            return self.allowance.ended();
        }
        let before = self.allowance;
        self.allowance.released(held, released);
        if before.left() > 0 && self.allowance.left() == 0 {
            tell.push(format!("{held} URLs stay deferred: fetching them only leads to as many again"));
        }
        self.allowance != before
    }

    /// Tells how many URLs of a mark were released, and whether none is left.
    pub fn released(&mut self, mark: u32, count: usize, is_empty: bool) {
        let Some(stats) = self.patterns.iter_mut().find(|stats| stats.mark == mark) else { return };
        match is_empty {
            true => stats.is_draining = false,
            false if stats.is_cool => self.allowance.spend(count as u32),
            false => {}
        }
    }
}
