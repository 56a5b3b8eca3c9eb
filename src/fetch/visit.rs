//! A worker's visit to one leased host: robots.txt, then its URLs one after the other, each at its turn, redirects
//! followed by hand. Every URL ends as an event in the page log or goes back to the frontier.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::client::{Client, Conditions, Exchange, Limits, dns_failure, now_ms};
use super::host::LeasedHost;
use super::robots::{self, MAX_ROBOTS_BYTES, Rules, RulesCache};
use crate::config::Config;
use crate::frontier::scope::Scope;
use crate::frontier::{Frontier, FrontierError, HostTurn, Lease, Proposal, Turn, Work};
use crate::log::{PageLog, Ticket, VALIDATOR};
use crate::page::{EpochMs, Failure, FailureReason, Hop, Kind, Outcome, PageEvent, Relevance, Response};
use crate::parse::{self, DeriveOptions};
use crate::telemetry::Metrics;

/// What every visit needs; one for the whole crawl.
pub struct Visitor {
    pub frontier: Arc<dyn Frontier>,
    pub log: PageLog,
    pub client: Client,
    pub scope: Arc<Scope>,
    pub config: Arc<Config>,
    pub derive: DeriveOptions,
    pub rules: RulesCache,
    pub metrics: Arc<Metrics>,
    /// Marked changed whenever a host was given back or work came in.
    pub changed: watch::Sender<()>,
    /// No new requests from then on.
    pub stop: CancellationToken,
    pub crawler_id: Arc<str>,
}

/// A worker waits so long for a turn; for a longer one it gives the host back.
const PATIENCE_MS: u64 = 2_000;
/// How long a redirect waits for its other host.
const BORROW_PATIENCE: Duration = Duration::from_secs(30);
/// robots.txt: RFC 9309 §2.3.1.2 asks for at least five hops.
const MAX_ROBOTS_HOPS: usize = 5;
const MAX_SITEMAP_BYTES: u64 = 50 << 20;
/// Sitemaps first: they say what else there is.
const SITEMAP_PRIORITY: u8 = 0;

/// Why a visit stopped before the lease was done.
enum GivenBack {
    /// Its turn is too far away, or the crawl is stopping.
    Later,
    Frontier(FrontierError),
}

impl From<FrontierError> for GivenBack {
    fn from(error: FrontierError) -> Self {
        GivenBack::Frontier(error)
    }
}

impl Visitor {
    /// Works through a lease and gives the host back. An error is the frontier's; the host is given back all the same.
    pub async fn visit(&self, lease: Lease) -> Result<(), FrontierError> {
        let mut host = LeasedHost::new(lease);
        let mut tickets = Vec::new();
        let worked = self.work_through(&mut host, &mut tickets).await;
        let mut fetched = Vec::with_capacity(tickets.len());
        for (url, ticket) in tickets {
            match ticket.accepted().await {
                Ok(_) => fetched.push(url),
                Err(error) => tracing::debug!(%url, %error, "not accepted, stays in work_proposed"),
            }
        }
        self.give_back(host, fetched)?;
        match worked {
            Err(GivenBack::Frontier(error)) => Err(error),
            Ok(()) | Err(GivenBack::Later) => Ok(()),
        }
    }

    async fn work_through(&self, host: &mut LeasedHost, tickets: &mut Vec<(String, Ticket)>) -> Result<(), GivenBack> {
        self.learn_rules(host).await?;
        for work in std::mem::take(&mut host.lease.work) {
            self.let_validator_catch_up().await?;
            let mut event = self.fetch(host, &work).await?;
            let leave = host.judge(&event, &self.config.frontier);
            self.metrics.fetched(&event);
            let derived = self.derive(&event);
            event.relevance = Relevance::by_type(derived.is_html && event.response().is_some_and(Response::is_success));
            match self.log.append(event, Some(derived)).await {
                Ok(ticket) => tickets.push((work.url, ticket)),
                Err(error) => {
                    tracing::debug!(url = work.url, %error, "not accepted, stays in work_proposed");
                    return Err(GivenBack::Later);
                }
            }
            if leave {
                break;
            }
        }
        Ok(())
    }

    /// What is fetched faster than it can be validated piles up, and costs more the further it is behind: it has to be
    /// read from disk and parsed again.
    async fn let_validator_catch_up(&self) -> Result<(), GivenBack> {
        if self.log.is_near_end(VALIDATOR) {
            return Ok(());
        }
        let mut changed = self.changed.subscribe();
        while !self.log.is_near_end(VALIDATOR) {
            tokio::select! {
                _ = changed.changed() => {}
                () = self.stop.cancelled() => return Err(GivenBack::Later),
            }
        }
        Ok(())
    }

