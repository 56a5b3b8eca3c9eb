//! A host's robots.txt during a visit: fetches it if it is unknown, follows its redirects, and queues its sitemaps.

use std::sync::Arc;

use seine_frontier::scope::CurrentScope;
use seine_frontier::{
    Fetching, Found, FoundBy, FrontierError, PageRecord, PageState, Proposal, Recheck, Robots, RobotsAccess,
};
use seine_parse::page::{EpochMs, Failure, FailureReason, Kind, Outcome};
use seine_parse::preferences::tdm;
use seine_policies::focus::PRIORITY_NEUTRAL;
use seine_system::clock::now_ms;
use url::Url;

use super::leased_host::LeasedHost;
use super::other_hosts::OtherHosts;
use super::request_sender::RequestSender;
use super::rules_cache::{Rules, RulesCache};
use super::visitor::{Interrupted, Services, ask_frontier};
use crate::config::Config;
use crate::fetch::client::{Conditions, Exchange, Limits};
use crate::judge::robots::{self as answer, KEPT_UNREACHABLE_MS, MAX_ROBOTS_BYTES};
use crate::judge::{redirect, trouble, wall};
use crate::telemetry::Metrics;

const ROBOTS: &str = "/robots.txt";
/// RFC 9309 §2.3.1.2 requires at least five redirects.
const MAX_ROBOTS_HOPS: usize = 5;
/// Sitemaps come first, because they list other URLs.
const SITEMAP_PRIORITY: u8 = 0;

/// The robots.txt and TDM reservations of hosts.
#[derive(Clone)]
pub(super) struct RobotsFiles {
    requests: RequestSender,
    rules: Arc<RulesCache>,
    frontier: Arc<dyn Fetching>,
    scope: Arc<CurrentScope>,
    config: Arc<Config>,
    metrics: Arc<Metrics>,
    other_hosts: OtherHosts,
}

impl RobotsFiles {
    pub(super) fn new(services: &Services) -> RobotsFiles {
        let Services { rules, frontier, scope, config, metrics, .. } = services.clone();
        let (requests, other_hosts) = (RequestSender::new(services), OtherHosts::new(services));
        RobotsFiles { requests, rules, frontier, scope, config, metrics, other_hosts }
    }

    /// Fetches the host's robots.txt if necessary. If it cannot be fetched, the host backs off and is released, and
    /// none of its URLs is requested.
    pub(super) async fn learn_rules(&self, host: &mut LeasedHost) -> Result<(), Interrupted> {
        self.learn_robots(host).await?;
        self.learn_reservations(host).await
    }

    async fn learn_robots(&self, host: &mut LeasedHost) -> Result<(), Interrupted> {
        let config = &self.config;
        if !config.fetch.obey_robots && !config.frontier.sitemaps && config.scope.purposes.declared.is_empty() {
            return Ok(());
        }
        // Earlier versions stored an unreachable robots.txt; this one does not.
        let is_good = |known: &Robots| answer::trouble(&known.access).is_none();
        if host.lease.host.robots.as_ref().is_some_and(is_good) {
            host.rules = self.rules.rules(&host.lease.host, now_ms());
        }
        if host.rules.is_some() {
            return Ok(());
        }
        host.known_delay = self.rules.known_delay(&host.lease.host);
        let (outcome, ended_ms) = self.fetch_file(host, ROBOTS).await?;
        let known = host.lease.host.robots.as_ref();
        let fresh = answer::judge(&outcome, config.fetch.max_decoded_bytes, ended_ms);
        let stale = answer::stale(&fresh, &outcome, known);
        let is_stale = stale.is_some();
        let soonest = config.frontier.revisit.soonest();
        let is_shut = self.rules.forbids_everything(&fresh);
        let robots = stale.unwrap_or_else(|| answer::kept_shorter(fresh, known, is_shut, soonest));
        if let Some(failure) = answer::trouble(&robots.access).filter(|_| config.fetch.obey_robots) {
            host.robots_failed(failure, &outcome, ended_ms, &config.frontier);
            // The result is not stored; the next lease fetches robots.txt again.
            return Err(Interrupted::Resting(host.not_before));
        }
        match &robots.access {
            RobotsAccess::Unreachable(_) => {}
            // The host may have asked for a pause instead.
            _ if is_stale => host.rests_until(trouble::asked_until(&outcome, ended_ms, &config.frontier)),
            RobotsAccess::Rules(_) | RobotsAccess::AllowAll => host.robots_fetched(),
        }
        let before = host.lease.host.robots.replace(robots.clone());
        if is_shut && before.as_ref().is_none_or(|before| before.access != robots.access) {
            log_disallows_all(host.origin(), &robots);
        }
        host.had_no_robots = before.is_none();
        host.rules = self.rules.rules(&host.lease.host, now_ms());
        if before.as_ref().is_some_and(|before| before.access != robots.access) {
            self.recheck_allowed(host).await?;
        }
        host.tdm_before = before.and_then(|before| before.tdm);
        // The delay of the host is known only now, and this was a request.
        host.visited(ended_ms, &config.frontier);
        if config.frontier.sitemaps {
            self.propose_sitemaps(host).await?;
        }
        host.new_robots = Some(robots);
        Ok(())
    }

