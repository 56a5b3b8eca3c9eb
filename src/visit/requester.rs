//! Sends a request when its host and address are due and robots.txt allows it, and decides what the response means for
//! the host and for this machine.

use std::sync::Arc;

use seine_frontier::{Fetching, Work};
use seine_parse::decode::Decoded;
use seine_parse::page::{EpochMs, Failure, FailureReason, Outcome};
use seine_system::clock::now_ms;
use tokio::sync::MutexGuard;
use url::Url;

use super::borrow::{Hosts, RedirectWait};
use super::control_answers::ControlAnswers;
use super::leased_host::LeasedHost;
use super::request_sender::RequestSender;
use super::robots::RobotsFiles;
use super::slots::UsedSlot;
use super::visitor::{Interrupted, Services, Shared, ask_frontier};
use crate::config::Config;
use crate::fetch::client::{Conditions, Exchange, Limits};
use crate::judge::FetchContext;
use crate::judge::blame::{ChargedTo, blame, is_answer};
use crate::judge::{redirect, retry, trouble, wall};

/// After this time a redirect tries again to lease a host that another worker has.
const TAKEN_REST_MS: u64 = 1_000;

/// One request.
pub(super) struct Request<'w> {
    pub work: &'w Work,
    pub conditions: Conditions,
    pub limits: Limits,
    /// An earlier redirect of the same URL has sent a request to this host.
    pub has_begun: bool,
}

/// The result of a request.
pub(super) struct RequestResult {
    pub exchange: Exchange,
    /// The target of its redirect.
    pub location: Option<String>,
    /// Further facts about the request.
    pub context: FetchContext,
    /// Further bytes of that host: see [`seine_parse::page::PageEvent::bytes_beside`].
    pub bytes_beside: u64,
    /// Its body without content codings, if it was needed already.
    pub decoded: Option<Decoded>,
}

/// Sends requests for URLs, to the leased host or to the host of a redirect.
#[derive(Clone)]
pub(super) struct Requester {
    pub hosts: Hosts,
    pub robots: RobotsFiles,
    pub requests: RequestSender,
    frontier: Arc<dyn Fetching>,
    config: Arc<Config>,
    control_answers: Arc<ControlAnswers>,
}

impl Requester {
    pub(super) fn new(services: &Services) -> Requester {
        let (hosts, robots, requests) =
            (Hosts::new(services), RobotsFiles::new(services), RequestSender::new(services));
        let Services { frontier, config, control_answers, .. } = services.clone();
        Requester { hosts, robots, requests, frontier, config, control_answers }
    }

    /// Sends a request to the leased host, or to the host of a redirect. Before the first request of a URL, an obstacle
    /// releases the URL unchanged. Later the URL waits for the other host; its own host does not.
    pub(super) async fn request_any_host(
        &self,
        host: &Shared,
        url: &Url,
        request: &Request<'_>,
        is_first: bool,
    ) -> Result<RequestResult, Interrupted> {
        let mut own = host.lock().await;
        if is_first {
            own.begin_url()
        } else {
            own.begin_redirect()
        }
        let is_other_host = url.origin().ascii_serialization() != own.origin();
        let result = if is_other_host {
            // Boxed, because it is rare and large.
            self.hosts.parked(&mut own, Box::pin(self.request_redirect_host(url, request))).await
        } else if self.config.fetch.connections_per_host == 1 {
            self.request_leased_host(&mut own, url, request).await
        } else {
            self.request_concurrently(host, own, url, request).await
        };
        match result {
            Err(Interrupted::Resting(at)) if !is_first => Ok(busy(url, at)),
            Err(Interrupted::HostLeased) if !is_first => Ok(busy(url, now_ms() + TAKEN_REST_MS)),
            Err(Interrupted::Recalled) if is_other_host && !is_first => Ok(busy(url, now_ms() + TAKEN_REST_MS)),
            result => result,
        }
    }