    fn derive(&self, event: &PageEvent) -> Arc<parse::Derived> {
        /// Reading a larger page takes long enough to hold up the other tasks of this thread.
        const LARGE: usize = 256 * 1024;
        let read = || Arc::new(parse::derive(event, &self.derive));
        match event.response() {
            Some(response) if response.body.len() > LARGE => tokio::task::block_in_place(read),
            _ => read(),
        }
    }

    fn give_back(&self, host: LeasedHost, fetched: Vec<String>) -> Result<(), FrontierError> {
        let (lease, release) = host.release(fetched, &self.config.frontier);
        let result = self.frontier.release(lease, release);
        self.changed.send_replace(());
        result
    }

    /// One URL, redirects and all, as an event.
    async fn fetch(&self, host: &mut LeasedHost, work: &Work) -> Result<PageEvent, GivenBack> {
        let mut event = self.blank_event(work);
        let Ok(mut url) = Url::parse(&work.url) else {
            event.outcome = failed(FailureReason::BadUrl, "not a URL".to_owned());
            return Ok(event);
        };
        let conditions = Conditions { etag: work.etag.clone(), last_modified: work.last_modified.clone() };
        let limits = match work.kind {
            Kind::Page => self.client.limits(),
            Kind::Sitemap => Limits { body_bytes: MAX_SITEMAP_BYTES, ..self.client.limits() },
        };
        loop {
            let (exchange, followed) = if url.origin().ascii_serialization() == host.origin() {
                self.ask(host, &url, work.kind, &conditions, limits).await?
            } else {
                let mut other = match self.borrow(&url).await? {
                    Ok(other) => other,
                    Err(again) => {
                        host.not_before = host.not_before.max(again);
                        return Err(GivenBack::Later);
                    }
                };
                let asked = self.ask_at_other(&mut other, &url, work.kind, &conditions, limits).await;
                host.not_before = host.not_before.max(if asked.is_err() { other.not_before } else { 0 });
                self.give_back(other, Vec::new())?;
                asked?
            };
            if event.started_ms == 0 {
                event.started_ms = exchange.started_ms;
            }
            event.ended_ms = exchange.ended_ms;
            event.ip = exchange.ip;
            event.request_headers = exchange.request_headers;
            event.final_url = url.as_str().to_owned();
            let next = followed.filter(|_| exchange.result.is_ok());
            event.outcome = match exchange.result {
                Ok(response) => Outcome::Response(response),
                Err(failure) => Outcome::Failure(failure),
            };
            let Some(location) = next else { break };
            match self.next_hop(&mut event, &url, &location) {
                Some(target) => url = target,
                None => break,
            }
        }
        Ok(event)
    }

    /// Notes a redirect and says where it leads; none when it is not followed, with the outcome set.
    fn next_hop(&self, event: &mut PageEvent, url: &Url, location: &str) -> Option<Url> {
        let refuse = |event: &mut PageEvent, reason, message: String| {
            event.outcome = failed(reason, message);
            None
        };
        // As the server wrote it, not normalised: it may insist on its own order of a query's parameters.
        let Some(mut target) =
            parse::url::join(url, location).filter(|target| matches!(target.scheme(), "http" | "https"))
        else {
            let message = format!("redirects to {location:?}, which cannot be fetched");
            return refuse(event, FailureReason::BadRedirect, message);
        };
        target.set_fragment(None);
        let Outcome::Response(response) = &event.outcome else { return None };
        let hop = Hop {
            url: url.as_str().to_owned(),
            status: response.status,
            headers: response.headers.clone(),
            target: target.as_str().to_owned(),
            ip: event.ip,
        };
        event.hops.push(hop);
        event.final_url = target.as_str().to_owned();
        if event.hops.iter().any(|hop| hop.url == target.as_str()) {
            return refuse(event, FailureReason::TooManyRedirects, format!("redirects in a circle at {target}"));
        }
        if event.hops.len() > self.config.fetch.max_redirects {
            let message = format!("more than {} redirects", self.config.fetch.max_redirects);
            return refuse(event, FailureReason::TooManyRedirects, message);
        }
        if !self.scope.admits(target.as_str()) {
            return refuse(event, FailureReason::BadRedirect, format!("redirects out of scope, to {target}"));
        }
        Some(target)
    }

    async fn ask_at_other(
        &self,
        other: &mut LeasedHost,
        url: &Url,
        kind: Kind,
        conditions: &Conditions,
        limits: Limits,
    ) -> Result<(Exchange, Option<String>), GivenBack> {
        self.learn_rules(other).await?;
        self.ask(other, url, kind, conditions, limits).await
    }

