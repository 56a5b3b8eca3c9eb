//! Fetches one URL, from its first request to its event. It follows redirects itself and judges each like a link.

use seine_delivery::large::BodyRoom;
use seine_frontier::{Claim, Work};
use seine_parse::page::{Again, EpochMs, Failure, FailureReason, Hop, Kind, Outcome, PageEvent, Withheld};
use seine_system::clock::{event_id, now_ms};
use url::Url;

use super::claim::Claimed;
use super::host::LeasedHost;
use super::request::{Asked, Request};
use super::robots::body_bytes;
use super::visitor::{Interrupted, Shared, Visitor};
use crate::config::Secret;
use crate::fetch::Jar;
use crate::fetch::client::{Conditions, Exchange, Limits};
use crate::judge::blame::Whose;
use crate::judge::redirect::{self, Target};
use crate::judge::retry;

const MAX_SITEMAP_BYTES: u64 = 50 << 20;

/// The result of fetching a URL, on its way to the page log.
pub(super) struct Fetched<'v> {
    pub event: PageEvent,
    pub room: Option<BodyRoom>,
    /// When the robots.txt that applied to its last request was fetched.
    pub robots_ms: Option<EpochMs>,
    /// Kept until the event is in the log's queue.
    pub claimed: Option<Claimed<'v>>,
}

impl<'v> Fetched<'v> {
    pub fn new(event: PageEvent, claimed: Option<Claimed<'v>>) -> Fetched<'v> {
        Fetched { event, room: None, robots_ms: None, claimed }
    }
}

/// The redirects of one visit so far.
#[derive(Default)]
struct Way {
    jar: Jar,
    /// The URLs requested, each with the cookies of the jar that were sent.
    asked: Vec<(Url, Option<Secret>)>,
}

impl Way {
    /// The cookies to send for `url`.
    fn begin(&mut self, url: &Url) -> Option<Secret> {
        let cookies = self.jar.cookies_for(url);
        self.asked.push((url.clone(), cookies.clone()));
        cookies
    }

    /// Whether a request for `url` would repeat an earlier one. With a new cookie it would not.
    fn has_been_at(&self, url: &Url) -> bool {
        let cookies = self.jar.cookies_for(url);
        self.asked.iter().any(|(asked, with)| asked == url && *with == cookies)
    }
}

impl Visitor {
    /// Fetches one URL with its redirects.
    pub(super) async fn fetch(&self, host: &Shared, work: &Work) -> Result<Fetched<'_>, Interrupted> {
        let mut fetched = Fetched::new(self.blank_event(work), self.claims(work));
        let Ok(url) = Url::parse(&work.url) else {
            fetched.event.outcome = failed(FailureReason::BadUrl, "not a URL".to_owned());
            return Ok(fetched);
        };
        match self.claim(&fetched, host, &work.url).await? {
            Claim::Granted => self.follow(&mut fetched, host, work, url, None).await?,
            Claim::Owned { by } => {
                let message = format!("its page is delivered as that of {by}, which redirects here");
                fetched.event.outcome = failed(FailureReason::Alias, message);
                fetched.event.withheld = Some(Withheld::Alias { of: by, target: work.url.clone() });
            }
            Claim::Pending => self.put_off(&mut fetched.event),
        }
        Ok(fetched)
    }

    async fn claim(&self, fetched: &Fetched<'_>, host: &Shared, target: &str) -> Result<Claim, Interrupted> {
        match &fetched.claimed {
            Some(claimed) => claimed.claim(host, target).await,
            None => Ok(Claim::Granted),
        }
    }

