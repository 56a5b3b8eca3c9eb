//! What the parts of a running crawl share, and how far it is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::clients::Clients;
use super::console::Console;
use super::limits::OrderedLimits;
use super::pauses::Pauses;
use super::room::Room;
use super::spending::Spending;
use super::stall::Stall;
use crate::budgets::{Budget, Period, What, Whom};
use crate::clock::now_ms;
use crate::config::{Config, Loaded, StartedWith};
use crate::frontier::Frontier;
use crate::page::EpochMs;
use crate::page_log::PageLog;
use crate::shutdown::Shutdown;
use crate::sinks::watch::Watch;
use crate::supervisor::Supervisor;
use crate::telemetry::Metrics;
use crate::telemetry::rates::Rates;
use crate::visit::Visitor;

/// One for the whole crawl.
pub(crate) struct Running {
    /// What is in force as it was read last, and where it comes from.
    pub in_force: Mutex<Loaded>,
    pub started_with: StartedWith,
    /// What is known is being brought in line with it.
    pub following: Arc<Mutex<()>>,
    pub folder: PathBuf,
    pub frontier: Arc<dyn Frontier>,
    pub log: PageLog,
    /// With the configuration that is in force.
    pub visitor: RwLock<Arc<Visitor>>,
    pub metrics: Arc<Metrics>,
    pub supervisor: Supervisor,
    /// No new leases once it is finishing; sinks end after their present batch once it is hurrying.
    pub shutdown: Shutdown,
    /// What each sink of this run shows of itself.
    pub watches: BTreeMap<String, Watch>,
    /// What its operator has paused.
    pub pauses: Arc<Pauses>,
    /// Those it has ordered.
    pub limits: Arc<OrderedLimits>,
    /// Held while something is being forgotten.
    pub forgetting: Arc<Mutex<()>>,
    /// Events of the log that were accepted before this process came.
    pub accepted_before: u64,
    pub rates: Rates,
    pub started_ms: EpochMs,
    /// Told when nobody takes the pages any more, as with `| head`.
    pub reader_gone: Notify,
    pub room: Arc<Room>,
    pub spending: Spending,
    pub stall: Stall,
    /// Other crawlers that fetch for this one.
    pub clients: Arc<Clients>,
    /// What was accepted before this start is validated: hosts may be leased.
    pub has_caught_up: AtomicBool,
}

/// The limit of pages is a budget of the crawl that ends it.
pub(super) fn page_limit(pages: u64) -> Budget {
    Budget { of: Whom::Crawl, what: What::Pages, per: Period::Life, most: pages }
}

impl Running {
    /// To be asked anew for every visit: the configuration may be another by then.
    pub fn visitor(&self) -> Arc<Visitor> {
        self.visitor.read().clone()
    }

    pub fn config(&self) -> Arc<Config> {
        self.visitor.read().config.clone()
    }

    /// Of a sink.
    pub fn watch(&self, sink: &str) -> Watch {
        self.watches.get(sink).cloned().unwrap_or_default()
    }

    /// For what its operator asks and orders.
    pub fn console(&self) -> Console {
        Console {
            folder: self.folder.clone(),
            config: self.config(),
            frontier: self.frontier.clone(),
            log: self.log.clone(),
            scope: self.visitor().scope.clone(),
            pauses: self.pauses.clone(),
            limits: self.limits.clone(),
            clients: Some(self.clients.clone()),
            forgetting: self.forgetting.clone(),
            accepted_before: self.accepted_before,
        }
    }

    /// Nothing to fetch for the first time, nothing in flight, everything accepted is validated, no page to look at again.
    pub fn is_done(&self) -> bool {
        // The order matters: what validating brings is in the frontier before it counts as validated.
        self.is_validated() && !self.frontier.has_work(now_ms())
    }

    pub fn is_page_limit_reached(&self) -> bool {
        self.config().frontier.max_pages.is_some_and(|pages| self.frontier.brought().pages >= pages)
    }

    /// So many hosts, and URLs of each, or as many as may still be leased for the crawl's budgets, as if each URL that is leased were
    /// going to be a page.
    pub fn within_budgets(&self, hosts: u64, urls: u64) -> (u64, u64) {
        let in_flight = self.frontier.counts().in_flight;
        let of_crawl = self.frontier.budgets(now_ms()).into_iter().filter(|standing| standing.budget.of == Whom::Crawl);
        let left = of_crawl.filter_map(|standing| match standing.budget.what {
            What::Pages => Some(standing.budget.most.saturating_sub(standing.spent? + in_flight)),
            // How many bytes a page has is known once it is there.
            What::BytesReceived | What::BytesDecoded => (standing.left()? == 0).then_some(0),
        });
        match left.min() {
            Some(left) if left < hosts * urls => (hosts.min(left), 1),
            _ => (hosts, urls),
        }
    }

    /// Nobody is asked, and everything accepted is validated.
    pub fn is_at_rest(&self) -> bool {
        self.frontier.counts().hosts_leased == 0 && self.is_validated()
    }

    /// Whether hosts may be leased at all now, to whomever.
    pub fn may_lease(&self) -> bool {
        let is_open = self.has_caught_up.load(Ordering::Relaxed) && !self.shutdown.is_finishing();
        is_open && self.log.status().room && self.room.lacks().is_none() && !self.pauses.is_crawl_paused()
    }

    pub fn is_validated(&self) -> bool {
        self.frontier.cursor().is_ok_and(|cursor| cursor.index >= self.log.status().end.index)
    }
}
