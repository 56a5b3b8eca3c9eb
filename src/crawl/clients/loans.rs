//! Hosts that clients have: leased, renewed, released, each known by its fence.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};

use super::Clients;
use crate::api::Refusal;
use crate::api::said::work::{HostLease, Leasing, Prepared, Renewed, UrlToFetch};
use crate::blocking;
use crate::clock::now_ms;
use crate::fetch::client::Conditions;
use crate::frontier::{Frontier, Lease};
use crate::page::EpochMs;
use crate::visit::Visitor;
use crate::visit::loan::{Loan, Offer, Sent};

/// Pages of one host that wait for the one before.
const WAITING_PAGES: usize = 4;
const NO_LEASE: &str = "no lease of this client: it has lapsed, was released, or all of it has come back";

/// A host that a client has.
pub(super) struct LoanOut {
    pub client: Arc<str>,
    lease: Lease,
    /// None once it is over.
    pages: Option<mpsc::Sender<Sent>>,
    is_done: Arc<AtomicBool>,
    renewed: watch::Sender<EpochMs>,
    pub until: EpochMs,
    pub since_ms: EpochMs,
    since: Instant,
    pub delay: Duration,
    /// URLs that are still to come back, and whether each was given with conditions.
    pub urls: HashMap<String, bool>,
    pub given: usize,
    /// URLs that were still to come back when it was leased, or renewed last.
    left_before: usize,
}

impl LoanOut {
    /// As long again as at first, if a quarter of what was left came back since: who brings a page now and then must not keep a host
    /// from those who fetch it quickly.
    /// It is on disk before the client knows: a restart must not visit the host beside it.
    pub fn renew(&mut self, time: Duration, frontier: &dyn Frontier) -> Result<Renewed, Refusal> {
        let came_back = self.left_before.saturating_sub(self.urls.len());
        if came_back == 0 || came_back * 4 < self.left_before {
            let why =
                "less than a quarter of its URLs has come back since it was leased or renewed: it lapses at its time";
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
        Ok(Renewed { lasts_ms: self.until.saturating_sub(now_ms()) })
    }

    /// Whoever is about to send more is late. The client does not know, and may go on until its time is over.
    pub fn end(&mut self) {
        self.pages = None;
        self.until = 0;
    }

    /// The client will not go on.
    pub fn end_by_client(&mut self) {
        self.is_done.store(true, Ordering::Relaxed); // before the visit is told
        self.end();
    }

    /// Whether one more page at this moment has taken the time that the delays between the visits before it take.
    pub fn is_in_time(&self) -> bool {
        let visits = (self.given - self.urls.len()) as u32;
        // Clocks that tick differently, and delays cut to milliseconds.
        self.since.elapsed() + Duration::from_millis(50) >= self.delay.saturating_mul(visits).mul_f64(0.95)
    }

    /// A URL of it has come back: where its page goes.
    pub fn give_back(&mut self, url: &str) -> Option<mpsc::Sender<Sent>> {
        self.urls.remove(url)?;
        self.pages.clone()
    }
}

impl Clients {
    /// Lends a leased host to a client. It is offered as soon as its robots.txt is known. To be called on the runtime.
    pub fn lend(self: &Arc<Self>, client: Arc<str>, lease: Lease, visitor: &Arc<Visitor>) -> Leasing {
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
            let (spare, lending) = (lease.clone(), visitor.clone());
            let lent = visitor.outlive(spare, async move { lending.lend(lease, loan).await }).await.unwrap_or_default();
            // It writes to the disk.
            let _ = tokio::task::spawn_blocking(move || clients.ended(&at, &lent)).await;
            visitor.changed.send_replace(());
        });
        let (given, to_client) = oneshot::channel();
        let clients = self.clone();
        tokio::spawn(async move {
            let Ok(offer) = offered.await else { return };
            // Whoever renews a lease has the loans' lock while it is written.
            let (at, to) = (clients.clone(), fence.clone());
            let Some((prepared, told)) = blocking::aside(move || at.give(&to, offer)).await else { return };
            // Nobody waits for it any more: others are to have it.
            if given.send(prepared).is_err() || told.await.is_err() {
                let end = move || clients.loans.lock().get_mut(&fence).into_iter().for_each(LoanOut::end_by_client);
                blocking::aside(end).await;
            }
        });
        to_client
    }

    /// Notes what is offered, in the form it is told.
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

    /// Hosts that a client has.
    pub fn count_of(&self, client: &str) -> usize {
        self.loans.lock().values().filter(|loan| *loan.client == *client).count()
    }

    /// A lease that is this client's, and not late.
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
