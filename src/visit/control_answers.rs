//! The last answers of hosts for a control page: a page that is known to be live, with which a failing URL is compared.
//! The answer is used again for a while, because a host with failing URLs may be leased several times a second. That the page failed is
//! used again, too: a host that fails for hours and redirects some URLs meanwhile never rests for long.

use std::collections::HashMap;

use parking_lot::Mutex;
use seine_parse::page::EpochMs;

/// An answer counts at least this long.
const SHORTEST_MS: u64 = 60_000;
/// It counts longer if control pages of the host have answered, or failed, for hours: for 1/`PART` of that time.
const PART: u64 = 16;
/// It counts at most this long.
const LONGEST_MS: u64 = 600_000;
/// It counts for this many failures a minute. If the host goes down meanwhile, so many URLs at most are charged for it.
const FAILURES_A_MINUTE: u64 = 8;
/// An answer is forgotten if no control page was requested for so long.
const FORGOTTEN_MS: u64 = 3_600_000;
/// At this number of hosts, old answers are removed; all of them, if too few are old. Each host then gets one more
/// request.
const TIDY_AT: usize = 8192;

/// The last such answer of each host.
#[derive(Debug, Default)]
pub struct ControlAnswers(Mutex<HashMap<String, LastAnswer>>);

#[derive(Debug)]
struct LastAnswer {
    /// The control page has answered; otherwise it has failed.
    is_good: bool,
    at: EpochMs,
    /// When the host answered like this first, without a pause of an hour or a failure since.
    first: EpochMs,
    failures: u64,
}

impl ControlAnswers {
    /// Records whether a control page of the host has answered.
    pub(super) fn heard(&self, origin: &str, has_answered: bool, now: EpochMs) {
        let mut hosts = self.0.lock();
        if hosts.len() >= TIDY_AT {
            hosts.retain(|_, last| last.is_known(now));
            if hosts.len() >= TIDY_AT / 2 {
                hosts.clear();
            }
        }
        let known = hosts.get(origin).filter(|last| last.is_good == has_answered && last.is_known(now));
        let first = known.map_or(now, |last| last.first);
        hosts.insert(origin.to_owned(), LastAnswer { is_good: has_answered, at: now, first, failures: 0 });
    }

    /// The host itself has failed, so an earlier good answer counts no more.
    pub(super) fn host_failed(&self, origin: &str) {
        self.forget(origin, true);
    }

    /// The host has answered with a page, so an earlier failure counts no more.
    pub(super) fn host_answered(&self, origin: &str) {
        self.forget(origin, false);
    }

    fn forget(&self, origin: &str, is_good: bool) {
        let mut hosts = self.0.lock();
        if hosts.get(origin).is_some_and(|last| last.is_good == is_good) {
            hosts.remove(origin);
        }
    }

    /// The last answer of the host, if it still counts for one more failure of another URL.
    pub(super) fn last(&self, origin: &str, now: EpochMs) -> Option<bool> {
        let mut hosts = self.0.lock();
        let last = hosts.get_mut(origin).filter(|last| last.counts(now))?;
        last.failures += 1;
        Some(last.is_good)
    }
}

impl LastAnswer {
    fn is_known(&self, now: EpochMs) -> bool {
        now < self.at.saturating_add(FORGOTTEN_MS)
    }

    fn counts(&self, now: EpochMs) -> bool {
        let for_ms = (now.saturating_sub(self.first) / PART).clamp(SHORTEST_MS, LONGEST_MS);
        now < self.at.saturating_add(for_ms) && self.failures < FAILURES_A_MINUTE * for_ms / SHORTEST_MS
    }
}
