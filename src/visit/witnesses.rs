//! Hosts that answered lately for a page that is known to exist. Such a host is not asked again at once, because a host
//! with failing URLs may be leased several times a second.

use std::collections::HashMap;

use parking_lot::Mutex;
use seine_parse::page::EpochMs;

/// An answer counts for this long …
const COUNTS_FOR_MS: u64 = 60_000;
/// … and for this many failures. If the host goes down meanwhile, this many URLs at most are charged for it.
const COUNTS_FOR: u32 = 8;
/// At this number of hosts, old answers are removed.
const TIDY_AT: usize = 1024;

/// The last such answer of each host.
#[derive(Debug, Default)]
pub struct Witnesses(Mutex<HashMap<String, LastAnswer>>);

#[derive(Debug)]
struct LastAnswer {
    at: EpochMs,
    failures: u32,
}

impl Witnesses {
    /// The host answered for a known page, or not.
    pub(super) fn heard(&self, origin: &str, has_answered: bool, now: EpochMs) {
        let mut hosts = self.0.lock();
        if hosts.len() >= TIDY_AT {
            hosts.retain(|_, last| last.counts(now));
        }
        match has_answered {
            true => _ = hosts.insert(origin.to_owned(), LastAnswer { at: now, failures: 0 }),
            false => _ = hosts.remove(origin),
        }
    }

    /// Whether the last answer of the host still counts, for one more failure.
    pub(super) fn answered_lately(&self, origin: &str, now: EpochMs) -> bool {
        let mut hosts = self.0.lock();
        let Some(last) = hosts.get_mut(origin).filter(|last| last.counts(now)) else { return false };
        last.failures += 1;
        true
    }
}

impl LastAnswer {
    fn counts(&self, now: EpochMs) -> bool {
        now < self.at.saturating_add(COUNTS_FOR_MS) && self.failures < COUNTS_FOR
    }
}
