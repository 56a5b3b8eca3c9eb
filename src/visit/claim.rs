//! Whose page a redirect's target is (`redirects: first`): it is claimed before it is asked for, so that it is fetched and
//! delivered once, however many URLs lead to it. And whose place is a canonical URL's (`canonical: obey`; RFC 6596). What a URL
//! was told of its content (`visit/text.rs`) is given up with them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::visitor::{Interrupted, Shared, Visitor};
use crate::blocking;
use crate::config::{Canonical, FrontierConfig, Redirects};
use crate::frontier::scope::Scope;
use crate::frontier::{Claim, Frontier, FrontierError, Settled, Work};
use crate::page::{Doubt, Kind, PageEvent, Withheld};
use crate::parse::url;

/// How long the outcome of another's claim is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same beside others at a host, which cannot be lent meanwhile: whoever has the claim may be waiting for it.
const PATIENCE_BESIDE: Duration = Duration::from_secs(1);

/// What an answer says of its page, or said at the last look if the page was there: a 304 does not say it again.
#[derive(Default)]
pub(crate) struct Says<'a> {
    pub canonical: Option<&'a str>,
    pub noindex: bool,
}

/// The canonical URL that an event's page names, where it counts: not what broke off, asks not to be indexed, or is no page.
pub(crate) fn canonical_of(
    event: &PageEvent,
    now: &Says,
    before: &Says,
    scope: &Scope,
    config: &FrontierConfig,
) -> Option<String> {
    let response = event.response().filter(|response| !response.is_cut() && event.kind == Kind::Page)?;
    let named = match response.status {
        200..300 => now.canonical,
        304 => before.canonical,
        _ => None,
    };
    let is_withheld =
        event.is_noindex(now.noindex, before.noindex) || event.withheld.as_ref().is_some_and(Withheld::is_of_its_own);
    let is_page = config.canonical == Canonical::Obey && !is_withheld;
    let named = named.filter(|named| is_page && may_be(named, &event.url, &event.final_url, scope))?;
    Some(named.to_owned())
}

/// Whether the page of `url`, found at `final_url`, may name it: another URL that is admitted, of the same registrable domain. No
/// page has a say in what is another site's.
fn may_be(named: &str, url: &str, final_url: &str, scope: &Scope) -> bool {
    let domain = |url: &str| url::host(url).map(|host| url::registrable_domain(host).to_owned());
    let Some(found_at) = url::parse(final_url) else { return false };
    named != url && named != found_at && domain(named) == domain(&found_at) && scope.admits(named)
}

/// What a URL has claimed on its way. Given up however its visit ends, unless that is [settled](Claimed::settle).
pub(super) struct Claimed<'v> {
    visitor: &'v Visitor,
    held: Arc<Held>,
}

/// Who asks the frontier for a claim has a share in this, so that it is settled behind the last answer.
struct Held {
    frontier: Arc<dyn Frontier>,
    is_settled: Arc<Notify>,
    url: String,
    settled: Mutex<Settled>,
}

