//! State shared by the parts of a running crawl.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, RwLock};
use seine_frontier::{DiskState, EmbeddedFrontier, LeaseLimits, Verdicts};
use seine_page_log::PageLog;
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Budget, BudgetScope, Period, What};
use seine_system::clock::now_ms;
use tokio::sync::Notify;

use super::clients::Clients;
use super::console::{Console, Parts};
use super::disk_space::DiskSpace;
use super::limits::OrderedLimits;
use super::pauses::Pauses;
use super::refill::OrderCount;
use super::spending::Spending;
use super::stall::Stall;
use crate::config::{Config, Loaded, StartedWith};
use crate::shutdown::Shutdown;
use crate::sinks::watch::Watch;
use crate::supervisor::Supervisor;
use crate::telemetry::Metrics;
use crate::telemetry::rates::Rates;
use crate::visit::Visitor;

/// One for the whole crawl.
pub(crate) struct Running {
    /// The configuration in force, with its sources.
    pub in_force: Mutex<Loaded>,
    pub started_with: StartedWith,
    /// Locked while known URLs are re-evaluated.
    pub following: Arc<Mutex<()>>,
    pub folder: PathBuf,
    pub frontier: Arc<EmbeddedFrontier>,
    pub log: PageLog,
    /// Uses the configuration in force.
    pub visitor: RwLock<Arc<Visitor>>,
    pub metrics: Arc<Metrics>,
    pub supervisor: Supervisor,
    /// While it is finishing, no host is leased. While it is hurrying, each sink ends after its present batch.
    pub shutdown: Shutdown,
    /// The watch of each sink of this run.
    pub watches: BTreeMap<String, Watch>,
    /// Pauses set by the operator.
    pub pauses: Arc<Pauses>,
    /// Limits set by the operator.
    pub limits: Arc<OrderedLimits>,
    /// Orders to refill a sink.
    pub refills: Arc<OrderCount>,
    /// Locked while something is being forgotten.
    pub forgetting: Arc<Mutex<()>>,
    /// Number of events accepted before this process started.
    pub accepted_before: u64,
    pub rates: Rates,
    pub started_ms: EpochMs,
    /// Notified when standard output is closed, as with `| head`.
    pub reader_gone: Notify,
    pub room: Arc<DiskSpace>,
    pub spending: Spending,
    pub stall: Stall,
    /// Remote workers.
    pub clients: Arc<Clients>,
    /// All events of earlier runs are validated, so hosts may be leased.
    pub has_caught_up: AtomicBool,
}

/// The page limit is a budget of the crawl.
pub(super) fn page_limit(pages: u64) -> Budget {
    Budget { of: BudgetScope::Crawl, what: What::Pages, per: Period::Life, most: pages }
}

impl Running {
    /// Get it for every visit, because a reload replaces it.
    pub(super) fn visitor(&self) -> Arc<Visitor> {
        self.visitor.read().clone()
    }

    pub(super) fn config(&self) -> Arc<Config> {
        self.visitor.read().services.config.clone()
    }

    /// The watch of a sink.
    pub(super) fn watch(&self, sink: &str) -> Watch {
        self.watches.get(sink).cloned().unwrap_or_default()
    }

    /// For questions and orders of the operator.
    pub(super) fn console(&self) -> Console {
        Console::new(Parts {
            folder: self.folder.clone(),
            config: self.config(),
            frontier: self.frontier.clone(),
            log: self.log.clone(),
            scope: self.visitor().services.scope.clone(),
            pauses: self.pauses.clone(),
            limits: self.limits.clone(),
            refills: self.refills.clone(),
            clients: Some(self.clients.clone()),
            forgetting: self.forgetting.clone(),
            accepted_before: self.accepted_before,
        })
    }

    /// Nothing is queued, nothing is in flight, everything is validated, and no recheck is due.
    pub(super) fn is_done(&self) -> bool {
        // The order matters: results of validation are in the frontier before the event counts as validated.
        self.is_validated() && !self.frontier.has_work(now_ms())
    }

    pub(super) fn is_page_limit_reached(&self) -> bool {
        self.config().frontier.max_pages.is_some_and(|pages| self.frontier.fetched_amounts().pages >= pages)
    }

    /// Lowers the numbers of hosts and URLs to what the budgets of the crawl allow, as if each leased URL became a page.
    pub(super) fn within_budgets(&self, limits: LeaseLimits) -> LeaseLimits {
        let in_flight = self.frontier.counts().in_flight;
        let of_crawl =
            self.frontier.budgets(now_ms()).into_iter().filter(|standing| standing.budget.of == BudgetScope::Crawl);
        let left = of_crawl.filter_map(|standing| match standing.budget.what {
            What::Pages => Some(standing.budget.most.saturating_sub(standing.spent? + in_flight)),
            // The number of bytes of a page is known only after its fetch.
            What::BytesReceived | What::BytesDecoded => (standing.left()? == 0).then_some(0),
        });
        match left.min() {
            Some(left) if left < (limits.hosts * limits.urls) as u64 => {
                LeaseLimits { hosts: limits.hosts.min(usize::try_from(left).unwrap_or(usize::MAX)), urls: 1, ..limits }
            }
            _ => limits,
        }
    }

    /// The frontier works, or why the process should be restarted.
    pub(super) fn alive(&self) -> Result<(), String> {
        match self.frontier.disk_state() {
            DiskState::Failed(why) => Err(why),
            DiskState::Well | DiskState::Full(_) => Ok(()),
        }
    }

    /// No host is leased, and everything accepted is validated.
    pub(super) fn is_stopped(&self) -> bool {
        self.frontier.counts().hosts_leased == 0 && self.is_validated()
    }

    /// Whether hosts may be leased now.
    pub(super) fn may_lease(&self) -> bool {
        let is_open = self.has_caught_up.load(Ordering::Relaxed) && !self.shutdown.is_finishing();
        is_open && self.log.status().room && self.room.lacks().is_none() && !self.pauses.is_crawl_paused()
    }

    pub(super) fn is_validated(&self) -> bool {
        self.frontier.cursor().is_ok_and(|cursor| cursor.index >= self.log.status().end.index)
    }
}
