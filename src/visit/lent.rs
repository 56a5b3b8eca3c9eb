//! A lease whose URLs a remote worker fetches. This module prepares it: robots.txt, delay, reservations, budgets. It
//! judges the pages that come back like our own. Some things it does not believe from a worker and fetches itself after
//! the worker is done with the host: failures, redirect targets, and pages to be compared.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use seine_delivery::large;
use seine_frontier::{FrontierError, Lease, Work};
use seine_parse::page::{Kind, PageEvent};
use seine_system::blocking;
use seine_system::clock::now_ms;
use url::Url;

use super::follow::FetchedUrl;
use super::host_visit::{Next, Queued, Visit};
use super::leased_host::LeasedHost;
use super::loan::{LOAN_TIME, Loan, LoanResult, Offer, PageReply, WorkerPage};
use super::reserving::ReservedTarget;
use super::url_reservation::UrlReservation;
use super::visitor::{Interrupted, Services, Shared, Visitor, ask_frontier};
use crate::fetch::client::Exchange;
use crate::judge::worker_results::{Sketch, is_not_trusted};
use crate::judge::{redirect, trouble};

/// How often to check whether the operator wants the host back.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// A lent URL, with its reservations. Returned however the loan ends.
struct LentUrl<'v> {
    work: Work,
    url: Url,
    reserved: UrlReservation,
    target: Option<ReservedTarget<'v>>,
}

/// URLs that we fetch ourselves.
#[derive(Default)]
struct Ours<'v> {
    work: Vec<Work>,
    redirected: Vec<(LentUrl<'v>, Exchange)>,
    checked: Vec<(Work, Option<Sketch>)>,
}

/// Lends a leased host, fetches the rest itself, and releases the host.
pub(super) async fn lend(visit: Visit<'_>, lease: Lease, loan: Loan) -> Result<LoanResult, FrontierError> {
    let mut host = LeasedHost::new(lease);
    host.is_lent = true;
    let mut lent = LoanResult::default();
    let worked = lend_out(&visit, &mut host, loan, &mut lent).await;
    visit.end(host, worked).await.map(|()| lent)
}

async fn lend_out(
    visit: &Visit<'_>,
    host: &mut LeasedHost,
    loan: Loan,
    lent: &mut LoanResult,
) -> Result<(), Interrupted> {
    if !visit.begin(host).await? {
        return Ok(());
    }
    let slots = &visit.visitor.requester.requests.slots;
    let (mut urls, mut ours) = divide(visit, host).await?;
    let slot = match urls.first() {
        Some(first) => slots.wait_for_slot(host, &first.url).await?.ok(),
        None => None,
    };
    match slot {
        Some(_) => slots.hold_address(&host.lease, urls.len() + 1).await,
        None => ours.work.extend(urls.drain(..).map(|url| url.work)), // our own visit handles what has happened
    }
    let shared = Shared::new(std::mem::take(host));
    let mut visit = LentVisit { visit, host: &shared, urls, ours };
    let mut worked = Ok(());
    if !visit.urls.is_empty() {
        let began = Instant::now();
        let is_done = loan.is_done.clone();
        let ended = visit.await_pages(loan).await;
        (lent.left, lent.took) = (visit.urls.len(), began.elapsed());
        // If something else ended the loan, the worker does not know and may continue until its lease ends.
        let client_is_done = visit.urls.is_empty() || is_done.load(Ordering::Relaxed);
        let mut host = shared.lock().await;
        host.client_is_done = client_is_done;
        if client_is_done {
            slots.hold_address(&host.lease, 1).await; // other hosts of the address need not wait for the rest
        }
        drop(host);
        worked = ended.map(|has_lapsed| (lent.has_lapsed, lent.is_clients_end) = (has_lapsed, true));
    }
    visit.urls.clear();
    drop(slot);
    if worked.is_ok() {
        worked = visit.fetch_ours(&mut lent.agreed).await;
    }
    *host = shared.into_inner();
    worked
}

