//! Leased hosts whose workers wait for another host and can lend theirs meanwhile, and the hosts that redirects wait for.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use seine_parse::page::EpochMs;

use super::host::LeasedHost;

/// Maximum number of late hosts to remember.
const LATE: usize = 1_000;
/// A redirect that got its host needs this long (ms) until its answer counts.
const ANSWERS_MS: u64 = 2_000;

#[derive(Default)]
pub struct Parking {
    /// By origin; none while a host is lent.
    parked: Mutex<HashMap<String, Option<LeasedHost>>>,
    /// Hosts that redirects wait for.
    late: Mutex<BTreeMap<String, Late>>,
}

/// Why a redirect could not visit its host at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Late {
    /// The host may be visited then; if it is visited, since when.
    pub until: EpochMs,
    /// A redirect has got it.
    pub is_back: bool,
    /// Otherwise it has its delay, or another worker has it.
    pub is_in_trouble: bool,
}

impl Parking {
    pub(super) fn park(&self, host: LeasedHost) {
        self.parked.lock().insert(host.origin().to_owned(), Some(host));
    }

    /// Returns none if the host must wait beyond `latest`.
    pub(super) fn lend(&self, origin: &str, latest: EpochMs) -> Option<LeasedHost> {
        let mut host = self.parked.lock().get_mut(origin)?.take_if(|host| host.not_before <= latest)?;
        host.go_on();
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
        self.parked.lock().get_mut(origin)?.take()
    }

    /// Removes the entry.
    pub(super) fn leave(&self, origin: &str) {
        self.parked.lock().remove(origin);
    }

    /// A redirect cannot visit this host now.
    pub(super) fn is_late(&self, origin: &str, why: Late) {
        let mut late = self.late.lock();
        if late.len() >= LATE {
            late.retain(|_, late| !late.is_back);
        }
        if late.len() < LATE || late.contains_key(origin) {
            late.insert(origin.to_owned(), why);
        }
    }

    /// A redirect got this host.
    pub(super) fn is_back(&self, origin: &str, now: EpochMs) {
        if let Some(late) = self.late.lock().get_mut(origin) {
            (late.until, late.is_back) = (now, true);
        }
    }

    /// 0: the host is not known to be late.
    pub(super) fn late_until(&self, origin: &str) -> EpochMs {
        self.late.lock().get(origin).map_or(0, |late| late.until)
    }

    /// Whether a redirect waits for a healthy host that may be visited between the two times, or has just got it.
    pub(crate) fn waits_for_healthy(&self, (after, before): (EpochMs, EpochMs), now: EpochMs) -> bool {
        self.late.lock().values().any(|late| match late.is_back {
            true => now < late.until + ANSWERS_MS,
            false => !late.is_in_trouble && (after..before).contains(&late.until),
        })
    }

    /// Up to `at_most` hosts that redirects wait for, for the user.
    pub fn late(&self, at_most: usize) -> Vec<(String, EpochMs)> {
        let late = self.late.lock();
        let waiting = late.iter().filter(|(_, late)| !late.is_back);
        waiting.take(at_most).map(|(origin, late)| (origin.clone(), late.until)).collect()
    }
}