impl Visitor {
    /// Claims for a URL; none where each has a page of its own, wherever it leads and whatever it says.
    pub(super) fn claims(&self, work: &Work) -> Option<Claimed<'_>> {
        let config = &self.config.frontier;
        let is_wanted =
            config.redirects == Redirects::First || config.canonical == Canonical::Obey || config.duplicates.is_some();
        let held = || Held {
            frontier: self.frontier.clone(),
            is_settled: self.settled.clone(),
            url: work.url.clone(),
            settled: Mutex::new(Settled::GivenUp),
        };
        let claimed = || Claimed { visitor: self, held: Arc::new(held()) };
        (is_wanted && work.kind.is_delivered()).then(claimed)
    }

    /// Asks what becomes of a page that came, or came last and is as it was: an alias, or (none) it is delivered.
    pub(super) async fn claim_place(
        &self,
        claimed: Option<&Claimed<'_>>,
        event: &PageEvent,
        work: &Work,
        (now, digest): (&Says<'_>, &[u8; 32]),
    ) -> Result<Option<Withheld>, FrontierError> {
        let is_asked = self.config.frontier.canonical == Canonical::Obey && event.again.is_none();
        let Some(claimed) = claimed.filter(|_| is_asked) else { return Ok(None) };
        let is_page = event.response().is_some_and(|response| match response.status {
            304 => work.was_there,
            _ => response.is_success() && !response.is_cut(),
        });
        if !is_page {
            return Ok(None);
        }
        let before = Says { canonical: work.known.canonical.as_deref(), noindex: work.known.noindex };
        let named = canonical_of(event, now, &before, &self.scope.now(), &self.config.frontier);
        let claim = named.clone().unwrap_or_else(|| event.url.clone());
        let told = claimed.ask(move |frontier, url| frontier.claim_place(&claim, url)).await?;
        if told.is_some() && is_news(named.as_deref(), work, digest) {
            let believed = self.config.frontier.revisit.believed(work.known.doubt(), event.ended_ms);
            // Where it leads to is believed, and so is what that says.
            let is_there = !event.hops.is_empty() && believed.takes(Doubt::Elsewhere);
            if !believed.takes(Doubt::Named) && !is_there {
                // It stays what it was, and nothing has become of it.
                self.frontier.settle_claim(&event.url, Settled::GivenUp);
                return Ok(Some(Withheld::Doubted { doubt: Doubt::Named, seen_ms: event.ended_ms }));
            }
        }
        Ok(told)
    }
}

/// Whether a page that is delivered names another URL for the first time: that may be a mishap. Where canonical URLs did not count
/// before, a page that is as it was says nothing new.
fn is_news(named: Option<&str>, work: &Work, digest: &[u8; 32]) -> bool {
    let known = &work.known;
    let was_delivered = work.was_there && known.state.is_live();
    let was_passed_over = known.is_to_be_reread && known.digest.as_ref() == Some(digest);
    was_delivered && named != known.canonical.as_deref() && !was_passed_over
}

impl Claimed<'_> {
    /// Asks the frontier for something that this URL is to hold.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Frontier, &str) -> T + Send + 'static,
    ) -> T {
        let held = self.held.clone();
        blocking::aside(move || ask(&*held.frontier, &held.url)).await
    }

    async fn claim_target(&self, target: &str) -> Result<Claim, FrontierError> {
        let target = target.to_owned();
        self.ask(move |frontier, url| frontier.claim_target(&target, url)).await
    }

    /// Claims `target` instead of what was claimed before. What another is just asking for is waited for: nothing is claimed
    /// meanwhile, and our host lent, so that none wait in a circle. Pending, when that takes too long.
    pub(super) async fn claim(&self, host: &Shared, target: &str) -> Result<Claim, Interrupted> {
        let visitor = self.visitor;
        if visitor.config.frontier.redirects == Redirects::Follow {
            return Ok(Claim::Granted);
        }
        match self.claim_target(target).await? {
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
    pub(super) async fn claim_at_once(&self, target: &str) -> Result<bool, FrontierError> {
        let is_anybodys = self.visitor.config.frontier.redirects == Redirects::Follow;
        Ok(is_anybodys || self.claim_target(target).await? == Claim::Granted)
    }

    async fn wait(&self, target: &str, patience: Duration) -> Result<Claim, Interrupted> {
        let deadline = Instant::now() + patience;
        loop {
            let mut settled = pin!(self.visitor.settled.notified());
            settled.as_mut().enable(); // before the look, so that nothing is missed
            let claim = self.claim_target(target).await?;
            if claim != Claim::Pending || Instant::now() >= deadline {
                return Ok(claim);
            }
            tokio::select! {
                biased;
                () = settled => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = self.visitor.shutdown.finishing() => return Err(Interrupted::Stopping),
            }
        }
    }

    /// The event is in the log's queue, before any of those who are told. `has_page`: what was claimed is its page.
    pub(super) fn settle(self, has_page: bool) {
        *self.held.settled.lock() = if has_page { Settled::Won } else { Settled::Lost };
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.frontier.settle_claim(&self.url, *self.settled.get_mut());
        self.is_settled.notify_waiters();
    }
}
