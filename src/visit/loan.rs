//! What a visit whose URLs somebody else asks for ([`super::lent`]) and whoever speaks with that client tell each other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::fetch::client::{Conditions, Exchange};
use crate::page::EpochMs;

/// A host is lent for about so much work, its delay counted in.
pub(crate) const LOAN_TIME: Duration = Duration::from_secs(30);

/// A loan, as far as the visit has to do with it.
pub(crate) struct Loan {
    /// Whose crawler it is: the crawler id of its pages.
    pub to: Arc<str>,
    /// A client has so long, and as long again whenever it renews, the delays between visits not counted.
    pub time: Duration,
    pub offer: oneshot::Sender<Offer>,
    /// Closed: the loan is over.
    pub pages: mpsc::Receiver<Sent>,
    /// The client has given it back, or was never told of it.
    pub is_done: Arc<AtomicBool>,
    /// Until when the client has it now; 0 until it renews for the first time. On disk before it is here ([`Frontier::lend`]).
    ///
    /// [`Frontier::lend`]: crate::frontier::Frontier::lend
    pub renewed: watch::Receiver<EpochMs>,
}

/// What a client may ask a host for: one URL after the other, with the delay between the end of a visit and the start of the next.
#[derive(Debug)]
pub(crate) struct Offer {
    pub origin: String,
    pub delay: Duration,
    pub until: EpochMs,
    pub urls: Vec<(String, Conditions)>,
}

/// What a client says that a URL of its loan has brought.
pub(crate) struct Sent {
    pub url: String,
    pub exchange: Exchange,
    /// It is to be asked for again by ourselves.
    pub is_checked: bool,
    /// The client is proven: what it says that its host asks for is heeded.
    pub is_believed: bool,
    pub answer: oneshot::Sender<Taken>,
}

/// What becomes of a page that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is in the page log, durably.
    Accepted,
    /// We ask ourselves, or follow where it leads.
    Held,
    /// Not now, or not any more: the URL is still to be fetched.
    Left,
}

/// How a loan went.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    /// Of those that were offered, the URLs that nothing came back for.
    pub left: usize,
    /// From the offer until the client was done with the host.
    pub took: Duration,
    /// Its time was over with URLs left: that is the client's doing, whatever else ended it is not.
    pub has_lapsed: bool,
    /// The client ended it, by giving it back or by letting its time pass; not the server.
    pub is_clients_end: bool,
    /// Of the pages that were checked and could be compared: whether they agreed with what we saw.
    pub agreed: Vec<bool>,
}
