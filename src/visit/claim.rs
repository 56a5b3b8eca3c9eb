//! Whose page a redirect's target is (`redirects: first`): it is claimed before it is asked for, so that it is fetched and
//! delivered once, however many URLs lead to it. And whose place is a canonical URL's (`canonical: obey`). What a URL was
//! told of its content (`visit/likeness.rs`) is given up with them.

use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::visitor::{Interrupted, Shared, Visitor};
use crate::config::{Canonical, Redirects};
use crate::frontier::{Claim, FrontierError, Settled, Work};

/// How long the outcome of another's claim is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same beside others at a host, which cannot be lent meanwhile: whoever has the claim may be waiting for it.
const PATIENCE_BESIDE: Duration = Duration::from_secs(1);

/// What a URL has claimed on its way. Given up however its visit ends, unless that is [settled](Claimed::settle).
pub(super) struct Claimed<'v> {
    visitor: &'v Visitor,
    url: String,
    settled: Settled,
}

impl Visitor {
    /// Claims for a URL; none where each has a page of its own, wherever it leads and whatever it says.
    pub(super) fn claims(&self, work: &Work) -> Option<Claimed<'_>> {
        let config = &self.config.frontier;
        let is_wanted =
            config.redirects == Redirects::First || config.canonical == Canonical::Obey || config.duplicates.is_some();
        let claimed = || Claimed { visitor: self, url: work.url.clone(), settled: Settled::GivenUp };
        (is_wanted && work.kind.is_delivered()).then(claimed)
    }
}

impl Claimed<'_> {
    /// Claims `target` instead of what was claimed before. What another is just asking for is waited for: nothing is claimed
    /// meanwhile, and our host lent, so that none wait in a circle. Pending, when that takes too long.
    pub(super) async fn claim(&self, host: &Shared, target: &str) -> Result<Claim, Interrupted> {
        let visitor = self.visitor;
        if visitor.config.frontier.redirects == Redirects::Follow {
            return Ok(Claim::Granted);
        }
        match visitor.frontier.claim_target(target, &self.url)? {
            Claim::Pending => visitor.settled.notify_waiters(), // the claim before is given up
            claim => return Ok(claim),
        }
        // Who waits beside others at a host leaves it to them.
        if visitor.config.fetch.connections_per_host > 1 {
            return self.wait(target, PATIENCE_BESIDE).await;
        }
        let mut own = host.lock().await;
        visitor.parked(&mut own, self.wait(target, PATIENCE)).await
    }

    /// Claims `target` if nobody else is asking for it, or has it.
    pub(super) fn claim_at_once(&self, target: &str) -> Result<bool, FrontierError> {
        let visitor = self.visitor;
        let is_anybodys = visitor.config.frontier.redirects == Redirects::Follow;
        Ok(is_anybodys || visitor.frontier.claim_target(target, &self.url)? == Claim::Granted)
    }

    async fn wait(&self, target: &str, patience: Duration) -> Result<Claim, Interrupted> {
        let deadline = Instant::now() + patience;
        loop {
            let mut settled = pin!(self.visitor.settled.notified());
            settled.as_mut().enable(); // before the look, so that nothing is missed
            let claim = self.visitor.frontier.claim_target(target, &self.url)?;
            if claim != Claim::Pending || Instant::now() >= deadline {
                return Ok(claim);
            }
            tokio::select! {
                () = settled => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.visitor.shutdown.finishing() => return Err(Interrupted::Stopping),
            }
        }
    }

    /// The event is in the log's queue, before any of those who are told. `has_page`: what was claimed is its page.
    pub(super) fn settle(mut self, has_page: bool) {
        self.settled = if has_page { Settled::Won } else { Settled::Lost };
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.visitor.frontier.settle_claim(&self.url, self.settled);
        self.visitor.settled.notify_waiters();
    }
}
