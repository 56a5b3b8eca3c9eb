//! A redirect to another host: its lease is borrowed for one request, while our own waits.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::client::now_ms;
use super::host::LeasedHost;
use super::visit::{Interrupted, Visitor};
use crate::frontier::HostTurn;

/// How long a redirect waits for its other host to have rested.
const RESTING_PATIENCE: Duration = Duration::from_secs(30);
/// How long it waits for another worker to be done with it, when its own host comes first …
const TAKEN_PATIENCE: Duration = Duration::from_secs(30);
/// … and when it comes last. Two workers may wait for each other's host: one of them must give way, and the order of
/// the hosts' names settles which.
const GIVING_WAY: Duration = Duration::from_millis(500);

/// A borrowed host. Whatever happens, it is given back.
pub(super) struct Borrowed<'v> {
    visitor: &'v Visitor,
    host: Option<LeasedHost>,
}

impl Visitor {
    /// Leases the host of `url` beside our own.
    pub(super) async fn borrow(&self, url: &Url, own_origin: &str) -> Result<Borrowed<'_>, Interrupted> {
        let origin = url.origin().ascii_serialization();
        let started = Instant::now();
        let taken_patience = if own_origin < origin.as_str() { TAKEN_PATIENCE } else { GIVING_WAY };
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let again = match self.frontier.lease_host(&origin, now_ms())? {
                HostTurn::Leased(lease) => {
                    return Ok(Borrowed { visitor: self, host: Some(LeasedHost::borrowed(lease)) });
                }
                HostTurn::At(at) => {
                    let rested = Instant::now() + Duration::from_millis(at.saturating_sub(now_ms()));
                    if rested > started + RESTING_PATIENCE {
                        return Err(Interrupted::Resting);
                    }
                    rested
                }
                HostTurn::Taken if started.elapsed() >= taken_patience => return Err(Interrupted::Taken),
                HostTurn::Taken => started + taken_patience,
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(again) => {}
                () = self.stop.cancelled() => return Err(Interrupted::Stopping),
            }
        }
    }
}

impl Deref for Borrowed<'_> {
    type Target = LeasedHost;

    fn deref(&self) -> &LeasedHost {
        self.host.as_ref().expect("there until it is dropped")
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut LeasedHost {
        self.host.as_mut().expect("there until it is dropped")
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let Some(host) = self.host.take() else { return };
        let origin = host.origin().to_owned();
        if let Err(error) = self.visitor.give_back(host, Vec::new()) {
            tracing::error!(host = origin, %error, "the frontier did not take a borrowed host back");
        }
    }
}
