//! The operator's questions and orders, the same for a running and a stopped crawl. Each part has what it needs to answer.

mod deliveries;
mod forget;
mod history;
mod host_orders;
mod hosts;
mod locations;
mod order_log;
mod orders;
mod preferences;
mod retry;
mod seeds;
mod sink_orders;
mod status;
mod why;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use seine_frontier::EmbeddedFrontier;
use seine_frontier::scope::CurrentScope;
use seine_page_log::PageLog;

use self::deliveries::Deliveries;
use self::forget::Forgetting;
use self::host_orders::HostOrders;
use self::hosts::HostList;
use self::order_log::OrderLog;
use self::orders::Orders;
use self::seeds::Seeds;
use self::sink_orders::SinkOrders;
use self::status::CrawlStatus;
use self::why::Explainer;
use super::clients::Clients;
use super::limits::OrderedLimits;
use super::pauses::Pauses;
use super::refill::OrderCount;
use crate::backup::{SendError, send};
use crate::config::Config;

pub(crate) use retry::reasons;
pub(crate) use status::LiveStatus;
pub(crate) use why::no_url;

/// The data of a crawl, running or stopped.
pub(crate) struct Parts {
    pub folder: PathBuf,
    /// Of this run, or of the last one.
    pub config: Arc<Config>,
    pub frontier: Arc<EmbeddedFrontier>,
    pub log: PageLog,
    pub scope: Arc<CurrentScope>,
    pub pauses: Arc<Pauses>,
    pub limits: Arc<OrderedLimits>,
    pub refills: Arc<OrderCount>,
    /// Remote workers; none for a stopped crawl.
    pub clients: Option<Arc<Clients>>,
    /// Locked while something is being forgotten.
    pub forgetting: Arc<Mutex<()>>,
    /// Number of events accepted before this process started.
    pub accepted_before: u64,
}

/// Cheap to create for a running crawl.
pub(crate) struct Console {
    pub status: CrawlStatus,
    pub hosts: HostList,
    pub urls: Explainer,
    pub seeds: Seeds,
    pub orders: Orders,
    pub order_log: OrderLog,
    pub forgetting: Forgetting,
    pub backups: Backups,
}

impl Console {
    pub(crate) fn new(parts: Parts) -> Console {
        let Parts {
            folder,
            config,
            frontier,
            log,
            scope,
            pauses,
            limits,
            refills,
            clients,
            forgetting,
            accepted_before,
        } = parts;
        let order_log = OrderLog::of(&folder);
        let hosts = HostList { frontier: frontier.clone(), config: config.clone() };
        let forgetting = Forgetting {
            frontier: frontier.clone(),
            hosts: hosts.clone(),
            log: order_log.clone(),
            one_at_a_time: forgetting,
            accepted_before,
        };
        let orders = Orders {
            config: config.clone(),
            frontier: frontier.clone(),
            pauses: pauses.clone(),
            limits: limits.clone(),
            clients,
            hosts: HostOrders {
                frontier: frontier.clone(),
                hosts: hosts.clone(),
                most_pages: config.frontier.max_pages_per_host,
            },
            sinks: SinkOrders {
                folder: folder.clone(),
                config: config.clone(),
                frontier: frontier.clone(),
                log: log.clone(),
                pauses: pauses.clone(),
                refills,
            },
            forgetting: forgetting.clone(),
            log: order_log.clone(),
        };
        let urls = Explainer {
            config: config.clone(),
            frontier: frontier.clone(),
            scope: scope.clone(),
            pauses: pauses.clone(),
            hosts: hosts.clone(),
            deliveries: Deliveries { folder: folder.clone(), config: config.clone(), log: log.clone() },
            log: order_log.clone(),
        };
        let seeds = Seeds { config: config.clone(), frontier: frontier.clone(), scope, log: order_log.clone() };
        let backups = Backups { folder: folder.clone(), frontier: frontier.clone(), log: log.clone() };
        let status = CrawlStatus { folder, config, frontier, log, pauses, limits };
        Console { status, hosts, urls, seeds, orders, order_log, forgetting, backups }
    }
}

pub(crate) struct Backups {
    folder: PathBuf,
    frontier: Arc<EmbeddedFrontier>,
    log: PageLog,
}

impl Backups {
    /// Writes a backup of the crawl. Errors are also written into the output.
    pub(crate) fn write(&self, out: &mut dyn Write, by: &str) -> Result<(), SendError> {
        tracing::info!(by, "a backup is being taken");
        let sent = send(&self.folder, &self.frontier, &self.log, out);
        match &sent {
            Ok(()) => tracing::info!(by, "the backup has everything"),
            Err(error) => tracing::warn!(by, %error, "no backup was taken"),
        }
        sent
    }
}