    /// robots.txt has changed: URLs that it forbade and now allows are rechecked at once. This comes before the new
    /// rules are stored, so that a crash in between loses nothing.
    async fn recheck_allowed(&self, host: &LeasedHost) -> Result<(), FrontierError> {
        let Some(rules) = host.rules.clone().filter(|_| self.config.fetch.obey_robots) else { return Ok(()) };
        let recheck = move |page: &PageRecord| {
            let recheck = match page.state {
                _ if !page.was_forbidden() => return None,
                PageState::Failed(_) => Recheck::TryAgain,
                _ => Recheck::First,
            };
            let url = Url::parse(&page.url).ok()?;
            rules.allows(&url).then_some(recheck)
        };
        let origin = host.origin().to_owned();
        let urls =
            ask_frontier(&self.frontier, move |frontier| frontier.recheck(Some(&origin), now_ms(), &recheck)).await?;
        if urls > 0 {
            tracing::info!(
                host = host.origin(),
                urls,
                "robots.txt allows more than before: these URLs are \
                rechecked"
            );
        }
        Ok(())
    }

    /// Whether the host answers for its robots.txt now. Used when a URL fails again and again and there is no other
    /// page to compare with. If it does not answer, it is host trouble.
    pub(super) async fn has_robots(&self, host: &mut LeasedHost) -> Result<bool, Interrupted> {
        let (outcome, ended_ms) = self.fetch_file(host, ROBOTS).await?;
        let robots = answer::judge(&outcome, self.config.fetch.max_decoded_bytes, ended_ms);
        let Some(failure) = answer::trouble(&robots.access) else { return Ok(true) };
        host.robots_failed(failure, &outcome, ended_ms, &self.config.frontier);
        Ok(false)
    }

    /// Fetches the host's TDM reservations if a purpose needs them, after robots.txt and as often.
    async fn learn_reservations(&self, host: &mut LeasedHost) -> Result<(), Interrupted> {
        // A new delay must be on disk first.
        let is_asked = self.config.scope.purposes.want_tdm_file() && !host.has_new_delay(&self.config.frontier);
        let Some(robots) = host.lease.host.robots.clone().filter(|_| is_asked) else { return Ok(()) };
        if robots.tdm.is_none() {
            let tdm = self.fetch_reservations(host).await?;
            let expires_ms = if tdm.is_some() { robots.expires_ms } else { now_ms() + KEPT_UNREACHABLE_MS };
            let tdm = Some(tdm.or_else(|| host.tdm_before.take()).unwrap_or_default());
            let expires_ms = expires_ms.min(robots.expires_ms);
            let robots = Robots { tdm, expires_ms, ..robots };
            host.lease.host.robots = Some(robots.clone());
            host.new_robots = Some(robots);
        }
        host.tdm = self.rules.tdm(&host.lease.host);
        Ok(())
    }

    /// None if it could not be fetched now.
    async fn fetch_reservations(&self, host: &mut LeasedHost) -> Result<Option<String>, Interrupted> {
        let url = Url::parse(&format!("{}{}", host.origin(), tdm::PATH)).ok();
        if url.is_none_or(|url| host.refusal(&url, Kind::Page, self.config.fetch.obey_robots).is_some()) {
            return Ok(Some(String::new())); // robots.txt forbids tdmrep.json, so no reservation is known
        }
        let (outcome, _) = self.fetch_file(host, tdm::PATH).await?;
        Ok(answer::judge_tdm(&outcome, self.config.fetch.max_decoded_bytes))
    }