    /// One exchange with a host whose lease we hold, if its robots.txt allows it, at its turn. Also says where the answer
    /// redirects to.
    async fn ask(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        kind: Kind,
        conditions: &Conditions,
        limits: Limits,
    ) -> Result<(Exchange, Option<String>), GivenBack> {
        if let Some(refusal) = self.refusal(host, url, kind) {
            return Ok((unasked(refusal), None));
        }
        if let Err(failure) = self.wait_for_turn(host, url).await? {
            return Ok((unasked(failure), None));
        }
        let exchange = self.client.get(url, conditions, limits).await;
        host.visited(exchange.ended_ms, &self.config.frontier);
        let location = exchange.result.as_ref().ok().and_then(redirect_location);
        Ok((exchange, location))
    }

    fn refusal(&self, host: &LeasedHost, url: &Url, kind: Kind) -> Option<Failure> {
        let rules = host.rules.as_ref().filter(|_| self.config.fetch.obey_robots)?;
        match rules {
            Rules::Unreachable(failure) => Some(failure.clone()),
            // A sitemap that robots.txt names is meant to be read.
            rules if kind == Kind::Page && !rules.allows(url) => {
                Some(Failure { reason: FailureReason::RobotsDenied, message: "robots.txt disallows it".to_owned() })
            }
            _ => None,
        }
    }

    /// Waits until the host and its address may be visited. The inner error is a name that does not resolve.
    async fn wait_for_turn(&self, host: &mut LeasedHost, url: &Url) -> Result<Result<(), Failure>, GivenBack> {
        let ip = match self.client.dns().resolve(url.host_str().unwrap_or_default()).await {
            Ok(addresses) => addresses[0],
            Err(error) => return Ok(Err(dns_failure(&error))),
        };
        let delay = self.config.frontier.ip_delay.unwrap_or_else(|| host.delay(&self.config.frontier));
        loop {
            self.sleep_until(host.not_before).await?;
            match self.frontier.claim_address(&host.lease, ip, delay, now_ms()) {
                Turn::Now => return Ok(Ok(())),
                Turn::At(turn) => host.not_before = turn.max(now_ms() + 1),
            }
        }
    }

