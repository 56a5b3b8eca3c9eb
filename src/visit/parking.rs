//! Leased hosts whose workers wait for another host and can lend theirs meanwhile, and the hosts that redirects wait
//! for.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use seine_parse::page::EpochMs;

use super::leased_host::LeasedHost;

/// Maximum number of late hosts to remember.
const LATE: usize = 1_000;
/// After a redirect has leased its host, the end of the run waits this long (ms) for the outcome.
const ANSWERS_MS: u64 = 2_000;

#[derive(Default)]
pub struct Parking {
    /// Parked hosts by origin. None: lent to another worker at the moment.
    parked: Mutex<HashMap<String, Option<LeasedHost>>>,
    /// Hosts that redirects wait for.
    late: Mutex<BTreeMap<String, Late>>,
}

/// A host that a redirect could not visit at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Late {
    /// The redirect may try again at `until`. `is_in_trouble`: the host backs off. Otherwise its delay has not passed,
    /// or another worker has its lease.
    Waits { until: EpochMs, is_in_trouble: bool },
    /// A redirect has got it since.
    Visited { since: EpochMs },
}

impl Late {
    /// None: it is visited.
    fn until(self) -> Option<EpochMs> {
        match self {
            Late::Waits { until, .. } => Some(until),
            Late::Visited { .. } => None,
        }
    }
}

impl Parking {
    pub(super) fn park(&self, mut host: LeasedHost) {
        host.is_parked = true;
        self.parked.lock().insert(host.origin().to_owned(), Some(host));
    }

    /// Returns none if the host must wait beyond `latest`.
    pub(super) fn lend(&self, origin: &str, latest: EpochMs) -> Option<LeasedHost> {
        let mut host = self.parked.lock().get_mut(origin)?.take_if(|host| host.not_before <= latest)?;
        host.begin_redirect();
        Some(host)
    }

    /// A lent host comes back. If its worker panicked meanwhile, the host has no entry and no lease any more.
    pub(super) fn put_back(&self, host: LeasedHost) {
        if let Some(place) = self.parked.lock().get_mut(host.origin()) {
            *place = Some(host);
        }
    }

    /// For its own worker; none while it is lent.
    pub(super) fn take(&self, origin: &str) -> Option<LeasedHost> {
        let mut host = self.parked.lock().get_mut(origin)?.take()?;
        host.is_parked = false;
        Some(host)
    }

    /// Removes the entry.
    pub(super) fn leave(&self, origin: &str) {
        self.parked.lock().remove(origin);
    }

    /// A redirect cannot visit this host now.
    pub(super) fn mark_late(&self, origin: &str, why: Late) {
        let mut late = self.late.lock();
        if late.len() >= LATE {
            late.retain(|_, late| late.until().is_some());
        }
        if late.len() < LATE || late.contains_key(origin) {
            late.insert(origin.to_owned(), why);
        }
    }

    /// A redirect got this host.
    pub(super) fn mark_visited(&self, origin: &str, now: EpochMs) {
        if let Some(late) = self.late.lock().get_mut(origin) {
            *late = Late::Visited { since: now };
        }
    }

    /// 0: the host is not known to be late.
    pub(super) fn late_until(&self, origin: &str) -> EpochMs {
        self.late.lock().get(origin).and_then(|late| late.until()).unwrap_or(0)
    }

    /// Whether a redirect waits for a healthy host that may be visited between the two times, or has just got it.
    pub(crate) fn waits_for_healthy(&self, (after, before): (EpochMs, EpochMs), now: EpochMs) -> bool {
        self.late.lock().values().any(|late| match late {
            Late::Visited { since } => now < since + ANSWERS_MS,
            Late::Waits { until, is_in_trouble } => !is_in_trouble && (after..before).contains(until),
        })
    }

    /// Up to `at_most` hosts that redirects wait for, for the user.
    pub fn late(&self, at_most: usize) -> Vec<(String, EpochMs)> {
        let late = self.late.lock();
        let waiting = late.iter().filter_map(|(origin, late)| Some((origin.clone(), late.until()?)));
        waiting.take(at_most).collect()
    }
}