    /// A request to a host that we have not leased yet.
    async fn request_redirect_host(&self, url: &Url, request: &Request<'_>) -> Result<RequestResult, Interrupted> {
        let mut wait = RedirectWait { was_put_off: request.work.was_put_off, has_begun: request.has_begun };
        let mut other = self.hosts.borrow(url, wait).await?;
        match (self.robots.learn_rules(&mut other).await, other.given_up_failure(&self.config.frontier)) {
            (Err(Interrupted::Resting(_)), Some(failure)) => {
                let bytes_beside = std::mem::take(&mut other.bytes_beside);
                let context = FetchContext {
                    host_statements: Some(Vec::new()),
                    ..FetchContext::charged(ChargedTo::Nobody, other.not_before)
                };
                let exchange = not_requested(failure);
                return Ok(RequestResult { exchange, location: None, context, bytes_beside, decoded: None });
            }
            (learned, _) => learned?,
        }
        if other.has_new_delay(&self.config.frontier) {
            drop(other);
            wait.has_begun = true;
            other = self.hosts.borrow(url, wait).await?;
            self.robots.learn_rules(&mut other).await?;
        }
        self.request_leased_host(&mut other, url, request).await
    }

    /// One request to a leased host, if its robots.txt allows it, when it is due.
    async fn request_leased_host(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        request: &Request<'_>,
    ) -> Result<RequestResult, Interrupted> {
        let exchange = match self.wait_for_permission(host, url, request).await? {
            Err(failure) => not_requested(failure),
            Ok(slot) => self.requests.exchange(host, slot, url, &request.conditions, request.limits).await?,
        };
        self.apply_result(host, url, exchange, request).await
    }

    /// The same with several requests to the host at a time. The delay separates their starts.
    async fn request_concurrently(
        &self,
        shared: &Shared,
        mut host: MutexGuard<'_, LeasedHost>,
        url: &Url,
        request: &Request<'_>,
    ) -> Result<RequestResult, Interrupted> {
        let slot = match self.wait_for_permission(&mut host, url, request).await? {
            Ok(slot) => slot,
            Err(failure) => return self.apply_result(&mut host, url, not_requested(failure), request).await,
        };
        host.visited(now_ms(), &self.config.frontier);
        drop(host);
        let exchange = self.requests.get(url, &request.conditions, request.limits).await;
        drop(slot);
        let mut host = shared.lock().await;
        let exchange = exchange?;
        self.requests.judge_outage(&mut host, url, &exchange).await?;
        let next = host.not_before;
        let result = self.apply_result(&mut host, url, exchange, request).await?;
        if result.context.whose == ChargedTo::Nobody {
            host.not_before = next; // its rest began with the request
        }
        Ok(result)
    }

    /// Waits until the host and its address are due. The inner error says why no request is sent.
    async fn wait_for_permission(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        request: &Request<'_>,
    ) -> Result<Result<UsedSlot, Failure>, Interrupted> {
        match host.refusal(url, request.work.kind, self.config.fetch.obey_robots) {
            Some(refusal) => Ok(Err(refusal)),
            None => self.requests.slots.wait_for_slot(host, url).await,
        }
    }

    /// Applies the result to the host.
    pub(super) async fn apply_result(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        mut exchange: Exchange,
        request: &Request<'_>,
    ) -> Result<RequestResult, Interrupted> {
        let asked = (request.work.url.as_str(), request.work.kind);
        let decoded = wall::mark(&mut exchange.outcome, url.as_str(), asked, self.config.fetch.walls);
        let mut whose = self.charge(host, &exchange, request.work).await?;
        let mut not_before = host.not_before;
        if let (ChargedTo::Host, Some(failure)) = (whose, host.given_up_failure(&self.config.frontier)) {
            exchange.outcome = Outcome::Failure(failure);
            whose = ChargedTo::Nobody;
        }
        let (outcome, ended, config) = (&exchange.outcome, exchange.ended_ms, &self.config.frontier);
        let trouble = host.trouble.as_ref();
        if let Some(at) = retry::retry_when_many_fail(whose, outcome, request.work, trouble, ended, config) {
            (whose, not_before) = (ChargedTo::Part, not_before.max(at));
        }
        let location = redirect::location(&exchange.outcome);
        if whose == ChargedTo::Nobody && is_answer(&exchange.outcome) && location.is_none() {
            self.control_answers.host_answered(host.origin());
        }
        let bytes_beside = std::mem::take(&mut host.bytes_beside);
        let host_statements = Some(host.statements_about(url, self.config.fetch.obey_robots));
        // The first robots.txt of a host is no change: the page was forbidden before, and robots.txt is obeyed only
        // now.
        let robots = host.lease.host.robots.as_ref().filter(|_| !host.had_no_robots);
        let robots_ms = robots.map(|robots| robots.fetched_ms);
        let context = FetchContext { host_statements, robots_ms, ..FetchContext::charged(whose, not_before) };
        Ok(RequestResult { exchange, location, context, bytes_beside, decoded })
    }

