//! Hosts lent to remote workers. Each loan has a fence: an id that the worker must send with its pages.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use seine_frontier::{EmbeddedFrontier, Fetching, Lease};
use seine_parse::page::EpochMs;
use seine_system::blocking;
use seine_system::clock::now_ms;
use tokio::sync::{mpsc, oneshot, watch};

use super::Clients;
use crate::api::Refusal;
use crate::api::schema::work::{HostLease, Leasing, Prepared, RenewedLease, UrlToFetch};
use crate::fetch::client::Conditions;
use crate::visit::Visitor;
use crate::visit::loan::{Loan, Offer, WorkerPage};

/// Number of pages of one host that may wait for an earlier one.
const WAITING_PAGES: usize = 4;
const NO_LEASE: &str = "this client has no such lease: it has lapsed, was released, or all its pages were sent";

/// A host that a worker has.
pub(super) struct LoanOut {
    pub client: Arc<str>,
    lease: Lease,
    /// None after the loan has ended.
    pages: Option<mpsc::Sender<WorkerPage>>,
    is_done: Arc<AtomicBool>,
    renewed: watch::Sender<EpochMs>,
    pub until: EpochMs,
    pub since_ms: EpochMs,
    since: Instant,
    pub delay: Duration,
    /// URLs that have not come back. The flag tells whether the request was conditional.
    pub urls: HashMap<String, bool>,
    pub given: usize,
    /// Number of such URLs at the start of the loan or its last renewal.
    left_before: usize,
}

impl LoanOut {
    /// Extends the lease by its full length, if a quarter of the remaining URLs came back since the last renewal. So a
    /// slow worker cannot keep a host from faster ones. The new end is on disk before the worker knows it, because
    /// after a restart the host must not be leased to another.
    pub(super) fn renew(&mut self, time: Duration, frontier: &EmbeddedFrontier) -> Result<RenewedLease, Refusal> {
        let came_back = self.left_before.saturating_sub(self.urls.len());
        if came_back == 0 || came_back * 4 < self.left_before {
            let why = "fewer than a quarter of its URLs were sent since the lease began or was renewed, so it cannot be \
                renewed";
            return Err(Refusal::Conflict(why.to_owned()));
        }
        self.left_before = self.urls.len();
        let time = time.saturating_add(self.delay.saturating_mul(self.urls.len() as u32));
        let until = self.until.max(now_ms() + time.as_millis() as u64);
        if !frontier.lend(&self.lease, until)? {
            return Err(Refusal::Conflict(NO_LEASE.to_owned()));
        }
        self.until = until;
        self.renewed.send_replace(self.until);
        Ok(RenewedLease { lasts_ms: self.until.saturating_sub(now_ms()) })
    }

    /// Ends the loan. The worker does not know and may continue until its lease ends, but its pages come too late.
    pub(super) fn end(&mut self) {
        self.pages = None;
        self.until = 0;
    }

    /// The worker released the host.
    pub(super) fn end_by_client(&mut self) {
        self.is_done.store(true, Ordering::Relaxed); // before the visit is told
        self.end();
    }

    /// Whether enough time has passed since the start of the loan for one more page at the prescribed delay.
    pub(super) fn is_in_time(&self) -> bool {
        let visits = (self.given - self.urls.len()) as u32;
        // Tolerates clocks that differ, and delays rounded to milliseconds.
        self.since.elapsed() + Duration::from_millis(50) >= self.delay.saturating_mul(visits).mul_f64(0.95)
    }

    /// Takes back a URL. Returns the channel for its page.
    pub(super) fn give_back(&mut self, url: &str) -> Option<mpsc::Sender<WorkerPage>> {
        self.urls.remove(url)?;
        self.pages.clone()
    }
}

