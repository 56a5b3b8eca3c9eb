//! A worker's visit to one leased host: robots.txt, then its URLs one after the other, each at its turn, redirects
//! followed by hand. Every URL ends as an event in the page log or goes back to the frontier.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{MutexGuard, watch};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::borrow::Parking;
use super::client::{Client, Conditions, Exchange, Limits, dns_failure, now_ms};
use super::cookies::Jar;
use super::host::{LeasedHost, whole_rest};
use super::pause::{self, Whose};
use super::redirect::{self, Target};
use super::robots::{Rules, RulesCache};
use super::weather::{Sign, Weather};
use crate::config::{Config, Secret};
use crate::frontier::scope::Scope;
use crate::frontier::{Frontier, FrontierError, Lease, Turn, Work};
use crate::large::{self, BodyRoom};
use crate::log::{PageLog, Ticket, VALIDATOR};
use crate::page::{
    Again, EpochMs, Failure, FailureReason, Hop, Kind, Outcome, PageChange, PageEvent, Relevance, Response, Truncated,
};
use crate::parse::decode::DecodeProblem;
use crate::parse::{self, DeriveOptions, Derived};
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
    pub parking: Parking,
    /// Whether this machine can reach anybody.
    pub weather: Arc<Weather>,
    /// No new requests from then on.
    pub stop: CancellationToken,
    pub crawler_id: Arc<str>,
}

const MAX_SITEMAP_BYTES: u64 = 50 << 20;
/// After the stop, a request that was sent already has this long to be answered.
const LAST_ANSWER: Duration = Duration::from_secs(5);
/// A host that another worker keeps is asked for again after so long.
const TAKEN_REST_MS: u64 = 1_000;
/// A host that this machine cannot reach for a reason of its own is not asked for at once again, should fetching go on.
const WEATHER_REST_MS: u64 = 2_000;

/// Why a request was not made.
pub(super) enum Interrupted {
    /// The host's turn is too far away to wait for: it is then.
    Resting(EpochMs),
    /// Another worker has had the host for too long.
    Taken,
    /// This machine cannot reach anybody: neither the URL's doing nor its host's.
    Weather,
    /// The crawl is stopping.
    Stopping,
    Frontier(FrontierError),
}

impl From<FrontierError> for Interrupted {
    fn from(error: FrontierError) -> Self {
        Interrupted::Frontier(error)
    }
}

/// The host of a lease, among those who fetch from it at the same time (`connections_per_host`). Whoever has it decides when
/// it is asked next.
type Shared = tokio::sync::Mutex<LeasedHost>;

/// URLs whose events wait to be accepted.
type Tickets = Mutex<Vec<(String, Ticket)>>;

/// One request as it is to be made.
struct Request<'w> {
    work: &'w Work,
    conditions: Conditions,
    limits: Limits,
}

/// The redirects of one visit so far.
#[derive(Default)]
struct Way {
    jar: Jar,
    /// What was asked for, and with which of the jar's cookies.
    asked: Vec<(Url, Option<Secret>)>,
}

impl Way {
    /// The cookies to ask for `url` with.
    fn begin(&mut self, url: &Url) -> Option<Secret> {
        let cookies = self.jar.cookies_for(url);
        self.asked.push((url.clone(), cookies.clone()));
        cookies
    }

    /// Whether asking for `url` would be the same request again: with a new cookie it is another.
    fn has_been_at(&self, url: &Url) -> bool {
        let cookies = self.jar.cookies_for(url);
        self.asked.iter().any(|(asked, with)| asked == url && *with == cookies)
    }
}

/// What a worker must know of a page, and what it can hand on.
struct Read {
    digest: [u8; 32],
    is_html: bool,
    /// A coding has no end: the body came short, though its framing was whole (a server that gave up behind a proxy).
    is_cut: bool,
    derived: Option<Arc<Derived>>,
}

impl Read {
    fn of(derived: &Derived) -> Read {
        let is_cut = matches!(derived.decode_problem, Some(DecodeProblem::Cut { .. }));
        Read { digest: derived.digest, is_html: derived.is_html, is_cut, derived: None }
    }
}