    async fn sleep_until(&self, at: EpochMs) -> Result<(), GivenBack> {
        if self.stop.is_cancelled() {
            return Err(GivenBack::Later);
        }
        let wait = at.saturating_sub(now_ms());
        if wait == 0 {
            return Ok(());
        }
        if wait > PATIENCE_MS {
            return Err(GivenBack::Later);
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait)) => Ok(()),
            () = self.stop.cancelled() => Err(GivenBack::Later),
        }
    }

    /// Leases the host that a redirect leads to. The inner error: not to be had for now, try again then.
    async fn borrow(&self, url: &Url) -> Result<Result<LeasedHost, EpochMs>, GivenBack> {
        let origin = url.origin().ascii_serialization();
        let deadline = tokio::time::Instant::now() + BORROW_PATIENCE;
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let again = match self.frontier.lease_host(&origin, now_ms())? {
                HostTurn::Leased(lease) => return Ok(Ok(LeasedHost::new(lease))),
                HostTurn::At(at) if at > now_ms() + BORROW_PATIENCE.as_millis() as u64 => return Ok(Err(at)),
                HostTurn::At(at) => tokio::time::Instant::now() + Duration::from_millis(at.saturating_sub(now_ms())),
                HostTurn::Taken => deadline,
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(again) => {}
                () = self.stop.cancelled() => return Err(GivenBack::Later),
            }
            if tokio::time::Instant::now() >= deadline {
                return Ok(Err(now_ms() + PATIENCE_MS));
            }
        }
    }

    /// Makes sure that the host's robots.txt is known, fetching it when need be. A host that does not answer is given
    /// back to be tried again, until its failures are more than a URL's retries: then its URLs fail.
    async fn learn_rules(&self, host: &mut LeasedHost) -> Result<(), GivenBack> {
        let config = &self.config;
        if !config.fetch.obey_robots && !config.frontier.sitemaps {
            return Ok(());
        }
        host.rules = self.rules.rules(&host.lease.host, now_ms());
        if host.rules.is_some() {
            return Ok(());
        }
        let event = self.fetch_robots(host).await?;
        let text = event.response().map(|response| robots_text(response, &self.derive)).unwrap_or_default();
        let answer = match &event.outcome {
            Outcome::Response(response) => Ok(response),
            Outcome::Failure(failure) => Err(failure),
        };
        let unreachable = answer.is_err_and(|failure| failure.reason.is_transient());
        let robots = robots::judge(answer, text, event.ended_ms);
        let ailing = host.judge(&event, &config.frontier);
        if (ailing || unreachable) && host.failures <= u32::from(config.frontier.max_retries) {
            return Err(GivenBack::Later); // not kept: asked for again at the next lease
        }
        host.lease.host.robots = Some(robots.clone());
        host.rules = self.rules.rules(&host.lease.host, now_ms());
        if config.frontier.sitemaps {
            self.propose_sitemaps(host)?;
        }
        host.new_robots = Some(robots);
        Ok(())
    }

    /// robots.txt, redirects followed to whichever host: they are visits at the addresses' turns, without a lease.
    async fn fetch_robots(&self, host: &mut LeasedHost) -> Result<PageEvent, GivenBack> {
        let limits = Limits { body_bytes: MAX_ROBOTS_BYTES, ..self.client.limits() };
        let work = Work {
            url: format!("{}/robots.txt", host.origin()),
            kind: Kind::Sitemap,
            depth: 0,
            attempt: 0,
            etag: None,
            last_modified: None,
        };
        let mut event = self.blank_event(&work);
        let Ok(mut url) = Url::parse(&work.url) else {
            event.outcome = failed(FailureReason::BadUrl, "not a URL".to_owned());
            return Ok(event);
        };
        for _ in 0..=MAX_ROBOTS_HOPS {
            if let Err(failure) = self.wait_for_turn(host, &url).await? {
                event.ended_ms = now_ms();
                event.outcome = Outcome::Failure(failure);
                return Ok(event);
            }
            let exchange = self.client.get(&url, &Conditions::default(), limits).await;
            self.metrics.robots_fetched();
            host.visited(exchange.ended_ms, &self.config.frontier);
            event.ended_ms = exchange.ended_ms;
            let location = exchange.result.as_ref().ok().and_then(redirect_location);
            event.outcome = match exchange.result {
                Ok(response) => Outcome::Response(response),
                Err(failure) => Outcome::Failure(failure),
            };
            match location.and_then(|location| url.join(&location).ok()) {
                Some(target) if matches!(target.scheme(), "http" | "https") => url = target,
                _ => break,
            }
        }
        Ok(event)
    }

    fn propose_sitemaps(&self, host: &LeasedHost) -> Result<(), FrontierError> {
        let named = match &host.rules {
            Some(Rules::File(file)) => file.sitemaps(),
            _ => &[],
        };
        let mut urls: Vec<String> = named.iter().filter_map(|url| parse::url::parse(url)).collect();
        if urls.is_empty() && !matches!(host.rules, Some(Rules::Unreachable(_))) {
            urls.push(format!("{}/sitemap.xml", host.origin()));
        }
        let in_scope = urls.into_iter().filter(|url| self.scope.admits(url));
        let proposals: Vec<Proposal> =
            in_scope.map(|url| Proposal { url, kind: Kind::Sitemap, depth: 0, priority: SITEMAP_PRIORITY }).collect();
        self.frontier.propose(&proposals, now_ms()).map(|_| ())
    }

    fn blank_event(&self, work: &Work) -> PageEvent {
        PageEvent {
            id: uuid::Uuid::now_v7().simple().to_string(),
            url: work.url.clone(),
            kind: work.kind,
            depth: work.depth,
            attempt: work.attempt,
            method: "GET".to_owned(),
            request_headers: Default::default(),
            hops: Vec::new(),
            final_url: work.url.clone(),
            ip: None,
            started_ms: 0,
            ended_ms: now_ms(),
            outcome: failed(FailureReason::BadUrl, String::new()),
            relevance: Relevance::by_type(false),
            crawler_id: self.crawler_id.clone(),
        }
    }
}

fn robots_text(response: &Response, derive: &DeriveOptions) -> String {
    let decoded = parse::decode::decode_body(response, derive.max_decoded_bytes.min(MAX_ROBOTS_BYTES));
    String::from_utf8_lossy(&decoded.body).into_owned()
}

fn redirect_location(response: &Response) -> Option<String> {
    let redirects = matches!(response.status, 301 | 302 | 303 | 307 | 308);
    // Header values are kept as Latin-1; a Location is in practice UTF-8.
    let location = response.headers.get("location").filter(|_| redirects)?;
    Some(String::from_utf8_lossy(&crate::page::string_to_latin1(location)).into_owned())
}

fn failed(reason: FailureReason, message: String) -> Outcome {
    Outcome::Failure(Failure { reason, message })
}

/// An exchange that did not take place.
fn unasked(failure: Failure) -> Exchange {
    let now = now_ms();
    Exchange { request_headers: Default::default(), result: Err(failure), ip: None, started_ms: now, ended_ms: now }
}
