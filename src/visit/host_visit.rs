//! A lease from its start to its end: robots.txt, then its URLs one by one. Each URL ends as an event in the page log,
//! or goes back to the frontier.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use seine_frontier::{FrontierError, Lease, Settled, Work};
use seine_page_log::Ticket;
use seine_parse::page::{Failure, Outcome, Truncated};
use seine_policies::budgets::Amounts;

use super::faults::CurrentUrl;
use super::follow::FetchedUrl;
use super::leased_host::LeasedHost;
use super::url_reservation::UrlReservation;
use super::visitor::{Interrupted, Shared, Visitor};
use crate::judge::{self, admission};

/// A URL whose event is in the log's queue.
pub(super) struct Queued {
    pub url: String,
    pub ticket: Ticket,
    /// None if nothing was reserved, because nothing was requested.
    pub settled: Option<Settled>,
}

/// The next step of a worker after a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It takes the next URL.
    Continue,
    /// The host must be left alone now: it has failed, or it may not be requested.
    LeaveHost,
}

/// One visit to a leased host.
pub(super) struct Visit<'v> {
    pub visitor: &'v Visitor,
    /// URLs whose events are being written.
    queued: Mutex<Vec<Queued>>,
}

impl<'v> Visit<'v> {
    pub(super) fn new(visitor: &'v Visitor) -> Visit<'v> {
        Visit { visitor, queued: Mutex::default() }
    }

    /// Works on the lease and releases the host.
    pub(super) async fn run(self, lease: Lease) -> Result<(), FrontierError> {
        let mut host = LeasedHost::new(lease);
        let worked = self.run_lanes(&mut host).await;
        self.end(host, worked).await
    }

    /// The end of a visit: waits for events that are being written, and releases the host.
    pub(super) async fn end(self, mut host: LeasedHost, worked: Result<(), Interrupted>) -> Result<(), FrontierError> {
        for queued in self.queued.into_inner() {
            host.fetched.extend(self.visitor.events.accepted(queued).await);
        }
        self.visitor.requester.hosts.release(host).await?;
        match worked {
            Err(Interrupted::Frontier(error)) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn run_lanes(&self, host: &mut LeasedHost) -> Result<(), Interrupted> {
        if !self.begin(host).await? {
            return Ok(());
        }
        let rest = Mutex::new(VecDeque::from(std::mem::take(&mut host.lease.work)));
        let shared = Shared::new(std::mem::take(host));
        let lane = |_| self.run_lane(&shared, &rest);
        let mut lanes: FuturesUnordered<_> =
            (0..self.visitor.services.config.fetch.connections_per_host).map(lane).collect();
        let mut worked = Ok(());
        while let Some(ended) = lanes.next().await {
            worked = worked.and(ended); // wait for all lanes, and keep the first error
        }
        drop(lanes);
        *host = shared.into_inner();
        worked
    }

    /// Prepares the host before its first URL. False if nothing may be fetched.
    pub(super) async fn begin(&self, host: &mut LeasedHost) -> Result<bool, Interrupted> {
        self.fail_out_of_scope(host).await?;
        if host.lease.work.is_empty() {
            return Ok(false);
        }
        if self.failure_if_given_up(host).is_none() {
            let first = host.lease.work.first().cloned();
            if let Some(work) = first
                && UrlReservation::make(&self.visitor.services, host, &work).await?.is_none()
            {
                return Ok(false);
            }
            match self.visitor.requester.robots.learn_rules(host).await {
                Err(Interrupted::Resting(_)) if self.failure_if_given_up(host).is_some() => {}
                learned => learned?,
            }
        }
        match host.has_new_delay(&self.visitor.services.config.frontier) || host.rests_after_robots() {
            true => Err(Interrupted::Resting(host.not_before)),
            false => Ok(true),
        }
    }

    /// URLs that the configuration no longer admits fail without a request, even for robots.txt.
    async fn fail_out_of_scope(&self, host: &mut LeasedHost) -> Result<(), Interrupted> {
        let (scope, config) = (self.visitor.services.scope.now(), &self.visitor.services.config.frontier);
        for work in std::mem::take(&mut host.lease.work) {
            let Some(failure) = admission::refusal(&work, &scope, config) else {
                host.lease.work.push(work);
                continue;
            };
            self.visitor.events.wait_for_log().await?;
            let fetched = self.visitor.follower.not_requested(failure, &work);
            self.record(fetched, work, None).await?;
        }
        Ok(())
    }

    /// Takes the next URL from the shared queue until it is empty. If the host must be left alone, or after an error,
    /// this empties the queue, so the other lanes end too.
    async fn run_lane(&self, host: &Shared, rest: &Mutex<VecDeque<Work>>) -> Result<(), Interrupted> {
        loop {
            let Some(work) = rest.lock().pop_front() else { return Ok(()) };
            let worked = self.process_url(host, work).await;
            if !matches!(worked, Ok(Next::Continue)) {
                rest.lock().clear();
                return worked.map(|_| ());
            }
        }
    }

    /// One URL, from its fetch to the page log.
    pub(super) async fn process_url(&self, host: &Shared, work: Work) -> Result<Next, Interrupted> {
        self.visitor.events.wait_for_log().await?;
        let _at = CurrentUrl::new(&work.url);
        let given_up = self.failure_if_given_up(&*host.lock().await);
        let mut reservation = None;
        let fetched = match given_up {
            Some(failure) => self.visitor.follower.not_requested(failure, &work),
            None => {
                let Some(reserved) =
                    UrlReservation::make(&self.visitor.services, &mut *host.lock().await, &work).await?
                else {
                    return Ok(Next::LeaveHost);
                };
                let fetched = self.visitor.follower.fetch(host, &work, &reserved).await?;
                reservation = Some(reserved);
                fetched
            }
        };
        self.record(fetched, work, reservation).await?;
        let host = host.lock().await;
        match host.was_charged && self.failure_if_given_up(&host).is_none() {
            true => Ok(Next::LeaveHost),
            false => Ok(Next::Continue),
        }
    }

    /// Judges the fetch and passes its event to the page log. The end of the visit waits until it is written.
    pub(super) async fn record(
        &self,
        fetched: FetchedUrl<'_>,
        work: Work,
        reserved: Option<UrlReservation>,
    ) -> Result<(), Interrupted> {
        self.queue(self.judge_and_queue(fetched, work, reserved).await?);
        Ok(())
    }

    pub(super) fn queue(&self, queued: Queued) {
        self.queued.lock().push(queued);
    }

    /// Judges the fetch and passes its event to the page log.
    pub(super) async fn judge_and_queue(
        &self,
        FetchedUrl { mut event, context, room, decoded, target }: FetchedUrl<'_>,
        work: Work,
        reserved: Option<UrlReservation>,
    ) -> Result<Queued, Interrupted> {
        let _at = CurrentUrl::new(&work.url);
        let (reading, derived) = self.visitor.body_reader.read(&event, decoded, &work).await;
        if let (Outcome::Response(response), true) = (&mut event.outcome, reading.is_cut) {
            response.truncated.get_or_insert(Truncated::Disconnect);
        }
        let fetched = judge::Fetched { event: &event, reading: &reading, context: &context };
        let verdict = self.visitor.body_reader.judge(&fetched, target.as_ref(), &work).await?;
        if verdict.drops_reservations {
            reserved.iter().for_each(UrlReservation::give_up_slots);
        }
        let has_page = verdict.has_page();
        let event = verdict.written(event);
        if let Some(reservation) = &reserved {
            reservation.set_amounts(Amounts::of(&event, reading.decoded));
        }
        let ticket = self.visitor.events.append(event, derived).await.map_err(|error| {
            tracing::debug!(url = work.url, %error, "the event was not accepted; the URL stays queued");
            Interrupted::Stopping
        })?;
        drop(room); // the log has counted it since it was queued
        let settled = reserved.map(|reservation| reservation.settle(has_page));
        Ok(Queued { url: work.url, ticket, settled })
    }

    /// The failure of all URLs of a host that is given up. They fail without a request, lease by lease.
    fn failure_if_given_up(&self, host: &LeasedHost) -> Option<Failure> {
        if host.is_given_up() { host.given_up_failure(&self.visitor.services.config.frontier) } else { None }
    }
}
