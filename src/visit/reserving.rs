//! Reservations of redirect targets (`redirects: first`) and of canonical slots (`canonical: obey`; RFC 6596). A worker
//! reserves a redirect target before it requests it, so the page is fetched and delivered once, under one URL. The
//! content slot of the page (`visit/body_reader.rs`) is dropped together with them.

use std::pin::pin;
use std::time::Duration;

use seine_frontier::{FrontierError, TargetOwner};
use tokio::time::Instant;

use super::follow::Follower;
use super::url_reservation::UrlReservation;
use super::visitor::{Interrupted, Shared};
use crate::config::Redirects;

/// How long to wait for another URL's reservation to be settled.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same with several requests to a host at a time. Then the host cannot be lent, and the other URL may be waiting
/// for it.
const PATIENCE_BESIDE: Duration = Duration::from_secs(1);

/// The reservation of a URL, with the look-ups for its redirect target and slots. [`Follower::reserved_target`] makes it only if
/// the configuration and the kind of the URL need it.
pub(super) struct ReservedTarget<'v> {
    pub follower: &'v Follower,
    pub reserved: UrlReservation,
}

impl ReservedTarget<'_> {
    async fn reserve_target(&self, target: &str) -> Result<TargetOwner, FrontierError> {
        let target = target.to_owned();
        self.reserved.ask(move |reserved| reserved.reserve_target(&target)).await
    }

    /// Reserves `target` and drops the earlier reservation. If another URL is fetching it, waits for the result.
    /// Meanwhile it reserves nothing and lends our host, so that waits cannot form a circle. Returns pending if that
    /// takes too long.
    pub(super) async fn reserve(&self, host: &Shared, target: &str) -> Result<TargetOwner, Interrupted> {
        let Follower { services, requester } = self.follower;
        if services.config.frontier.redirects == Redirects::Follow {
            return Ok(TargetOwner::Granted);
        }
        match self.reserve_target(target).await? {
            TargetOwner::Pending => services.settled.notify_waiters(), // the earlier reservation has been dropped
            claim => return Ok(claim),
        }
        // With several requests to a host at a time, the others have the host.
        if services.config.fetch.connections_per_host > 1 {
            return self.wait(target, PATIENCE_BESIDE).await;
        }
        let mut own = host.lock().await;
        requester.hosts.parked(&mut own, self.wait(target, PATIENCE)).await
    }

    /// Reserves `target`, unless another URL is fetching it or owns it.
    pub(super) async fn reserve_at_once(&self, target: &str) -> Result<bool, FrontierError> {
        let needs_no_owner = self.follower.services.config.frontier.redirects == Redirects::Follow;
        Ok(needs_no_owner || self.reserve_target(target).await? == TargetOwner::Granted)
    }

    async fn wait(&self, target: &str, patience: Duration) -> Result<TargetOwner, Interrupted> {
        let deadline = Instant::now() + patience;
        loop {
            let mut settled = pin!(self.follower.services.settled.notified());
            settled.as_mut().enable(); // before checking, so that no notification is missed
            let claim = self.reserve_target(target).await?;
            if claim != TargetOwner::Pending || Instant::now() >= deadline {
                return Ok(claim);
            }
            tokio::select! {
                biased;
                () = settled => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.follower.services.shutdown.finishing() => return Err(Interrupted::Stopping),
            }
        }
    }
}
