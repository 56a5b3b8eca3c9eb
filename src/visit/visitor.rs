//! What every visit needs, and why one may end early.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::faults::{CULPRIT, Culprit};
use super::host::LeasedHost;
use super::outage::Outage;
use super::parking::Parking;
use super::rules::RulesCache;
use super::waits::Waits;
use crate::blocking;
use crate::config::Config;
use crate::fetch::Client;
use crate::frontier::scope::CurrentScope;
use crate::frontier::{Frontier, FrontierError, Lease, Release};
use crate::page::EpochMs;
use crate::page_log::PageLog;
use crate::parse::DeriveOptions;
use crate::shutdown::Shutdown;
use crate::supervisor::panic_message;
use crate::telemetry::Metrics;

/// One for the whole crawl, or as many as configurations it has had since its start: they share all but that, and a visit ends with
/// the one it began with.
#[derive(Clone)]
pub struct Visitor {
    pub frontier: Arc<dyn Frontier>,
    pub log: PageLog,
    pub client: Arc<Client>,
    pub scope: Arc<CurrentScope>,
    pub config: Arc<Config>,
    pub derive: DeriveOptions,
    /// The changes that sinks ask for at least, in bits; none where nobody wants to know how much a page has changed.
    pub thresholds: BTreeSet<u8>,
    pub rules: Arc<RulesCache>,
    pub metrics: Arc<Metrics>,
    /// Marked changed whenever a host was given back or work came in.
    pub changed: watch::Sender<()>,
    pub parking: Arc<Parking>,
    /// Told whenever a claim on a redirect's target is settled.
    pub settled: Arc<Notify>,
    /// Who waits for an answer or a politeness slot.
    pub waits: Arc<Waits>,
    /// Whether this machine can reach anybody.
    pub outage: Arc<Outage>,
    /// No new requests once it is finishing.
    pub shutdown: Shutdown,
    pub crawler_id: Arc<str>,
}

/// Why a request was not made.
pub(super) enum Interrupted {
    /// The host's turn is too far away to wait for: it is then.
    Resting(EpochMs),
    /// Another worker has had the host for too long.
    Taken,
    /// Its operator wants its host left alone, or back: the URL stays as it was.
    Recalled,
    /// This machine cannot reach anybody: neither the URL's doing nor its host's.
    Outage,
    /// The crawl is stopping.
    Stopping,
    /// The page log is full: the host is not kept meanwhile.
    LogFull,
    Frontier(FrontierError),
}

impl From<FrontierError> for Interrupted {
    fn from(error: FrontierError) -> Self {
        Interrupted::Frontier(error)
    }
}

/// The host of a lease, among those who fetch from it at the same time (`connections_per_host`). Whoever has it decides when
/// it is asked next.
pub(super) type Shared = tokio::sync::Mutex<LeasedHost>;

impl Visitor {
    /// Asks the frontier what may have it wait for its disk: nobody waits with us.
    pub(super) async fn ask_frontier<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Frontier) -> T + Send + 'static,
    ) -> T {
        let frontier = self.frontier.clone();
        blocking::aside(move || ask(&*frontier)).await
    }

    /// Gives a host back, and has what the visit found out about it written. Whoever awaits that does so without the host.
    pub(super) fn give_back(&self, host: LeasedHost) -> impl Future<Output = Result<(), FrontierError>> + 'static {
        let (lease, release) = host.release(&self.config.frontier);
        self.frontier.give_back(lease, release);
        let (frontier, changed) = (self.frontier.clone(), self.changed.clone());
        async move {
            let written = blocking::aside(move || frontier.write_visits()).await;
            changed.send_replace(());
            written
        }
    }

    /// The same, where nobody can await it.
    pub(super) fn give_back_beside(&self, lease: Lease, release: Release) {
        self.frontier.give_back(lease, release);
        let (frontier, changed) = (self.frontier.clone(), self.changed.clone());
        blocking::beside(move || {
            if let Err(error) = frontier.write_visits() {
                tracing::error!(%error, "the frontier did not write what a visit found out about its host");
            }
            changed.send_replace(());
        });
    }

    /// A lease from its beginning to its end, as `visit` has it, in a task of its own: a panic costs the URL it was at ([`super::faults`]).
    /// None when it did not come to its end.
    pub async fn outlive<T: Send + 'static>(
        &self,
        spare: Lease,
        visit: impl Future<Output = Result<T, FrontierError>> + Send + 'static,
    ) -> Option<T> {
        let culprit = Culprit::default();
        match tokio::spawn(CULPRIT.scope(culprit.clone(), visit)).await {
            Ok(Ok(ended)) => return Some(ended),
            // Said once where the room is looked at; its URLs are still in work_proposed.
            Ok(Err(error)) if error.is_waiting() => {
                tracing::debug!(host = spare.host.origin, %error, "a visit ended early")
            }
            Ok(Err(error)) => tracing::error!(host = spare.host.origin, %error, "the frontier failed under a worker"),
            Err(error) => {
                let panic = error.try_into_panic().ok();
                let culprit = culprit.lock().take();
                let why = panic.as_deref().map_or("its task was cancelled", |panic| panic_message(panic));
                self.end_panicked(spare, culprit, why).await;
            }
        }
        None
    }
}