    /// The event of a URL that is not requested.
    pub(super) fn unasked(&self, failure: Failure, work: &Work) -> Fetched<'_> {
        Fetched::new(PageEvent { outcome: Outcome::Failure(failure), ..self.blank_event(work) }, None)
    }

    /// Another URL's visit is fetching the page and takes long.
    fn put_off(&self, event: &mut PageEvent) {
        let message = format!("{} is just being asked for on behalf of another URL", event.final_url);
        event.outcome = failed(FailureReason::HostBusy, message);
        event.request_headers = Default::default(); // nobody's trouble
        event.again = self.again(event, Whose::Host, now_ms());
    }

    /// `given`: the response for `url` that a remote worker has sent.
    pub(super) async fn follow(
        &self,
        fetched: &mut Fetched<'_>,
        host: &Shared,
        work: &Work,
        mut url: Url,
        mut given: Option<Exchange>,
    ) -> Result<(), Interrupted> {
        let limits = match work.kind {
            Kind::Page => self.client.limits(),
            Kind::Requisite => Limits { is_wanted_only: false, ..self.client.limits() },
            Kind::Sitemap => Limits { body_bytes: MAX_SITEMAP_BYTES, is_wanted_only: false, ..self.client.limits() },
        };
        let mut request = Request { work, conditions: Conditions::default(), limits };
        let gave = work.known.final_url.clone().unwrap_or_else(|| url.as_str().to_owned());
        let mut way = Way::default();
        loop {
            let validators =
                if url.as_str() == gave { self.validators(host, work, &url).await } else { Conditions::default() };
            request.conditions = Conditions { cookies: way.begin(&url), ..validators };
            let asked = match given.take() {
                Some(exchange) => self.asked(&mut *host.lock().await, &url, exchange, &request).await?,
                None => self.ask_whoever(host, &url, &request, fetched.event.hops.is_empty()).await?,
            };
            let event = &mut fetched.event;
            let Asked { exchange, location, whose, not_before, bytes_beside, said_by_host, robots_ms } = asked;
            event.bytes_beside += bytes_beside;
            if event.started_ms == 0 {
                event.started_ms = exchange.started_ms;
            }
            event.ended_ms = exchange.ended_ms;
            event.ip = exchange.ip;
            event.request_headers = exchange.request_headers;
            event.final_url = url.as_str().to_owned();
            event.outcome = exchange.outcome;
            event.preferences = Some(said_by_host);
            event.again = self.again(event, whose, not_before);
            fetched.room = exchange.room;
            fetched.robots_ms = robots_ms;
            let Some(location) = location else { break };
            event.bytes_beside += body_bytes(&event.outcome); // in its place comes what it leads to, or why not
            let Some(target) = self.next_hop(event, &url, &location, &mut way) else { break };
            match self.claim(fetched, host, &target.normal).await? {
                Claim::Granted => url = target.url,
                Claim::Owned { by } => {
                    withhold(&mut fetched.event, by, target.normal);
                    break;
                }
                Claim::Pending => {
                    self.put_off(&mut fetched.event);
                    break;
                }
            }
        }
        let event = &mut fetched.event;
        if let (Kind::Sitemap, Outcome::Response(response)) = (event.kind, &mut event.outcome) {
            response.wire = None; // no archive holds sitemaps
        }
        Ok(())
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
        let known = host.filter(|_| work.was_withheld()).map(|host| self.said_by_host(host, url));
        let must_come_whole = self.is_released(work, known.unwrap_or_default())
            || self.must_be_compared(work)
            || self.must_be_judged(work);
        match must_come_whole {
            true => Conditions::default(),
            false => Conditions {
                etag: work.known.etag.clone(),
                last_modified: work.known.last_modified.clone(),
                cookies: None,
            },
        }
    }

    /// When to retry the URL.
    pub(super) fn again(&self, event: &PageEvent, whose: Whose, not_before: EpochMs) -> Option<Again> {
        retry::again(event, whose, not_before, &self.config.frontier)
    }

    /// Records a redirect and returns its target. None if it is not followed; then the outcome is set.
    fn next_hop(&self, event: &mut PageEvent, url: &Url, location: &str, way: &mut Way) -> Option<Target> {
        let refuse = |event: &mut PageEvent, reason, message: String| {
            event.outcome = failed(reason, message);
            None
        };
        let Some(next) = redirect::target(url, location) else {
            let message = format!("redirects to {location:?}, which cannot be fetched");
            return refuse(event, FailureReason::BadRedirect, message);
        };
        let target = &next.url;
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
        if way.has_been_at(target) {
            return refuse(event, FailureReason::TooManyRedirects, format!("redirects in a circle at {target}"));
        }
        if event.hops.len() > self.config.fetch.max_redirects {
            let message = format!("more than {} redirects", self.config.fetch.max_redirects);
            return refuse(event, FailureReason::TooManyRedirects, message);
        }
        if !self.scope.now().admits(&next.normal) {
            return refuse(event, FailureReason::BadRedirect, format!("redirects out of scope, to {target}"));
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
            crawler_id: self.crawler_id.clone(),
            ..PageEvent::read_back(&work.url)
        }
    }
}

/// The last redirect is the response itself; its target is not requested.
fn withhold(event: &mut PageEvent, of: String, target: String) {
    event.bytes_beside -= body_bytes(&event.outcome);
    if let Some(hop) = event.hops.pop() {
        event.final_url = hop.url;
    }
    event.withheld = Some(Withheld::Alias { of, target });
}

fn failed(reason: FailureReason, message: String) -> Outcome {
    Outcome::Failure(Failure { reason, message })
}
