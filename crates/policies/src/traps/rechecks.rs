//! Rechecks of known pages teach more about the patterns of a host.

use std::time::Duration;

use seine_parse::page::EpochMs;

use super::pattern_stats::PatternStats;
use super::{Fetched, HostTraps, STALE, pattern};

impl HostTraps {
    /// Counts any request of the host, new URL or recheck. Pages are rechecked at an average interval of `every`. Returns
    /// whether the statistics must be stored.
    pub fn asked(&mut self, path_and_query: &str, now: EpochMs, every: Duration) -> bool {
        let is_unproductive = self.cool(self.marks(&pattern::of(path_and_query))).is_some();
        self.allowance.asked(is_unproductive, now, every)
    }

    /// A known page has a new text. If it is news, it counts for the pattern. If the pattern had equal texts, one fewer
    /// counts against it: a site that answered with one page for all URLs for a while is no trap.
    pub fn see_again(&mut self, fetched: &Fetched, tell: &mut Vec<String>) {
        let Some(words) = fetched.words else { return };
        let news = self.seen.see(words, fetched.digest, fetched.path_and_query);
        let marks = self.marks(&pattern::of(fetched.path_and_query));
        let is_of_it = |stats: &&mut PatternStats| marks.has(stats.mark);
        let mut healed = 0;
        for stats in self.patterns.iter_mut().filter(is_of_it) {
            let was_cool = stats.is_cool;
            stats.count_again(&news);
            if was_cool && !stats.is_cool {
                tell.push(format!("{} is no longer deferred: known pages have new texts", stats.name()));
                healed += u32::from(STALE);
            }
        }
        self.allowance.give_back(healed);
    }
}
