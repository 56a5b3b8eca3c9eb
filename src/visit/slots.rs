//! When a request may be sent: its host is due, its name has an address, and the address has a politeness slot.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{AddressLimit, Fetching, Lease, PolitenessSlot};
use seine_parse::page::{EpochMs, Failure};
use seine_system::clock::now_ms;
use url::Url;

use super::leased_host::{LeasedHost, address_delay, round_up_delay};
use super::outage::{Evidence, OutageDetector, Sign};
use super::visitor::{Interrupted, Services, ask_frontier};
use super::waits::Waits;
use crate::config::Config;
use crate::fetch::{Client, DnsError};
use crate::shutdown::Shutdown;

/// Delay of a host that could not be reached because of an outage, in case fetching continues.
pub(super) const OUTAGE_REST_MS: u64 = 2_000;

/// The politeness slots of addresses, and the waits for them.
#[derive(Clone)]
pub(super) struct Slots {
    frontier: Arc<dyn Fetching>,
    client: Arc<Client>,
    config: Arc<Config>,
    waits: Arc<Waits>,
    outage: Arc<OutageDetector>,
    shutdown: Shutdown,
}

/// A politeness slot in use: one request to an address. The next one waits until this is dropped, however the request
/// ends.
pub(super) struct UsedSlot {
    frontier: Arc<dyn Fetching>,
    ip: IpAddr,
    limit: AddressLimit,
    began: EpochMs,
}

impl Drop for UsedSlot {
    fn drop(&mut self) {
        self.frontier.end_politeness_slot(self.ip, self.limit, self.began, now_ms());
    }
}

impl Slots {
    pub(super) fn new(services: &Services) -> Slots {
        let Services { frontier, client, config, waits, outage, shutdown, .. } = services.clone();
        Slots { frontier, client, config, waits, outage, shutdown }
    }

    /// Waits until the host and its address are due, and takes the politeness slot for a request. The inner error is a
    /// name that does not resolve.
    pub(super) async fn wait_for_slot(
        &self,
        host: &mut LeasedHost,
        url: &Url,
    ) -> Result<Result<UsedSlot, Failure>, Interrupted> {
        let _wait = self.waits.begin();
        let name = url.host_str().unwrap_or_default();
        let ip = match self.look_up(host, url).await? {
            Ok(addresses) => addresses[0].to_canonical(), // an IPv4-mapped address is the same machine
            Err(error) => {
                let failure = error.failure();
                if let Evidence::Failed(sign) = Evidence::of_failure(failure.reason) {
                    self.report_failure(host, sign, name, &failure.message)?;
                }
                return Ok(Err(failure));
            }
        };
        let (mut patience, mut in_line_until) = (host.patience, None);
        loop {
            self.sleep_until(host.not_before, patience).await?;
            match self.take_slot(&host.lease, ip).await {
                Ok(used) => return Ok(Ok(used)),
                Err(PolitenessSlot::At(turn)) => {
                    let now = now_ms();
                    host.not_before = turn.max(now + 1);
                    let until = *in_line_until.get_or_insert(now + host.patience_in_line().as_millis() as u64);
                    patience = Duration::from_millis(until.saturating_sub(now));
                }
                Err(_) => return Err(Interrupted::Recalled),
            }
        }
    }

    /// The slot, or what the frontier answers instead.
    async fn take_slot(&self, lease: &Lease, ip: IpAddr) -> Result<UsedSlot, PolitenessSlot> {
        let delay = round_up_delay(self.address_delay(lease));
        let limit = AddressLimit { delay, at_once: self.config.fetch.connections_per_host };
        let lease = Lease { work: Vec::new(), ..lease.clone() };
        let frontier = self.frontier.clone();
        // Taken and ended on that thread if the caller is gone.
        let take = move |_: &dyn Fetching| {
            let began = now_ms();
            match frontier.take_politeness_slot(&lease, ip, limit, began) {
                PolitenessSlot::Now => Ok(UsedSlot { frontier, ip, limit, began }),
                other => Err(other),
            }
        };
        ask_frontier(&self.frontier, take).await
    }

    fn address_delay(&self, lease: &Lease) -> Duration {
        address_delay(&self.config.frontier, lease.host.ordered_delay)
    }

    /// Reserves politeness slots for the requests of a remote worker to a leased host.
    pub(super) async fn hold_address(&self, lease: &Lease, visits: usize) {
        let url = Url::parse(&lease.host.origin).ok();
        let Some(name) = url.as_ref().and_then(Url::host_str) else { return };
        if let Ok(addresses) = self.client.dns().resolve(name).await {
            let time = self.address_delay(lease).saturating_mul(u32::try_from(visits).unwrap_or(u32::MAX));
            let hold = move |frontier: &dyn Fetching| {
                frontier.hold_address(addresses[0].to_canonical(), round_up_delay(time), now_ms())
            };
            ask_frontier(&self.frontier, hold).await;
        }
    }

    /// The addresses for `url`. The host counts as unknown if DNS answers for the second time that its name has no
    /// address, the host was never reached, and the DNS servers know other names.
    pub(super) async fn look_up(
        &self,
        host: &mut LeasedHost,
        url: &Url,
    ) -> Result<Result<Arc<[IpAddr]>, DnsError>, Interrupted> {
        let (name, dns) = (url.host_str().unwrap_or_default(), self.client.dns());
        let was_unknown = host.was_unknown() && url.origin().ascii_serialization() == host.origin();
        let found = match was_unknown {
            true => self.unless_stopping(dns.resolve_again(name)).await?,
            false => self.unless_stopping(dns.resolve(name)).await?,
        };
        self.outage.resolved(dns.answered_ms(), now_ms());
        if let Err(error @ DnsError::NoAddress { .. }) = &found
            && was_unknown
            && !host.was_reached()
            && self.unless_stopping(dns.knows_others_than(name)).await?
        {
            host.unknown_name = Some(format!("{error} (asked twice)"));
        }
        Ok(found)
    }

    /// Waits for an answer of DNS servers, but not after a stop.
    pub(super) async fn unless_stopping<T>(&self, answer: impl Future<Output = T>) -> Result<T, Interrupted> {
        tokio::select! {
            biased;
            said = answer => Ok(said),
            () = self.shutdown.finishing() => Err(Interrupted::Stopping),
        }
    }

    /// Reports a failure to the detector of outages. [`Interrupted::Outage`]: this machine is the cause.
    pub(super) fn report_failure(
        &self,
        host: &mut LeasedHost,
        sign: Sign,
        who: &str,
        message: &str,
    ) -> Result<(), Interrupted> {
        let now = now_ms();
        if self.outage.failed(sign, who, host.was_well(), message, now) {
            host.not_before = host.not_before.max(now + OUTAGE_REST_MS);
            return Err(Interrupted::Outage);
        }
        Ok(())
    }

    /// Waits if that takes no longer than `patience`.
    pub(super) async fn sleep_until(&self, at: EpochMs, patience: Duration) -> Result<(), Interrupted> {
        if self.shutdown.is_finishing() {
            return Err(Interrupted::Stopping);
        }
        let wait = Duration::from_millis(at.saturating_sub(now_ms()));
        if wait.is_zero() {
            return Ok(());
        }
        if wait > patience {
            return Err(Interrupted::Resting(at));
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.shutdown.finishing() => Err(Interrupted::Stopping),
        }
    }
}