/// What a request brought.
struct Asked {
    exchange: Exchange,
    /// Where its answer redirects to.
    location: Option<String>,
    whose: Whose,
    /// When whoever was asked may be asked again.
    not_before: EpochMs,
}

impl Visitor {
    /// Works through a lease and gives the host back. An error is the frontier's; the host is given back all the same.
    pub async fn visit(&self, lease: Lease) -> Result<(), FrontierError> {
        let mut host = LeasedHost::new(lease);
        let tickets = Tickets::default();
        let worked = self.work_through(&mut host, &tickets).await;
        let tickets = tickets.into_inner();
        let mut fetched = Vec::with_capacity(tickets.len());
        for (url, ticket) in tickets {
            match ticket.accepted_after().await {
                Ok((_, took)) => {
                    self.metrics.accept_seconds.observe(took.as_secs_f64());
                    fetched.push(url);
                }
                Err(error) => tracing::debug!(%url, %error, "not accepted, stays in work_proposed"),
            }
        }
        self.give_back(host, fetched)?;
        match worked {
            Err(Interrupted::Frontier(error)) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn work_through(&self, host: &mut LeasedHost, tickets: &Tickets) -> Result<(), Interrupted> {
        if self.is_given_up(host).is_none() {
            match self.learn_rules(host).await {
                Err(Interrupted::Resting(_)) if self.is_given_up(host).is_some() => {}
                learned => learned?,
            }
        }
        if host.has_new_delay(&self.config.frontier) {
            return Err(Interrupted::Resting(host.not_before));
        }
        let rest = Mutex::new(VecDeque::from(std::mem::take(&mut host.lease.work)));
        let shared = Shared::new(std::mem::replace(host, LeasedHost::absent()));
        let lanes = (0..self.config.fetch.connections_per_host).map(|_| self.work_along(&shared, &rest, tickets));
        let worked = all(lanes).await;
        *host = shared.into_inner();
        worked
    }

    /// One URL after the other, of those that nobody else has taken. What ends it ends it for all.
    async fn work_along(
        &self,
        host: &Shared,
        rest: &Mutex<VecDeque<Work>>,
        tickets: &Tickets,
    ) -> Result<(), Interrupted> {
        loop {
            let Some(work) = rest.lock().pop_front() else { return Ok(()) };
            let worked = self.work_on(host, work, tickets).await;
            if !matches!(worked, Ok(true)) {
                rest.lock().clear();
                return worked.map(|_| ());
            }
        }
    }

    /// One URL, from its fetch to the page log. False: its host is to be left alone now.
    async fn work_on(&self, host: &Shared, work: Work, tickets: &Tickets) -> Result<bool, Interrupted> {
        if !self.log.room() {
            return Err(Interrupted::Resting(host.lock().await.not_before));
        }
        self.let_validator_catch_up().await?;
        let given_up = self.is_given_up(&*host.lock().await);
        let (mut event, room) = match given_up {
            Some(failure) => (PageEvent { outcome: Outcome::Failure(failure), ..self.blank_event(&work) }, None),
            None => self.fetch(host, &work).await?,
        };
        let read = self.read(&event).await;
        if let (Outcome::Response(response), true) = (&mut event.outcome, read.is_cut) {
            response.truncated.get_or_insert(Truncated::Disconnect);
        }
        if event.response().is_some_and(Response::is_cut) {
            event.again = self.again(&event, Whose::Page, 0);
        }
        self.metrics.fetched(&event);
        event.change = self.change(&event, &work, &read.digest);
        event.relevance = Relevance::by_type(read.is_html && event.response().is_some_and(Response::is_success));
        match self.log.append(event, read.derived).await {
            Ok(ticket) => tickets.lock().push((work.url, ticket)),
            Err(error) => {
                tracing::debug!(url = work.url, %error, "not accepted, stays in work_proposed");
                return Err(Interrupted::Stopping);
            }
        }
        drop(room); // the log has counted it since it was queued
        let host = host.lock().await;
        Ok(!host.is_ailing || self.is_given_up(&host).is_some())
    }

    /// What is fetched faster than it can be validated piles up, and costs more the further it is behind: it has to be
    /// read from disk and parsed again.
    async fn let_validator_catch_up(&self) -> Result<(), Interrupted> {
        if self.log.is_near_end(VALIDATOR) {
            return Ok(());
        }
        let mut changed = self.changed.subscribe();
        while !self.log.is_near_end(VALIDATOR) {
            tokio::select! {
                _ = changed.changed() => {}
                () = self.stop.cancelled() => return Err(Interrupted::Stopping),
            }
        }
        Ok(())
    }

    /// What is large once decoded is read for its digest alone: it is not kept, and the validator reads it again.
    async fn read(&self, event: &PageEvent) -> Read {
        /// Reading a longer page takes long enough to hold up the other tasks of this thread.
        const LONG: usize = 256 * 1024;
        let small = || large::derive_small(event, &self.derive, parse::derive);
        let small = match event.response() {
            Some(response) if response.body.len() > LONG => tokio::task::block_in_place(small),
            _ => small(),
        };
        if let Some(derived) = small {
            let read = Read::of(&derived);
            return Read { derived: Some(Arc::new(derived)), ..read };
        }
        let _turn = large::turn().await;
        tokio::task::block_in_place(|| Read::of(&large::derive(event, &self.derive, parse::derive_without_markup)))
    }

    /// A host that is given up: its URLs fail without a visit, lease by lease.
    fn is_given_up(&self, host: &LeasedHost) -> Option<Failure> {
        host.trouble.filter(|trouble| trouble.given_up)?;
        host.is_hopeless(&self.config.frontier)
    }

    /// None for an answer that is not final.
    fn change(&self, event: &PageEvent, work: &Work, now: &[u8; 32]) -> Option<PageChange> {
        let status = event.response().filter(|_| event.again.is_none())?.status;
        PageChange::judge(status, work.was_there, work.digest.as_ref(), now)
    }

    pub(super) fn give_back(&self, host: LeasedHost, fetched: Vec<String>) -> Result<(), FrontierError> {
        let (lease, release) = host.release(fetched, &self.config.frontier);
        let result = self.frontier.release(lease, release);
        self.changed.send_replace(());
        result
    }

    /// One URL, redirects and all, as an event.
    async fn fetch(&self, host: &Shared, work: &Work) -> Result<(PageEvent, Option<BodyRoom>), Interrupted> {
        let mut room = None;
        let mut event = self.blank_event(work);
        let Ok(mut url) = Url::parse(&work.url) else {
            event.outcome = failed(FailureReason::BadUrl, "not a URL".to_owned());
            return Ok((event, room));
        };
        let mut request = Request {
            work,
            conditions: Conditions {
                etag: work.etag.clone(),
                last_modified: work.last_modified.clone(),
                cookies: None,
            },
            limits: match work.kind {
                Kind::Page => self.client.limits(),
                Kind::Sitemap => {
                    Limits { body_bytes: MAX_SITEMAP_BYTES, is_wanted_only: false, ..self.client.limits() }
                }
            },
        };
        let mut way = Way::default();
        loop {
            request.conditions.cookies = way.begin(&url);
            let asked = self.ask_whoever(host, &url, &request, event.hops.is_empty()).await?;
            let Asked { exchange, location, whose, not_before } = asked;
            if event.started_ms == 0 {
                event.started_ms = exchange.started_ms;
            }
            event.ended_ms = exchange.ended_ms;
            event.ip = exchange.ip;
            event.request_headers = exchange.request_headers;
            event.final_url = url.as_str().to_owned();
            event.outcome = exchange.outcome;
            event.again = self.again(&event, whose, not_before);
            room = exchange.room;
            let Some(location) = location else { break };
            match self.next_hop(&mut event, &url, &location, &mut way) {
                Some(target) => url = target,
                None => break,
            }
        }
        if let (Kind::Sitemap, Outcome::Response(response)) = (event.kind, &mut event.outcome) {
            response.wire = None; // no archive holds sitemaps
        }
        Ok((event, room))
    }

    /// When the URL is tried again: after its own trouble as long as it has attempts left; after its host's, behind whatever
    /// else waits for that host.
    fn again(&self, event: &PageEvent, whose: Whose, not_before: EpochMs) -> Option<Again> {
        let config = &self.config.frontier;
        match whose {
            Whose::Nobody => None,
            Whose::Page => pause::retry_at(event, config).map(|at| Again { at, counts: true }),
            Whose::Host => {
                let behind = config.host_delay.max(config.backoff_base).as_millis() as u64;
                Some(Again { at: not_before + behind, counts: false })
            }
        }
    }

    /// Asks the leased host, or the one that a redirect leads to. Before the first request of a URL, what keeps us from
    /// asking sends it back untouched; later the URL waits until the other host can be had, and its own host does not.
    async fn ask_whoever(
        &self,
        host: &Shared,
        url: &Url,
        request: &Request<'_>,
        is_first: bool,
    ) -> Result<Asked, Interrupted> {
        let mut own = host.lock().await;
        if is_first {
            own.begin()
        } else {
            own.go_on()
        }
        let asked = if url.origin().ascii_serialization() != own.origin() {
            self.parked(&mut own, self.ask_other(url, request)).await
        } else if self.config.fetch.connections_per_host == 1 {
            self.ask(&mut own, url, request).await
        } else {
            self.ask_beside_others(host, own, url, request).await
        };
        match asked {
            Err(Interrupted::Resting(at)) if !is_first => Ok(busy(url, at)),
            Err(Interrupted::Taken) if !is_first => Ok(busy(url, now_ms() + TAKEN_REST_MS)),
            asked => asked,
        }
    }

    /// A request to a host whose lease is not ours yet.
    async fn ask_other(&self, url: &Url, request: &Request<'_>) -> Result<Asked, Interrupted> {
        let mut other = self.borrow(url).await?;
        match (self.learn_rules(&mut other).await, other.is_hopeless(&self.config.frontier)) {
            (Err(Interrupted::Resting(_)), Some(failure)) => {
                let (exchange, not_before) = (unasked(failure), other.not_before);
                return Ok(Asked { exchange, location: None, whose: Whose::Nobody, not_before });
            }
            (learned, _) => learned?,
        }
        if other.has_new_delay(&self.config.frontier) {
            drop(other);
            other = self.borrow(url).await?;
            self.learn_rules(&mut other).await?;
        }
        self.ask(&mut other, url, request).await
    }

    /// One exchange with a host whose lease we hold, if its robots.txt allows it, at its turn.
    async fn ask(&self, host: &mut LeasedHost, url: &Url, request: &Request<'_>) -> Result<Asked, Interrupted> {
        let exchange = match self.may_ask(host, url, request).await? {
            Err(failure) => unasked(failure),
            Ok(()) => self.exchange(host, url, &request.conditions, request.limits).await?,
        };
        self.asked(host, exchange, request).await
    }

    /// The same, while others may ask the host too: what is spaced by its delay is where requests begin.
    async fn ask_beside_others(
        &self,
        shared: &Shared,
        mut host: MutexGuard<'_, LeasedHost>,
        url: &Url,
        request: &Request<'_>,
    ) -> Result<Asked, Interrupted> {
        if let Err(failure) = self.may_ask(&mut host, url, request).await? {
            return self.asked(&mut host, unasked(failure), request).await;
        }
        host.visited(now_ms(), &self.config.frontier);
        drop(host);
        let exchange = self.get(url, &request.conditions, request.limits).await;
        let mut host = shared.lock().await;
        let exchange = exchange?;
        self.judge_weather(&mut host, url, &exchange).await?;
        let next = host.not_before;
        let asked = self.asked(&mut host, exchange, request).await?;
        if asked.whose == Whose::Nobody {
            host.not_before = next; // its rest began with the request
        }
        Ok(asked)
    }

    /// Waits for the host's turn. The inner error says why it is not asked.
    async fn may_ask(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        request: &Request<'_>,
    ) -> Result<Result<(), Failure>, Interrupted> {
        match self.refusal(host, url, request.work.kind) {
            Some(refusal) => Ok(Err(refusal)),
            None => self.wait_for_turn(host, url).await,
        }
    }

    /// What an exchange means for its host. Before a URL pays for what its host may have done, the host is asked for something
    /// else.
    async fn asked(
        &self,
        host: &mut LeasedHost,
        mut exchange: Exchange,
        request: &Request<'_>,
    ) -> Result<Asked, Interrupted> {
        let config = &self.config.frontier;
        let before = host.trouble;
        let mut whose = host.judge(&exchange.outcome, request.work, exchange.ended_ms, config);
        let is_in_question = whose == Whose::Page
            && pause::leaves_host_in_question(&exchange.outcome, request.work, before.as_ref(), config);
        if is_in_question && !self.has_robots(host).await? {
            whose = Whose::Host;
        }
        if let (Whose::Host, Some(failure)) = (whose, host.is_hopeless(config)) {
            exchange.outcome = Outcome::Failure(failure);
            whose = Whose::Nobody;
        }
        let location = redirect::location(&exchange.outcome);
        Ok(Asked { exchange, location, whose, not_before: host.not_before })
    }

    /// One exchange. Given up soon after the stop: the URL is still in `work_proposed`.
    async fn get(&self, url: &Url, conditions: &Conditions, limits: Limits) -> Result<Exchange, Interrupted> {
        let given_up = async {
            self.stop.cancelled().await;
            tokio::time::sleep(LAST_ANSWER).await;
        };
        tokio::select! {
            biased;
            exchange = self.client.get(url, conditions, limits) => Ok(exchange),
            () = given_up => Err(Interrupted::Stopping),
        }
    }

    /// One exchange, and the host's rest after it.
    pub(super) async fn exchange(
        &self,
        host: &mut LeasedHost,
        url: &Url,
        conditions: &Conditions,
        limits: Limits,
    ) -> Result<Exchange, Interrupted> {
        let exchange = self.get(url, conditions, limits).await;
        host.visited(exchange.as_ref().map_or_else(|_| now_ms(), |exchange| exchange.ended_ms), &self.config.frontier);
        let exchange = exchange?;
        self.judge_weather(host, url, &exchange).await?;
        Ok(exchange)
    }

    /// What an exchange says of this machine: an error when its failure is this machine's.
    async fn judge_weather(&self, host: &mut LeasedHost, url: &Url, exchange: &Exchange) -> Result<(), Interrupted> {
        let Outcome::Failure(failure) = &exchange.outcome else {
            self.weather.answered(exchange.ended_ms);
            return Ok(());
        };
        let Some(sign) = Sign::of(&exchange.outcome) else { return Ok(()) };
        // Many hosts on one address that is away are one server's trouble.
        let name = url.host_str().unwrap_or_default();
        let who = self.client.dns().resolve(name).await.map_or_else(|_| name.to_owned(), |ips| ips[0].to_string());
        self.blame(host, sign, &who, &failure.message)
    }

    fn blame(&self, host: &mut LeasedHost, sign: Sign, who: &str, message: &str) -> Result<(), Interrupted> {
        let now = now_ms();
        if self.weather.failed(sign, who, host.was_well(), message, now) {
            host.not_before = host.not_before.max(now + WEATHER_REST_MS);
            return Err(Interrupted::Weather);
        }
        Ok(())
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
    pub(super) async fn wait_for_turn(
        &self,
        host: &mut LeasedHost,
        url: &Url,
    ) -> Result<Result<(), Failure>, Interrupted> {
        let name = url.host_str().unwrap_or_default();
        let resolved = self.client.dns().resolve(name).await;
        self.weather.resolved(self.client.dns().answered_ms(), now_ms());
        let ip = match resolved {
            Ok(addresses) => addresses[0],
            Err(error) => {
                let failure = dns_failure(&error);
                if failure.reason == FailureReason::Resolver {
                    self.blame(host, Sign::Unresolved, name, &failure.message)?;
                }
                return Ok(Err(failure));
            }
        };
        // The address's own delay: what one host's robots.txt asks for is no reason to let its neighbours wait.
        let delay = self.config.frontier.ip_delay.unwrap_or(self.config.frontier.host_delay);
        loop {
            self.sleep_until(host.not_before, host.patience).await?;
            match self.frontier.claim_address(&host.lease, ip, whole_rest(delay), now_ms()) {
                Turn::Now => return Ok(Ok(())),
                Turn::At(turn) => host.not_before = turn.max(now_ms() + 1),
            }
        }
    }

    async fn sleep_until(&self, at: EpochMs, patience: Duration) -> Result<(), Interrupted> {
        if self.stop.is_cancelled() {
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
            () = tokio::time::sleep(wait) => Ok(()),
            () = self.stop.cancelled() => Err(Interrupted::Stopping),
        }
    }

    /// Notes a redirect and says where it leads; none when it is not followed, with the outcome set.
    fn next_hop(&self, event: &mut PageEvent, url: &Url, location: &str, way: &mut Way) -> Option<Url> {
        let refuse = |event: &mut PageEvent, reason, message: String| {
            event.outcome = failed(reason, message);
            None
        };
        let Some(Target { url: target, normal }) = redirect::target(url, location) else {
            let message = format!("redirects to {location:?}, which cannot be fetched");
            return refuse(event, FailureReason::BadRedirect, message);
        };
        let Outcome::Response(response) = &event.outcome else { return None };
        way.jar.take(url, &response.headers);
        let hop = Hop {
            url: url.as_str().to_owned(),
            status: response.status,
            headers: response.headers.clone(),
            target: target.as_str().to_owned(),
            ip: event.ip,
        };
        event.hops.push(hop);
        event.final_url = target.as_str().to_owned();
        if way.has_been_at(&target) {
            return refuse(event, FailureReason::TooManyRedirects, format!("redirects in a circle at {target}"));
        }
        if event.hops.len() > self.config.fetch.max_redirects {
            let message = format!("more than {} redirects", self.config.fetch.max_redirects);
            return refuse(event, FailureReason::TooManyRedirects, message);
        }
        if !self.scope.admits(&normal) {
            return refuse(event, FailureReason::BadRedirect, format!("redirects out of scope, to {target}"));
        }
        Some(target)
    }

    fn blank_event(&self, work: &Work) -> PageEvent {
        PageEvent {
            id: crate::clock::event_id(),
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
            again: None,
            change: None,
            relevance: Relevance::by_type(false),
            crawler_id: self.crawler_id.clone(),
        }
    }
}

/// Runs all of them to their end; the first error there was.
async fn all<F: Future<Output = Result<(), Interrupted>>>(futures: impl Iterator<Item = F>) -> Result<(), Interrupted> {
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    let mut result = Ok(());
    std::future::poll_fn(|cx| {
        running.retain_mut(|future| match future.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(ended) => {
                if result.is_ok() {
                    result = ended;
                }
                false
            }
        });
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    result
}

fn failed(reason: FailureReason, message: String) -> Outcome {
    Outcome::Failure(Failure { reason, message })
}

/// A redirect's host cannot be had before `not_before`.
fn busy(url: &Url, not_before: EpochMs) -> Asked {
    let message = format!("redirects to {url}, whose host could not be visited in time");
    let exchange = unasked(Failure { reason: FailureReason::HostBusy, message });
    Asked { exchange, location: None, whose: Whose::Host, not_before }
}

/// An exchange that did not take place.
fn unasked(failure: Failure) -> Exchange {
    let now = now_ms();
    let outcome = Outcome::Failure(failure);
    Exchange { request_headers: Default::default(), outcome, ip: None, started_ms: now, ended_ms: now, room: None }
}