    /// Decides who is charged, and updates the host. If the failure may belong to the URL or to the host, this first
    /// requests another page of the host that is known to be live ([`Requester::request_control_page`]).
    async fn charge(&self, host: &mut LeasedHost, exchange: &Exchange, work: &Work) -> Result<ChargedTo, Interrupted> {
        let (outcome, ended, config) = (&exchange.outcome, exchange.ended_ms, &self.config.frontier);
        let blame = blame(outcome, work, host.trouble.as_ref(), host.was_reached(), config);
        let control = if blame.is_in_question { Box::pin(self.request_control_page(host, work)).await? } else { None };
        if !blame.is_in_question && blame.whose == ChargedTo::Host {
            self.control_answers.host_failed(host.origin());
        }
        if control == Some(true) {
            host.end_trouble(); // it has just answered for another page, so the earlier failures were not host trouble
        }
        let mut whose = blame.after(control, outcome, work);
        host.apply_outcome(whose, outcome, work, ended, config);
        let pause = host.control_pause.take();
        host.rests_until(pause);
        if blame.is_in_question
            && whose == ChargedTo::Page
            && control.is_none()
            && !self.robots.has_robots(host).await?
        {
            whose = ChargedTo::Host;
        }
        Ok(whose)
    }

    /// Requests a page of the host that is known to be live, to find out whether the host is down or only some pages
    /// fail: pages that answer 500 for months are common. The response is not stored. A recent result is used again
    /// ([`ControlAnswers`]). None: the host has no such page.
    pub(super) async fn request_control_page(
        &self,
        host: &mut LeasedHost,
        work: &Work,
    ) -> Result<Option<bool>, Interrupted> {
        if host.control_answer.is_some() {
            return Ok(host.control_answer);
        }
        if let Some(has_answered) = self.control_answers.last(host.origin(), now_ms()) {
            return Ok(Some(has_answered));
        }
        let (origin, except) = (host.origin().to_owned(), work.url.clone());
        let control = ask_frontier(&self.frontier, move |frontier| frontier.control_page(&origin, &except)).await?;
        let Some(control) = control else { return Ok(None) };
        let Ok(url) = Url::parse(&control.url) else { return Ok(None) };
        if host.refusal(&url, control.kind, self.config.fetch.obey_robots).is_some() {
            return Ok(None);
        }
        let Ok(slot) = self.requests.slots.wait_for_slot(host, &url).await? else { return Ok(Some(false)) };
        // For a page behind a redirect, the validators belong to the redirect target.
        let (etag, last_modified) = match control.known.final_url {
            None => (control.known.etag, control.known.last_modified),
            Some(_) => (None, None),
        };
        let conditions = Conditions { etag, last_modified, ..Conditions::default() };
        let mut exchange = self.requests.exchange(host, slot, &url, &conditions, self.requests.limits()).await?;
        wall::mark(&mut exchange.outcome, url.as_str(), (&control.url, control.kind), self.config.fetch.walls);
        host.control_pause = trouble::asked_until(&exchange.outcome, exchange.ended_ms, &self.config.frontier);
        let has_answered = is_answer(&exchange.outcome);
        self.control_answers.heard(host.origin(), has_answered, exchange.ended_ms);
        host.control_answer = Some(has_answered);
        Ok(host.control_answer)
    }
}

/// The host of a redirect is not available before `not_before`.
fn busy(url: &Url, not_before: EpochMs) -> RequestResult {
    let message = format!("redirects to {url}, whose host could not be visited in time");
    let exchange = not_requested(Failure { reason: FailureReason::HostBusy, message });
    let context =
        FetchContext { host_statements: Some(Vec::new()), ..FetchContext::charged(ChargedTo::Host, not_before) };
    RequestResult { exchange, location: None, context, bytes_beside: 0, decoded: None }
}

/// A request that was not sent.
fn not_requested(failure: Failure) -> Exchange {
    let now = now_ms();
    let outcome = Outcome::Failure(failure);
    Exchange { request_headers: Default::default(), outcome, ip: None, started_ms: now, ended_ms: now, room: None }
}
