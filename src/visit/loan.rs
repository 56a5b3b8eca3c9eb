//! Messages between a visit that lends its host ([`super::lent`]) and the code that talks to the remote worker.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use seine_parse::page::EpochMs;
use tokio::sync::{mpsc, oneshot, watch};

use crate::fetch::client::{Conditions, Exchange};

/// A host is lent with about this much work, including delays.
pub(crate) const LOAN_TIME: Duration = Duration::from_secs(30);

/// A loan, as the visit needs it.
pub(crate) struct Loan {
    /// Name of the remote worker, which becomes the crawler id of its pages.
    pub to: Arc<str>,
    /// Length of the lease, and of each renewal, without the delays between requests.
    pub time: Duration,
    pub offer: oneshot::Sender<Offer>,
    /// Closed when the loan has ended.
    pub pages: mpsc::Receiver<WorkerPage>,
    /// The worker has released the host, or never knew of the loan.
    pub is_done: Arc<AtomicBool>,
    /// The end of the worker's lease; 0 until its first renewal. It is on disk before it is set here
    /// ([`Fetching::lend`]).
    ///
    /// [`Fetching::lend`]: seine_frontier::Fetching::lend
    pub renewed: watch::Receiver<EpochMs>,
}

/// The URLs of a host that a worker may fetch: one after the other, with the delay between the end of a request and the
/// start of the next.
#[derive(Debug)]
pub(crate) struct Offer {
    pub origin: String,
    pub delay: Duration,
    pub until: EpochMs,
    pub urls: Vec<(String, Conditions)>,
}

/// A worker's response for a URL of its loan.
pub(crate) struct WorkerPage {
    pub url: String,
    pub exchange: Exchange,
    /// Seine must fetch it too, and compare both.
    pub must_check: bool,
    /// The worker is trusted: pauses that it reports for its host are obeyed.
    pub is_trusted: bool,
    pub answer: oneshot::Sender<PageReply>,
}

/// The result for a page that a worker sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageReply {
    /// It is in the page log, durably.
    Accepted,
    /// We fetch it ourselves, or follow its redirect.
    Refetch,
    /// The URL is still queued.
    NotAccepted,
}

/// The result of a loan.
#[derive(Debug, Default)]
pub(crate) struct LoanResult {
    /// Number of offered URLs that did not come back.
    pub left: usize,
    /// Time from the offer until the worker was done with the host.
    pub took: Duration,
    /// The worker's lease ended with URLs left. This is the worker's fault; other ends are not.
    pub has_lapsed: bool,
    /// The worker ended the loan by releasing it or by letting its lease end.
    pub is_clients_end: bool,
    /// For each page that could be compared: whether it agreed with our own fetch.
    pub agreed: Vec<bool>,
}