/// Divides the URLs of the lease. Seine itself fetches retries, URLs put off before, unconfirmed removals, everything
/// that is not a page, and all URLs of a host in trouble. It also keeps URLs that robots.txt forbids, and those whose
/// page another URL owns or is fetching.
async fn divide<'v>(visit: &Visit<'v>, host: &mut LeasedHost) -> Result<(Vec<LentUrl<'v>>, Ours<'v>), Interrupted> {
    let Visitor { services, follower, .. } = visit.visitor;
    let (mut urls, mut ours) = (Vec::new(), Ours::default());
    let delay = host.delay(&services.config.frontier).as_millis().max(1);
    let most = (LOAN_TIME.as_millis() / delay).max(1);
    for work in std::mem::take(&mut host.lease.work) {
        if urls.len() as u128 >= most {
            break; // for the next lease
        }
        let is_first_attempt = work.attempt == 0 && !work.was_put_off && work.known.doubt().is_none();
        let url = Url::parse(&work.url).ok().filter(|url| {
            let is_allowed = host.refusal(url, work.kind, services.config.fetch.obey_robots).is_none();
            host.trouble.is_none() && work.kind == Kind::Page && is_first_attempt && is_allowed
        });
        let Some(url) = url else {
            ours.work.push(work);
            continue;
        };
        let Some(reservation) = UrlReservation::make(services, host, &work).await? else { break };
        let target = follower.reserved_target(&work, &reservation);
        let is_ours_to_give = match &target {
            Some(target) => target.reserve_at_once(&work.url).await?,
            None => true,
        };
        match is_ours_to_give {
            true => urls.push(LentUrl { work, url, reserved: reservation, target }),
            false => ours.work.push(work),
        }
    }
    Ok((urls, ours))
}

/// A visit to a host that is lent.
struct LentVisit<'v> {
    visit: &'v Visit<'v>,
    host: &'v Shared,
    /// Lent, and not come back yet.
    urls: Vec<LentUrl<'v>>,
    ours: Ours<'v>,
}

