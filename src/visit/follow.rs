//! Fetches one URL, from its first request to its event. It follows redirects itself and judges each like a link.

use std::sync::Arc;
use std::time::Duration;

use seine_delivery::large::BodyRoom;
use seine_frontier::{TargetOwner, Work};
use seine_parse::page::{EpochMs, Failure, FailureReason, Hop, Kind, Outcome, PageEvent};
use seine_system::blocking;
use seine_system::clock::{event_id, now_ms};
use url::Url;

use super::leased_host::LeasedHost;
use super::requester::{Request, RequestResult, Requester};
use super::reserving::ReservedTarget;
use super::robots::body_bytes;
use super::url_reservation::UrlReservation;
use super::visitor::{Interrupted, Services, Shared};
use crate::config::{Canonical, Redirects, Secret};
use crate::fetch::Jar;
use crate::fetch::client::{Conditions, Exchange, Limits};
use crate::judge::blame::ChargedTo;
use crate::judge::reading::must_be_refetched;
use crate::judge::redirect::{self, Target};
use crate::judge::{FetchContext, Owner, is_misnamed_page};

const MAX_SITEMAP_BYTES: u64 = 50 << 20;
/// The longest `Retry-After` of a redirect for which a worker waits.
const REDIRECT_PATIENCE: Duration = Duration::from_secs(2);

/// The result of fetching a URL, before it is judged.
pub(super) struct FetchedUrl<'v> {
    /// The facts of the fetch. Its decisions are still empty.
    pub event: PageEvent,
    pub context: FetchContext,
    pub room: Option<BodyRoom>,
    pub target: Option<ReservedTarget<'v>>,
}

impl<'v> FetchedUrl<'v> {
    pub(super) fn new(event: PageEvent, target: Option<ReservedTarget<'v>>) -> FetchedUrl<'v> {
        FetchedUrl { event, context: FetchContext::charged(ChargedTo::Nobody, 0), room: None, target }
    }
}

/// The redirects of one URL so far: cookies, and the URLs already requested.
#[derive(Default)]
struct RedirectChain {
    jar: Jar,
    /// The URLs requested, each with the cookies of the jar that were sent.
    asked: Vec<(Url, Option<Secret>)>,
}

impl RedirectChain {
    /// The cookies to send for `url`.
    fn begin(&mut self, url: &Url) -> Option<Secret> {
        let cookies = self.jar.cookies_for(url);
        self.asked.push((url.clone(), cookies.clone()));
        cookies
    }

    /// Whether a URL of the same host was requested.
    fn has_asked_host_of(&self, url: &Url) -> bool {
        self.asked.iter().any(|(asked, _)| asked.origin() == url.origin())
    }

    /// Whether a request for `url` would repeat an earlier one. With a new cookie it would not.
    fn has_been_at(&self, url: &Url) -> bool {
        let cookies = self.jar.cookies_for(url);
        self.asked.iter().any(|(asked, with)| asked == url && *with == cookies)
    }
}

/// Fetches URLs and follows their redirects.
pub(super) struct Follower {
    pub services: Services,
    pub requester: Arc<Requester>,
}

impl Follower {
    /// Fetches one URL with its redirects.
    pub(super) async fn fetch(
        &self,
        host: &Shared,
        work: &Work,
        reservation: &UrlReservation,
    ) -> Result<FetchedUrl<'_>, Interrupted> {
        let mut fetched = FetchedUrl::new(self.blank_event(work), self.reserved_target(work, reservation));
        let Ok(url) = Url::parse(&work.url) else {
            fetched.event.outcome = failed(FailureReason::BadUrl, "not a URL".to_owned());
            return Ok(fetched);
        };
        match self.reserve(&fetched, host, &work.url).await? {
            TargetOwner::Granted => self.follow(&mut fetched, host, work, url, None).await?,
            TargetOwner::Owned { by } => {
                let message = format!("its page is delivered under {by}, which redirects here");
                fetched.event.outcome = failed(FailureReason::Alias, message);
                fetched.context.owner = Some(Owner { url: by, target: work.url.clone() });
            }
            TargetOwner::Pending => put_off_for_other(&mut fetched),
        }
        Ok(fetched)
    }

