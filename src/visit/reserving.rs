//! Reservations of redirect targets (`redirects: first`) and of canonical slots (`canonical: obey`; RFC 6596). A worker
//! reserves a redirect target before it requests it, so the page is fetched and delivered once, under one URL. The
//! content slot of the page (`visit/text.rs`) is dropped together with them.

use std::pin::pin;
use std::time::Duration;

use seine_frontier::{FrontierError, TargetOwner, Work};
use tokio::time::Instant;

use super::url_reservation::UrlReservation;
use super::visitor::{Interrupted, Shared, Visitor};
use crate::config::{Canonical, Redirects};

/// How long to wait for another URL's reservation to be settled.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same with several requests to a host at a time. Then the host cannot be lent, and the other URL may be waiting
/// for it.
const PATIENCE_BESIDE: Duration = Duration::from_secs(1);

/// The reservation of a URL whose target and slots count.
pub(super) struct Claimed<'v> {
    visitor: &'v Visitor,
    pub reserved: UrlReservation,
}

impl Visitor {
    /// None if the configuration delivers each URL's page under that URL.
    pub(super) fn claims(&self, work: &Work, reservation: &UrlReservation) -> Option<Claimed<'_>> {
        let config = &self.services.config.frontier;
        let is_wanted =
            config.redirects == Redirects::First || config.canonical == Canonical::Obey || config.duplicates.is_some();
        let claimed = || Claimed { visitor: self, reserved: reservation.clone() };
        (is_wanted && work.kind.is_delivered()).then(claimed)
    }
}

impl Claimed<'_> {
    async fn reserve_target(&self, target: &str) -> Result<TargetOwner, FrontierError> {
        let target = target.to_owned();
        self.reserved.ask(move |reserved| reserved.reserve_target(&target)).await
    }

    /// Reserves `target` and drops the earlier reservation. If another URL is fetching it, waits for the result.
    /// Meanwhile it reserves nothing and lends our host, so that waits cannot form a circle. Returns pending if that
    /// takes too long.
    pub(super) async fn reserve(&self, host: &Shared, target: &str) -> Result<TargetOwner, Interrupted> {
        let visitor = self.visitor;
        if visitor.services.config.frontier.redirects == Redirects::Follow {
            return Ok(TargetOwner::Granted);
        }
        match self.reserve_target(target).await? {
            TargetOwner::Pending => visitor.services.settled.notify_waiters(), // the claim before is given up
            claim => return Ok(claim),
        }
        // With several requests to a host at a time, the others have the host.
        if visitor.services.config.fetch.connections_per_host > 1 {
            return self.wait(target, PATIENCE_BESIDE).await;
        }
        let mut own = host.lock().await;
        visitor.asker.hosts.parked(&mut own, self.wait(target, PATIENCE)).await
    }

    /// Reserves `target`, unless another URL is fetching it or owns it.
    pub(super) async fn reserve_at_once(&self, target: &str) -> Result<bool, FrontierError> {
        let is_anybodys = self.visitor.services.config.frontier.redirects == Redirects::Follow;
        Ok(is_anybodys || self.reserve_target(target).await? == TargetOwner::Granted)
    }

    async fn wait(&self, target: &str, patience: Duration) -> Result<TargetOwner, Interrupted> {
        let deadline = Instant::now() + patience;
        loop {
            let mut settled = pin!(self.visitor.services.settled.notified());
            settled.as_mut().enable(); // before the look, so that nothing is missed
            let claim = self.reserve_target(target).await?;
            if claim != TargetOwner::Pending || Instant::now() >= deadline {
                return Ok(claim);
            }
            tokio::select! {
                biased;
                () = settled => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.visitor.services.shutdown.finishing() => return Err(Interrupted::Stopping),
            }
        }
    }
}
