//! Redirects to another host: the worker borrows the lease of that host for one request. Meanwhile other workers may
//! borrow its own host, so workers that redirect to each other's hosts cannot deadlock.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{Fetching, FrontierError, Lease, LeaseAnswer, Release};
use seine_simulation_hooks::planted;
use seine_system::blocking;
use seine_system::clock::now_ms;
use tokio::sync::watch;
use tokio::time::Instant;
use url::Url;

use super::leased_host::LeasedHost;
use super::parking::{Late, Parking};
use super::visitor::{Interrupted, Services};
use super::waits::Waits;
use crate::config::Config;
use crate::shutdown::Shutdown;

/// How long a redirect that was put off before waits for the delay of the other host, and for the worker that has its
/// lease. Such a redirect is fetched only when its own host has no new URLs left, so it keeps nobody waiting.
const PATIENCE: Duration = Duration::from_secs(30);
/// Otherwise the redirect waits as long as its own host rests anyway, and this much longer.
const SHORT_PATIENCE: Duration = Duration::from_secs(5);

/// A redirect that wants to visit another host.
#[derive(Debug, Clone, Copy)]
pub(super) struct RedirectWait {
    /// Its URL waited for another host before.
    pub was_put_off: bool,
    /// It has already sent a request to that host, which rests because of it. It waits for as long as the delay, because
    /// the next attempt would lead to the same wait.
    pub has_begun: bool,
}

/// A host in the parking. Removed when the wait ends, however it ends.
struct Parked<'v> {
    hosts: &'v Hosts,
    origin: String,
}

/// A borrowed host. Returned when the visit ends, however it ends.
pub(super) struct Borrowed {
    hosts: Hosts,
    host: LeasedHost,
    /// Borrowed from the parking, not leased from the frontier.
    is_lent: bool,
}

/// Borrows the leases of other hosts for redirects, and releases leases.
#[derive(Clone)]
pub(super) struct Hosts {
    frontier: Arc<dyn Fetching>,
    config: Arc<Config>,
    changed: watch::Sender<()>,
    parking: Arc<Parking>,
    waits: Arc<Waits>,
    shutdown: Shutdown,
}

impl Hosts {
    pub(super) fn new(services: &Services) -> Hosts {
        let Services { frontier, config, changed, parking, waits, shutdown, .. } = services.clone();
        Hosts { frontier, config, changed, parking, waits, shutdown }
    }

    /// Releases a host, and starts writing the results of its visit. Waiting for that write does not hold the host.
    pub(super) fn release(&self, host: LeasedHost) -> impl Future<Output = Result<(), FrontierError>> + 'static {
        let (lease, release) = host.release(&self.config.frontier);
        self.frontier.give_back(lease, release);
        let (frontier, changed) = (self.frontier.clone(), self.changed.clone());
        async move {
            let written = blocking::run_blocking(move || frontier.write_visits()).await;
            changed.send_replace(());
            written
        }
    }

    /// The same for code that cannot await: another thread writes the results.
    pub(super) fn release_in_background(&self, lease: Lease, release: Release) {
        self.frontier.give_back(lease, release);
        let (frontier, changed) = (self.frontier.clone(), self.changed.clone());
        blocking::run_detached(move || {
            if let Err(error) = frontier.write_visits() {
                tracing::error!(%error, "the frontier could not write the result of a visit (delay, back-off, \
                    robots.txt)");
            }
            changed.send_replace(());
        });
    }

    /// Runs `visit` of another host while our host is parked.
    pub(super) async fn parked<T>(&self, host: &mut LeasedHost, visit: impl Future<Output = T>) -> T {
        let parked = Parked { hosts: self, origin: host.origin().to_owned() };
        self.parking.park(std::mem::take(host));
        self.changed.send_replace(());
        let result = visit.await;
        *host = parked.back().await;
        result
    }

    /// Gets the host of `url` from the frontier, or from a worker that waits.
    pub(super) async fn borrow(&self, url: &Url, wait: RedirectWait) -> Result<Borrowed, Interrupted> {
        let origin = url.origin().ascii_serialization();
        let borrowed = self.borrow_within(&origin, self.patience(&origin, wait)).await;
        if borrowed.is_ok() {
            self.parking.mark_visited(&origin, now_ms());
        }
        borrowed
    }

    /// While one redirect waited in vain, the next ones of other URLs do not wait.
    fn patience(&self, origin: &str, wait: RedirectWait) -> Duration {
        let config = &self.config.frontier;
        let short = config.host_delay + SHORT_PATIENCE;
        match wait.was_put_off {
            true if wait.has_begun && !planted::is("redirects_start_over") => {
                config.host_delay.max(config.max_crawl_delay) + PATIENCE
            }
            true => PATIENCE,
            false if self.parking.late_until(origin) > now_ms() + short.as_millis() as u64 => Duration::ZERO,
            false => short,
        }
    }

    async fn borrow_within(&self, origin: &str, patience: Duration) -> Result<Borrowed, Interrupted> {
        let deadline = Instant::now() + patience;
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let mut wait = None;
            let (hosts, asked) = (self.clone(), origin.to_owned());
            // Released if the caller is gone.
            let slot = blocking::run_blocking(move || {
                let answer = hosts.frontier.lease_host(&asked, now_ms())?;
                let borrowed =
                    |lease: Box<Lease>| Borrowed { host: LeasedHost::borrowed(*lease), hosts, is_lent: false };
                Ok::<_, FrontierError>(answer.map(borrowed))
            });
            let again = match slot.await? {
                LeaseAnswer::Leased(host) => return Ok(host),
                LeaseAnswer::Taken => {
                    if let Some(host) = self.parking.lend(origin, now_ms() + patience.as_millis() as u64) {
                        return Ok(Borrowed { hosts: self.clone(), host, is_lent: true });
                    }
                    if Instant::now() >= deadline {
                        let until = now_ms() + PATIENCE.as_millis() as u64;
                        self.parking.mark_late(origin, Late::Waits { until, is_in_trouble: false });
                        return Err(Interrupted::HostLeased);
                    }
                    deadline
                }
                LeaseAnswer::At { at, is_in_trouble } => {
                    self.parking.mark_late(origin, Late::Waits { until: at, is_in_trouble });
                    let rested = Instant::now() + Duration::from_millis(at.saturating_sub(now_ms()));
                    if rested > deadline || is_in_trouble {
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
    /// Takes our host back, when no other worker has it. Each has it for one request.
    async fn back(self) -> LeasedHost {
        let mut changed = self.hosts.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if let Some(host) = self.hosts.parking.take(&self.origin) {
                return host;
            }
            // The sender lives as long as the hosts.
            let _ = changed.changed().await;
        }
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.hosts.parking.leave(&self.origin);
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
            self.hosts.parking.put_back(host);
            self.hosts.changed.send_replace(());
            return;
        }
        let (lease, release) = host.release(&self.hosts.config.frontier);
        self.hosts.release_in_background(lease, release);
    }
}