impl Clients {
    /// Lends a leased host to a remote worker. The offer follows when the host's robots.txt is known. Call it on the
    /// runtime.
    pub(crate) fn lend(self: &Arc<Self>, client: Arc<str>, lease: Lease, visitor: &Arc<Visitor>) -> Leasing {
        let fence = format!("{}-{}", self.life, lease.id);
        let (offer, offered) = oneshot::channel();
        let (pages, sent) = mpsc::channel(WAITING_PAGES);
        let (renewals, renewed) = watch::channel(0);
        let is_done = Arc::<AtomicBool>::default();
        let loan = Loan {
            to: client.clone(),
            time: self.config().lease,
            offer,
            pages: sent,
            is_done: is_done.clone(),
            renewed,
        };
        let out = LoanOut {
            client,
            lease: Lease { work: Vec::new(), ..lease.clone() },
            pages: Some(pages),
            is_done,
            renewed: renewals,
            until: 0, // nobody has it yet
            since_ms: now_ms(),
            since: Instant::now(),
            delay: Duration::ZERO,
            urls: HashMap::new(),
            given: 0,
            left_before: 0,
        };
        self.loans.lock().insert(fence.clone(), out);
        let (clients, visitor, at) = (self.clone(), visitor.clone(), fence.clone());
        let visits = self.visits.clone();
        visits.spawn(async move {
            let (lease_at_start, lending) = (lease.clone(), visitor.clone());
            let lent = visitor
                .run_isolated(lease_at_start, async move { lending.lend(lease, loan).await })
                .await
                .unwrap_or_default();
            // This writes to disk.
            let _ = tokio::task::spawn_blocking(move || clients.ended(&at, &lent)).await;
            visitor.services.changed.send_replace(());
        });
        let (given, to_client) = oneshot::channel();
        let clients = self.clone();
        tokio::spawn(async move {
            let Ok(offer) = offered.await else { return };
            // A renewal holds the lock of the loans during its write.
            let (at, to) = (clients.clone(), fence.clone());
            let Some((prepared, told)) = blocking::run_blocking(move || at.give(&to, offer)).await else { return };
            // The worker's request has ended, so the host is released for others.
            if given.send(prepared).is_err() || told.await.is_err() {
                let end = move || clients.loans.lock().get_mut(&fence).into_iter().for_each(LoanOut::end_by_client);
                blocking::run_blocking(end).await;
            }
        });
        to_client
    }

    /// Stores the offer, and returns it in the form for the worker.
    fn give(&self, fence: &str, offer: Offer) -> Option<(Prepared, oneshot::Receiver<()>)> {
        let mut loans = self.loans.lock();
        let loan = loans.get_mut(fence)?;
        let Offer { origin, delay, until, urls } = offer;
        (loan.delay, loan.until, loan.given, loan.since) = (delay, until, urls.len(), Instant::now());
        (loan.since_ms, loan.left_before) = (now_ms(), urls.len());
        let has_any = |conditions: &Conditions| conditions.etag.is_some() || conditions.last_modified.is_some();
        loan.urls = urls.iter().map(|(url, conditions)| (url.clone(), has_any(conditions))).collect();
        let urls = urls.into_iter().map(|(url, Conditions { etag, last_modified, .. })| UrlToFetch {
            url,
            robots: "allowed".to_owned(),
            etag,
            last_modified,
        });
        let lease = HostLease {
            lease: fence.to_owned(),
            origin,
            delay_ms: delay.as_millis() as u64,
            lasts_ms: until.saturating_sub(now_ms()),
            urls: urls.collect(),
        };
        Some(Prepared::new(lease, until))
    }

    /// Number of hosts that a worker has.
    pub(crate) fn count_of(&self, client: &str) -> usize {
        self.loans.lock().values().filter(|loan| *loan.client == *client).count()
    }

    /// Calls `f` with a loan of this worker that has not ended.
    pub(super) fn with_loan<T>(
        &self,
        client: &str,
        fence: &str,
        then: impl FnOnce(&mut LoanOut) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut loans = self.loans.lock();
        let loan = loans.get_mut(fence).filter(|loan| *loan.client == *client && loan.until > now_ms());
        loan.map_or_else(|| Err(Refusal::Conflict(NO_LEASE.to_owned())), then)
    }
}