impl LentVisit<'_> {
    /// Offers the URLs and accepts pages, until all have come back or the host is released. True if the lease of the
    /// worker ended.
    async fn await_pages(&mut self, mut loan: Loan) -> Result<bool, Interrupted> {
        let Visitor { services, requester, .. } = self.visit.visitor;
        let (offer, lease) = {
            let host = self.host.lock().await;
            (self.offer(&host, loan.time), host.lease.clone())
        };
        let mut until = offer.until;
        let of = Lease { work: Vec::new(), ..lease.clone() };
        // Stored before the worker learns of the loan, so that after a crash nobody else requests this host meanwhile.
        ask_frontier(&services.frontier, move |frontier| frontier.lend(&of, until)).await?;
        if loan.offer.send(offer).is_err() {
            loan.is_done.store(true, Ordering::Relaxed); // no worker has received the offer
            return Ok(false);
        }
        let _wait = services.waits.begin();
        let mut has_lapsed = false;
        while !self.urls.is_empty() {
            let over = Duration::from_millis(until.saturating_sub(now_ms()));
            let interrupted = tokio::select! {
                biased;
                () = services.shutdown.finishing() => Some(Interrupted::Stopping),
                () = recalled(services, &lease.host.origin) => Some(Interrupted::Recalled),
                sent = loan.pages.recv() => match sent {
                    Some(sent) => {
                        self.take(sent, &loan.to).await?;
                        // Each request takes time besides the delay, so the hold is extended.
                        requester.requests.slots.hold_address(&lease, self.urls.len() + 1).await;
                        None
                    }
                    None => break,
                },
                renewed = loan.renewed.changed() => match renewed {
                    Ok(()) => {
                        until = until.max(*loan.renewed.borrow_and_update());
                        None
                    }
                    Err(_) => break,
                },
                () = tokio::time::sleep(over) => {
                    has_lapsed = true;
                    break;
                }
            };
            if let Some(interrupted) = interrupted {
                return Err(interrupted);
            }
        }
        self.host.lock().await.visited(now_ms(), &services.config.frontier);
        Ok(has_lapsed)
    }

    fn offer(&self, host: &LeasedHost, time: Duration) -> Offer {
        let Visitor { services, follower, .. } = self.visit.visitor;
        let delay = host.delay(&services.config.frontier);
        let offered = self.urls.iter().map(|LentUrl { work, url, .. }| {
            let is_of_it = work.known.final_url.as_ref().is_none_or(|from| *from == work.url);
            let conditions = is_of_it.then(|| follower.validators_at(Some(host), work, url));
            (work.url.clone(), conditions.unwrap_or_default())
        });
        let time = time.saturating_add(delay.saturating_mul(self.urls.len() as u32));
        Offer {
            origin: host.origin().to_owned(),
            delay,
            until: now_ms() + time.as_millis() as u64,
            urls: offered.collect(),
        }
    }

    /// One page sent by the worker.
    async fn take(&mut self, sent: WorkerPage, by: &Arc<str>) -> Result<(), Interrupted> {
        let Visitor { services, follower, events, .. } = self.visit.visitor;
        let WorkerPage { url, exchange, must_check, is_trusted, answer } = sent;
        let Some(at) = self.urls.iter().position(|lent| lent.work.url == url) else {
            let _ = answer.send(PageReply::NotAccepted);
            return Ok(());
        };
        let lent = self.urls.remove(at);
        // The worker may have disconnected; the page is accepted anyway.
        let reply = |taken| {
            let _ = answer.send(taken);
        };
        if is_not_trusted(&exchange.outcome) {
            let asked_until = trouble::asked_until(&exchange.outcome, exchange.ended_ms, &services.config.frontier);
            if is_trusted {
                self.host.lock().await.rests_until(asked_until);
            }
            self.ours.work.push(lent.work);
            reply(PageReply::Refetch);
        } else if must_check {
            let event = PageEvent { outcome: exchange.outcome, ..follower.blank_event(&lent.work) };
            self.ours.checked.push((lent.work, self.seen(&event)));
            reply(PageReply::Refetch);
        } else if redirect::location(&exchange.outcome).is_some() {
            self.ours.redirected.push((lent, exchange));
            reply(PageReply::Refetch);
        } else {
            let queued = self.judge_worker_page(lent, exchange, by).await?;
            let mut taken = PageReply::NotAccepted;
            if let Some(url) = events.accepted(queued).await {
                self.host.lock().await.fetched.push(url);
                taken = PageReply::Accepted;
            }
            reply(taken);
        }
        Ok(())
    }

    /// Judges a worker's response, follows its redirects, and passes the event to the page log.
    async fn judge_worker_page(
        &self,
        lent: LentUrl<'_>,
        exchange: Exchange,
        by: &Arc<str>,
    ) -> Result<Queued, Interrupted> {
        let Visitor { follower, events, .. } = self.visit.visitor;
        let LentUrl { work, url, reserved: reservation, target } = lent;
        events.wait_for_log().await?;
        let mut fetched = FetchedUrl::new(follower.blank_event(&work), target);
        fetched.event.crawler_id = by.clone();
        follower.follow(&mut fetched, self.host, &work, url, Some(exchange)).await?;
        self.visit.judge_and_queue(fetched, work, Some(reservation)).await
    }

    /// Fetches the URLs for which we do not believe the worker.
    async fn fetch_ours(mut self, agreed: &mut Vec<bool>) -> Result<(), Interrupted> {
        let LentVisit { visit, host, .. } = self;
        let Ours { work, redirected, checked } = std::mem::take(&mut self.ours);
        let by = visit.visitor.services.crawler_id.clone();
        for (lent, exchange) in redirected {
            let queued = self.judge_worker_page(lent, exchange, &by).await?;
            visit.queue(queued);
        }
        for (work, theirs) in checked {
            self.check(work, theirs, agreed).await?;
        }
        for work in work {
            if visit.process_url(host, work).await? == Next::LeaveHost {
                break;
            }
        }
        Ok(())
    }

    /// Fetches a page again that the worker has sent, and uses our copy. If both differ, it fetches once more, because
    /// a page that differs between our own fetches says nothing about the worker.
    async fn check(&self, work: Work, theirs: Option<Sketch>, agreed: &mut Vec<bool>) -> Result<(), Interrupted> {
        let LentVisit { visit, host, .. } = *self;
        let Visitor { services, follower, events, .. } = visit.visitor;
        events.wait_for_log().await?;
        let Some(reservation) = UrlReservation::make(services, &mut *host.lock().await, &work).await? else {
            return Ok(());
        };
        let mut fetched = follower.fetch(host, &work, &reservation).await?;
        if let (Some(theirs), Some(ours)) = (theirs, self.seen(&fetched.event)) {
            let mut verdict = theirs.agrees_with(&ours).then_some(true);
            if verdict.is_none() {
                drop(fetched);
                fetched = follower.fetch(host, &work, &reservation).await?;
                verdict = self.seen(&fetched.event).and_then(|again| theirs.compared_with_two(&ours, &again));
                tracing::debug!(
                    url = work.url,
                    ?theirs,
                    ?ours,
                    ?verdict,
                    "a page of a remote worker differs from \
                    our own fetch"
                );
            }
            agreed.extend(verdict);
        }
        visit.record(fetched, work, Some(reservation)).await
    }

    /// The first response for a URL, for comparison; none for a failure.
    fn seen(&self, event: &PageEvent) -> Option<Sketch> {
        if let Some(hop) = event.hops.first() {
            return Some(Sketch::of_redirect(hop.status, &hop.target));
        }
        let response = event.response()?;
        if let Some(location) = redirect::location(&event.outcome) {
            let target = Url::parse(&event.url).ok().and_then(|url| redirect::target(&url, &location));
            let target = target.map_or(location, |target| target.url.to_string());
            return Some(Sketch::of_redirect(response.status, &target));
        }
        let options = &self.visit.visitor.services.derive;
        let read = || large::derive(event, options, |decoded| seine_parse::facts(event, decoded, options));
        Some(blocking::block_in_place(|| Sketch::of(response, &read())))
    }
}

/// Waits until the operator wants the host back.
async fn recalled(services: &Services, origin: &str) {
    while !services.frontier.is_recalled(origin) {
        tokio::time::sleep(CHECK_EVERY).await;
    }
}
