//! The parts that every visit needs, and the reasons why a visit may end early.

use std::sync::Arc;

use seine_frontier::scope::CurrentScope;
use seine_frontier::{Fetching, FrontierError, Lease};
use seine_page_log::PageLog;
use seine_parse::DeriveOptions;
use seine_parse::page::EpochMs;
use seine_system::blocking;
use tokio::sync::{Notify, watch};

use super::body_reader::BodyReader;
use super::control_answers::ControlAnswers;
use super::event_writer::EventWriter;
use super::faults;
use super::follow::Follower;
use super::host_visit::Visit;
use super::leased_host::LeasedHost;
use super::lent;
use super::loan::{Loan, LoanResult};
use super::other_hosts::BusyHosts;
use super::outage::OutageDetector;
use super::parking::Parking;
use super::requester::Requester;
use super::rules_cache::RulesCache;
use super::waits::Waits;
use crate::config::Config;
use crate::fetch::Client;
use crate::shutdown::Shutdown;
use crate::telemetry::Metrics;

/// The services that visits share with each other and with the rest of the crawl.
#[derive(Clone)]
pub struct Services {
    pub frontier: Arc<dyn Fetching>,
    pub log: PageLog,
    pub client: Arc<Client>,
    pub scope: Arc<CurrentScope>,
    pub config: Arc<Config>,
    pub derive: DeriveOptions,
    pub rules: Arc<RulesCache>,
    pub metrics: Arc<Metrics>,
    /// Changes whenever a host is released or URLs are queued.
    pub changed: watch::Sender<()>,
    pub parking: Arc<Parking>,
    /// Notified when a reservation of a redirect target is settled.
    pub settled: Arc<Notify>,
    /// Visits that wait for a response or a politeness slot.
    pub waits: Arc<Waits>,
    /// Hosts from which others fetch their robots.txt.
    pub busy_hosts: Arc<BusyHosts>,
    /// Outages of this machine.
    pub outage: Arc<OutageDetector>,
    /// Hosts that answered lately for a known page.
    pub control_answers: Arc<ControlAnswers>,
    /// No new requests while it is finishing.
    pub shutdown: Shutdown,
    pub crawler_id: Arc<str>,
}

/// The services and parts that all visits under one configuration share. A reload makes another visitor
/// ([`Visitor::with`]). Visits in progress keep theirs. Each part has only the services that it needs.
pub struct Visitor {
    pub services: Services,
    /// Sends requests: leases of hosts, robots.txt, politeness slots, requests.
    pub(super) requester: Arc<Requester>,
    /// Fetches URLs and follows their redirects.
    pub(super) follower: Follower,
    /// Writes events to the page log.
    pub(super) events: EventWriter,
    /// Reads and judges what was fetched.
    pub(super) body_reader: BodyReader,
}

/// Why a request was not sent.
pub(super) enum Interrupted {
    /// The host is due only at this time, too late to wait.
    Resting(EpochMs),
    /// Another worker has had the host for too long.
    HostLeased,
    /// The operator wants the host back; the URL is unchanged.
    Recalled,
    /// An outage of this machine; neither the URL nor the host is charged.
    Outage,
    /// The crawl is stopping.
    Stopping,
    /// The page log is full; the host is released meanwhile.
    LogFull,
    Frontier(FrontierError),
}

impl From<FrontierError> for Interrupted {
    fn from(error: FrontierError) -> Self {
        Interrupted::Frontier(error)
    }
}

/// A leased host, shared by requests at the same time (`connections_per_host`). The request that has the lock decides
/// when the next one starts.
pub(super) type Shared = tokio::sync::Mutex<LeasedHost>;

/// Calls the frontier on another thread, because the call may wait for the disk.
pub(super) async fn ask_frontier<T: Send + 'static>(
    frontier: &Arc<dyn Fetching>,
    ask: impl FnOnce(&dyn Fetching) -> T + Send + 'static,
) -> T {
    let frontier = frontier.clone();
    blocking::run_blocking(move || ask(&*frontier)).await
}

impl Visitor {
    pub fn new(services: Services) -> Visitor {
        let requester = Arc::new(Requester::new(&services));
        let follower = Follower { services: services.clone(), requester: requester.clone() };
        let (events, body_reader) = (EventWriter::new(&services), BodyReader::new(&services));
        Visitor { services, requester, follower, events, body_reader }
    }

    /// The same with another configuration.
    #[must_use]
    pub fn with(&self, config: Config) -> Visitor {
        Visitor::new(Services { config: Arc::new(config), ..self.services.clone() })
    }

    /// Works on a lease and releases the host. An error comes from the frontier; the host is released anyway.
    pub async fn visit(&self, lease: Lease) -> Result<(), FrontierError> {
        Visit::new(self).run(lease).await
    }

    /// Lends a leased host to a remote worker, fetches the rest itself, and releases the host. Errors as in
    /// [`Visitor::visit`].
    pub(crate) async fn lend(&self, lease: Lease, loan: Loan) -> Result<LoanResult, FrontierError> {
        lent::lend(Visit::new(self), lease, loan).await
    }

    /// Runs a visit in a task of its own, so that a panic costs one URL. None if it failed. `lease_at_start`: a copy of
    /// its lease, to release the host after a panic.
    pub async fn run_isolated<T: Send + 'static>(
        &self,
        lease_at_start: Lease,
        visit: impl Future<Output = Result<T, FrontierError>> + Send + 'static,
    ) -> Option<T> {
        faults::run_isolated(self, lease_at_start, visit).await
    }
}
