//! Leased hosts whose workers wait for another host and can lend theirs meanwhile.

use std::collections::HashMap;

use parking_lot::Mutex;
use seine_parse::page::EpochMs;

use super::host::LeasedHost;

/// By origin; none while a host is lent.
#[derive(Default)]
pub struct Parking(Mutex<HashMap<String, Option<LeasedHost>>>);

impl Parking {
    pub(super) fn park(&self, host: LeasedHost) {
        self.0.lock().insert(host.origin().to_owned(), Some(host));
    }

    /// Returns none if the host must wait beyond `latest`.
    pub(super) fn lend(&self, origin: &str, latest: EpochMs) -> Option<LeasedHost> {
        let mut host = self.0.lock().get_mut(origin)?.take_if(|host| host.not_before <= latest)?;
        host.go_on();
        Some(host)
    }

    /// A lent host comes back. If its worker panicked meanwhile, the host has no entry and no lease any more.
    pub(super) fn put_back(&self, host: LeasedHost) {
        if let Some(place) = self.0.lock().get_mut(host.origin()) {
            *place = Some(host);
        }
    }

    /// For its own worker; none while it is lent.
    pub(super) fn take(&self, origin: &str) -> Option<LeasedHost> {
        self.0.lock().get_mut(origin)?.take()
    }

    /// Removes the entry.
    pub(super) fn leave(&self, origin: &str) {
        self.0.lock().remove(origin);
    }
}