    /// Fetches a file of the host, and follows redirects to any host.
    async fn fetch_file(&self, host: &mut LeasedHost, path: &str) -> Result<(Outcome, EpochMs), Interrupted> {
        let asked = format!("{}{path}", host.origin());
        let Ok(mut url) = Url::parse(&asked) else {
            let failure = Failure { reason: FailureReason::BadUrl, message: "not a host's URL".to_owned() };
            return Ok((Outcome::Failure(failure), now_ms()));
        };
        let mut hops = 0;
        loop {
            let is_own = url.origin().ascii_serialization() == host.origin();
            let fetched = match is_own {
                true => self.request_file(host, &url).await?,
                false => self.other_hosts.beside(host, &url, Box::pin(self.request_file_elsewhere(&url))).await?,
            };
            let exchange = match fetched {
                Ok(exchange) => exchange,
                Err(failure) => return Ok((Outcome::Failure(failure), now_ms())),
            };
            self.metrics.robots_fetched(url.as_str(), &exchange);
            host.bytes_beside += body_bytes(&exchange.outcome);
            match redirect::location(&exchange.outcome).and_then(|location| redirect::target(&url, &location)) {
                Some(target) if hops < MAX_ROBOTS_HOPS => url = target.url,
                _ => {
                    let mut outcome = exchange.outcome;
                    wall::mark(&mut outcome, url.as_str(), (&asked, Kind::Page), self.config.fetch.walls);
                    return Ok((outcome, exchange.ended_ms));
                }
            }
            hops += 1;
        }
    }

    /// One request to a host that this worker has. The inner error is a name that does not resolve.
    async fn request_file(&self, host: &mut LeasedHost, url: &Url) -> Result<Result<Exchange, Failure>, Interrupted> {
        let limits = Limits { body_bytes: MAX_ROBOTS_BYTES, is_wanted_only: false, ..self.requests.limits() };
        match self.requests.slots.wait_for_slot(host, url).await? {
            Ok(slot) => self.requests.exchange(host, slot, url, &Conditions::default(), limits).await.map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// The same at another host, to which a file redirects.
    async fn request_file_elsewhere(&self, url: &Url) -> Result<Result<Exchange, Failure>, Interrupted> {
        let mut other = self.other_hosts.borrow(url).await?;
        let fetched = self.request_file(&mut other.host, url).await?;
        if let Ok(exchange) = &fetched {
            other.answered(&exchange.outcome, exchange.ended_ms, &self.config);
        }
        Ok(fetched)
    }

    /// Queues the sitemaps that robots.txt names. If there are none, the usual location, unless the rules forbid it.
    async fn propose_sitemaps(&self, host: &LeasedHost) -> Result<(), FrontierError> {
        let named = match &host.rules {
            Some(Rules::File(file)) => file.sitemaps(),
            _ => &[],
        };
        let mut urls: Vec<String> = named.iter().filter_map(|url| seine_parse::url::parse(url)).collect();
        let robots_txt = format!("{}/robots.txt", host.origin());
        let (way, on) = if urls.is_empty() { (FoundBy::Guess, None) } else { (FoundBy::RobotsTxt, Some(robots_txt)) };
        if urls.is_empty() {
            let guess = Url::parse(&format!("{}/sitemap.xml", host.origin())).ok();
            let allowed = guess.filter(|url| host.rules.as_ref().is_some_and(|rules| rules.allows(url)));
            urls.extend(allowed.map(String::from));
        }
        let scope = self.scope.now();
        let in_scope = urls.into_iter().filter(|url| scope.admits(url));
        let now = now_ms();
        let found = Some(Arc::new(Found { way, on, at: now }));
        let is_ranked = self.config.frontier.focus.ranks;
        let (kind, priority) = (Kind::Sitemap, if is_ranked { PRIORITY_NEUTRAL } else { SITEMAP_PRIORITY });
        let proposals: Vec<Proposal> =
            in_scope.map(|url| Proposal { url, kind, depth: 0, priority, found: found.clone(), lead: None }).collect();
        ask_frontier(&self.frontier, move |frontier| frontier.propose(&proposals, now)).await.map(|_| ())
    }
}

/// Logs that robots.txt forbids the home page, and so very likely everything, and for how long.
fn log_disallows_all(host: &str, robots: &Robots) {
    let minutes = robots.expires_ms.saturating_sub(robots.fetched_ms) / 60_000;
    tracing::info!(
        host,
        minutes,
        "robots.txt forbids everything; it is fetched again at the first visit after these minutes, or at once by \
        seine retry or seine seeds add"
    );
}

/// Size of a response's body as received.
pub(super) fn body_bytes(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Response(response) => response.body.len() as u64,
        Outcome::Failure(_) => 0,
    }
}
