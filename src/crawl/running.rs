//! What the parts of a running crawl share, and how far it is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;

use super::room::Room;
use crate::clock::now_ms;
use crate::config::Config;
use crate::frontier::Frontier;
use crate::page_log::PageLog;
use crate::shutdown::Shutdown;
use crate::sinks::watch::Watch;
use crate::supervisor::Supervisor;
use crate::telemetry::Metrics;
use crate::visit::Visitor;

/// One for the whole crawl.
pub(crate) struct Running {
    pub config: Arc<Config>,
    pub folder: PathBuf,
    pub frontier: Arc<dyn Frontier>,
    pub log: PageLog,
    pub visitor: Arc<Visitor>,
    pub metrics: Arc<Metrics>,
    pub supervisor: Supervisor,
    /// No new leases once it is finishing; sinks end after their present batch once it is hurrying.
    pub shutdown: Shutdown,
    /// What each sink of this run shows of itself.
    pub watches: BTreeMap<String, Watch>,
    /// Told when nobody takes the pages any more, as with `| head`.
    pub reader_gone: Notify,
    pub room: Arc<Room>,
}

impl Running {
    /// Nothing to fetch for the first time, nothing in flight, everything accepted is validated, no page to look at again.
    pub fn is_done(&self) -> bool {
        // The order matters: what validating brings is in the frontier before it counts as validated.
        self.is_validated() && !self.frontier.has_work(now_ms())
    }

    pub fn is_page_limit_reached(&self) -> bool {
        // What is in flight does not count: it may bring no page.
        self.config.frontier.max_pages.is_some_and(|pages| self.frontier.counts().live >= pages)
    }

    /// Pages to go until `max_pages`, those in flight counted as if they were there.
    pub fn pages_left(&self) -> Option<u64> {
        let counts = self.frontier.counts();
        self.config.frontier.max_pages.map(|pages| pages.saturating_sub(counts.live + counts.in_flight))
    }

    pub fn is_validated(&self) -> bool {
        self.frontier.cursor().is_ok_and(|cursor| cursor.index >= self.log.status().end.index)
    }
}