    /// None if the configuration delivers each URL's page under that URL.
    pub(super) fn reserved_target(&self, work: &Work, reservation: &UrlReservation) -> Option<ReservedTarget<'_>> {
        let config = &self.services.config.frontier;
        let is_wanted =
            config.redirects == Redirects::First || config.canonical == Canonical::Obey || config.duplicates.is_some();
        let target = || ReservedTarget { follower: self, reserved: reservation.clone() };
        (is_wanted && work.kind.is_delivered()).then(target)
    }

    async fn reserve(&self, fetched: &FetchedUrl<'_>, host: &Shared, target: &str) -> Result<TargetOwner, Interrupted> {
        match &fetched.target {
            Some(reserved) => reserved.reserve(host, target).await,
            None => Ok(TargetOwner::Granted),
        }
    }

    /// The event of a URL that is not requested.
    pub(super) fn not_requested(&self, failure: Failure, work: &Work) -> FetchedUrl<'_> {
        FetchedUrl::new(PageEvent { outcome: Outcome::Failure(failure), ..self.blank_event(work) }, None)
    }

    /// Requests `url` and follows its redirects to a final outcome, which it writes into `fetched`. `given`: the
    /// response for `url` that a remote worker has sent.
    pub(super) async fn follow(
        &self,
        fetched: &mut FetchedUrl<'_>,
        host: &Shared,
        work: &Work,
        mut url: Url,
        mut given: Option<Exchange>,
    ) -> Result<(), Interrupted> {
        let limits = self.limits(work.kind);
        let mut request = Request { work, conditions: Conditions::default(), limits, has_begun: false };
        let gave = work.known.final_url.clone().unwrap_or_else(|| url.as_str().to_owned());
        let mut trail = RedirectChain::default();
        loop {
            let validators =
                if url.as_str() == gave { self.validators(host, work, &url).await } else { Conditions::default() };
            request.has_begun = trail.has_asked_host_of(&url);
            request.conditions = Conditions { cookies: trail.begin(&url), ..validators };
            let result = match given.take() {
                Some(exchange) => {
                    self.requester.apply_result(&mut *host.lock().await, &url, exchange, &request).await?
                }
                None => self.requester.request_any_host(host, &url, &request, fetched.event.hops.is_empty()).await?,
            };
            let event = &mut fetched.event;
            let RequestResult { exchange, location, context, bytes_beside } = result;
            event.bytes_beside += bytes_beside;
            if event.started_ms == 0 {
                event.started_ms = exchange.started_ms;
            }
            event.ended_ms = exchange.ended_ms;
            event.ip = exchange.ip;
            event.request_headers = exchange.request_headers;
            event.final_url = url.as_str().to_owned();
            event.outcome = exchange.outcome;
            fetched.room = exchange.room;
            fetched.context = context;
            let Some(location) = location else { break };
            // The body of a redirect is not stored, so its bytes are counted here.
            event.bytes_beside += body_bytes(&event.outcome);
            let Some(target) = self.next_hop(event, &url, &location, &mut trail) else { break };
            if !self.waited_for_redirect(fetched, work).await? {
                break;
            }
            match self.reserve(fetched, host, &target.normal).await? {
                TargetOwner::Granted => url = target.url,
                TargetOwner::Owned { by } => {
                    undo_last_hop(&mut fetched.event);
                    fetched.context.owner = Some(Owner { url: by, target: target.normal });
                    break;
                }
                TargetOwner::Pending => {
                    put_off_for_other(fetched);
                    break;
                }
            }
        }
        self.correct_kind(&mut fetched.event, host).await;
        let event = &mut fetched.event;
        if let (Kind::Sitemap, Outcome::Response(response)) = (event.kind, &mut event.outcome) {
            response.wire = None; // no archive holds sitemaps
        }
        Ok(())
    }

    fn limits(&self, kind: Kind) -> Limits {
        let limits = self.services.client.limits();
        match kind {
            Kind::Page => limits,
            Kind::Requisite => Limits { is_wanted_only: false, ..limits },
            Kind::Sitemap => Limits { body_bytes: MAX_SITEMAP_BYTES, is_wanted_only: false, ..limits },
        }
    }

    /// Waits for the time that the last redirect asks for (`Retry-After`). False: that takes too long, so the URL is tried
    /// again then.
    async fn waited_for_redirect(&self, fetched: &mut FetchedUrl<'_>, work: &Work) -> Result<bool, Interrupted> {
        let (event, config) = (&fetched.event, &self.services.config.frontier);
        let from = redirect::followed_from(&event.outcome, event.ended_ms, work.redirect_waits_since, config);
        let Some(from) = from else { return Ok(true) };
        match self.requester.requests.slots.sleep_until(from, REDIRECT_PATIENCE).await {
            Err(Interrupted::Resting(at)) => {
                let seconds = at.saturating_sub(event.ended_ms).div_ceil(1000);
                put_off(fetched, format!("its redirect is not to be followed for {seconds} s (Retry-After)"), at);
                Ok(false)
            }
            waited => waited.map(|()| true),
        }
    }

    /// A page that was named as a sitemap becomes a page, one link away from a seed, if pages of the host may be fetched there.
    async fn correct_kind(&self, event: &mut PageEvent, host: &Shared) {
        let (config, scope) = (&self.services.config, self.services.scope.now());
        // It may decode a large body.
        let is_misnamed = || blocking::block_in_place(|| is_misnamed_page(event, config.fetch.max_decoded_bytes));
        if event.kind != Kind::Sitemap || !is_misnamed() {
            return;
        }
        let Ok(url) = Url::parse(&event.url) else { return };
        let is_allowed = host.lock().await.refusal(&url, Kind::Page, config.fetch.obey_robots).is_none();
        if is_allowed && scope.keeps(&event.url, Kind::Page, 1, config.frontier.max_depth) {
            (event.kind, event.depth) = (Kind::Page, 1);
        }
    }

    /// The conditions of the next request. They apply only to the URL that gave the last response, not to redirects on
    /// the way. A withheld page that may be delivered now is requested without conditions.
    async fn validators(&self, host: &Shared, work: &Work, url: &Url) -> Conditions {
        let host = host.lock().await;
        // The statements of another host are not known yet.
        let is_its = url.origin().ascii_serialization() == host.origin();
        self.validators_at(if is_its { Some(&host) } else { None }, work, url)
    }

    pub(super) fn validators_at(&self, host: Option<&LeasedHost>, work: &Work, url: &Url) -> Conditions {
        let obeys_robots = self.services.config.fetch.obey_robots;
        let host_statements = host.filter(|_| work.was_withheld()).map(|host| host.statements_about(url, obeys_robots));
        if must_be_refetched(work, host_statements.unwrap_or_default(), &self.services.config) {
            return Conditions::default();
        }
        Conditions { etag: work.known.etag.clone(), last_modified: work.known.last_modified.clone(), cookies: None }
    }

    /// Records a redirect and returns its target. None if it is not followed; then the outcome is set.
    fn next_hop(&self, event: &mut PageEvent, url: &Url, location: &str, trail: &mut RedirectChain) -> Option<Target> {
        let Some(next) = redirect::target(url, location) else {
            event.outcome = Outcome::Failure(redirect::leads_nowhere(location));
            return None;
        };
        let target = &next.url;
        let Outcome::Response(response) = &event.outcome else { return None };
        trail.jar.take(url, &response.headers);
        let hop = Hop {
            url: url.as_str().to_owned(),
            status: response.status,
            headers: response.headers.clone(),
            target: target.as_str().to_owned(),
            ip: event.ip,
        };
        event.hops.push(hop);
        event.final_url = target.as_str().to_owned();
        let (is_circle, most) = (trail.has_been_at(target), self.services.config.fetch.max_redirects);
        if let Some(refusal) = redirect::refusal(&next, event.hops.len(), is_circle, most, &self.services.scope.now()) {
            event.outcome = Outcome::Failure(refusal);
            return None;
        }
        Some(next)
    }

    pub(super) fn blank_event(&self, work: &Work) -> PageEvent {
        PageEvent {
            id: event_id(),
            kind: work.kind,
            depth: work.depth,
            attempt: work.attempt,
            ended_ms: now_ms(),
            outcome: failed(FailureReason::BadUrl, String::new()),
            crawler_id: self.services.crawler_id.clone(),
            ..PageEvent::empty(&work.url)
        }
    }
}

/// Another URL is fetching this target, so this URL is tried later.
fn put_off_for_other(fetched: &mut FetchedUrl<'_>) {
    let message = format!("{} is being fetched for another URL", fetched.event.final_url);
    put_off(fetched, message, now_ms());
}

/// Sets the failure `HostBusy`: the URL is tried again after `not_before`.
fn put_off(fetched: &mut FetchedUrl<'_>, why: String, not_before: EpochMs) {
    let event = &mut fetched.event;
    event.outcome = failed(FailureReason::HostBusy, why);
    event.request_headers = Default::default(); // no request was sent for this outcome
    (fetched.context.whose, fetched.context.not_before) = (ChargedTo::Host, not_before);
}

/// Another URL owns the target, so the redirect itself becomes the outcome. Takes back what `next_hop` has recorded.
fn undo_last_hop(event: &mut PageEvent) {
    event.bytes_beside -= body_bytes(&event.outcome);
    if let Some(hop) = event.hops.pop() {
        event.final_url = hop.url;
    }
}

fn failed(reason: FailureReason, message: String) -> Outcome {
    Outcome::Failure(Failure { reason, message })
}
