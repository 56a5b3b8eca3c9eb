//! A redirect to another host: its lease is borrowed for one request. Our own host waits meanwhile, and may be lent to
//! others: so workers that redirect to each other's hosts do not wait for each other for ever.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::host::LeasedHost;
use super::visitor::{Interrupted, Visitor};
use crate::blocking;
use crate::clock::now_ms;
use crate::frontier::{FrontierError, HostTurn};
use crate::page::EpochMs;

/// How long a redirect waits for its other host to have rested, and for another worker to be done with it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A place in the parking. It is given up however the wait ends.
struct Parked<'v> {
    visitor: &'v Visitor,
    origin: String,
}

/// What the frontier says of a host that is to be borrowed.
enum Answer {
    Leased(Box<Borrowed>),
    At(EpochMs),
    Taken,
}

/// A borrowed host. However the visit ends, it is given back.
pub(super) struct Borrowed {
    visitor: Visitor,
    host: LeasedHost,
    /// From the parking, not from the frontier.
    is_lent: bool,
}

impl Visitor {
    /// Runs `visit` of another host while ours is parked.
    pub(super) async fn parked<T>(&self, host: &mut LeasedHost, visit: impl Future<Output = T>) -> T {
        let parked = Parked { visitor: self, origin: host.origin().to_owned() };
        self.parking.park(std::mem::take(host));
        self.changed.send_replace(());
        let result = visit.await;
        *host = parked.back().await;
        result
    }

    /// The host of `url`, from the frontier or from a worker that waits.
    pub(super) async fn borrow(&self, url: &Url) -> Result<Borrowed, Interrupted> {
        let origin = url.origin().ascii_serialization();
        let deadline = Instant::now() + PATIENCE;
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let mut wait = None;
            let (visitor, asked) = (self.clone(), origin.clone());
            // Given back where nobody awaits the answer any more.
            let turn = blocking::aside(move || {
                Ok::<_, FrontierError>(match visitor.frontier.lease_host(&asked, now_ms())? {
                    HostTurn::Leased(lease) => Answer::Leased(Box::new(Borrowed {
                        host: LeasedHost::borrowed(*lease),
                        visitor,
                        is_lent: false,
                    })),
                    HostTurn::Taken => Answer::Taken,
                    HostTurn::At(at) => Answer::At(at),
                })
            });
            let again = match turn.await? {
                Answer::Leased(host) => return Ok(*host),
                Answer::Taken => {
                    if let Some(host) = self.parking.lend(&origin, now_ms() + PATIENCE.as_millis() as u64) {
                        return Ok(Borrowed { visitor: self.clone(), host, is_lent: true });
                    }
                    if Instant::now() >= deadline {
                        return Err(Interrupted::Taken);
                    }
                    deadline
                }
                Answer::At(at) => {
                    let rested = Instant::now() + Duration::from_millis(at.saturating_sub(now_ms()));
                    if rested > deadline {
                        return Err(Interrupted::Resting(at));
                    }
                    wait = Some(self.waits.begin());
                    rested
                }
            };
            tokio::select! {
                biased;
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(again) => {}
                () = self.shutdown.finishing() => return Err(Interrupted::Stopping),
            }
            drop(wait);
        }
    }
}

impl Parked<'_> {
    /// Our host, as soon as nobody has it: whoever does makes one request.
    async fn back(self) -> LeasedHost {
        let mut changed = self.visitor.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if let Some(host) = self.visitor.parking.take(&self.origin) {
                return host;
            }
            // The sender lives as long as the visitor.
            let _ = changed.changed().await;
        }
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.visitor.parking.leave(&self.origin);
    }
}

impl Deref for Borrowed {
    type Target = LeasedHost;

    fn deref(&self) -> &LeasedHost {
        &self.host
    }
}

impl DerefMut for Borrowed {
    fn deref_mut(&mut self) -> &mut LeasedHost {
        &mut self.host
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let host = std::mem::take(&mut self.host);
        if self.is_lent {
            self.visitor.parking.put_back(host);
            self.visitor.changed.send_replace(());
            return;
        }
        let (lease, release) = host.release(&self.visitor.config.frontier);
        self.visitor.give_back_beside(lease, release);
    }
}
