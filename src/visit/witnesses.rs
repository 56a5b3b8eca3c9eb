//! Hosts that answered lately for a page that is known to exist. Such a host is not asked again at once, because a host
//! with failing URLs may be leased several times a second.

use std::collections::HashMap;

use parking_lot::Mutex;
use seine_parse::page::EpochMs;

/// An answer counts for this long, …
const SHORTEST_MS: u64 = 60_000;
/// … longer if URLs of the host have failed for hours (for this part of that time), …
const PART: u64 = 16;
/// … but at most for this long, …
const LONGEST_MS: u64 = 600_000;
/// … and for this many failures a minute. If the host goes down meanwhile, so many URLs at most are charged for it.
const FAILURES_A_MINUTE: u64 = 8;
/// At this number of hosts, old answers are removed.
const TIDY_AT: usize = 1024;

/// The last such answer of each host.
#[derive(Debug, Default)]
pub struct Witnesses(Mutex<HashMap<String, LastAnswer>>);

#[derive(Debug)]
struct LastAnswer {
    at: EpochMs,
    failures: u64,
}

impl Witnesses {
    /// The host answered for a known page, or not.
    pub(super) fn heard(&self, origin: &str, has_answered: bool, now: EpochMs) {
        let mut hosts = self.0.lock();
        if hosts.len() >= TIDY_AT {
            hosts.retain(|_, last| last.counts(LONGEST_MS, now));
        }
        match has_answered {
            true => _ = hosts.insert(origin.to_owned(), LastAnswer { at: now, failures: 0 }),
            false => _ = hosts.remove(origin),
        }
    }

    /// Whether the last answer of the host still counts, for one more failure. `many_since`: since when many of its URLs fail.
    pub(super) fn answered_lately(&self, origin: &str, many_since: Option<EpochMs>, now: EpochMs) -> bool {
        let failing_ms = many_since.map_or(0, |since| now.saturating_sub(since));
        let counts_for_ms = (failing_ms / PART).clamp(SHORTEST_MS, LONGEST_MS);
        let mut hosts = self.0.lock();
        let Some(last) = hosts.get_mut(origin).filter(|last| last.counts(counts_for_ms, now)) else { return false };
        last.failures += 1;
        true
    }
}

impl LastAnswer {
    fn counts(&self, for_ms: u64, now: EpochMs) -> bool {
        now < self.at.saturating_add(for_ms) && self.failures < FAILURES_A_MINUTE * for_ms / SHORTEST_MS
    }
}
