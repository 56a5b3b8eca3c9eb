//! Orders about sinks: pause, remove, fill again.

use std::path::PathBuf;
use std::sync::Arc;

use seine_frontier::EmbeddedFrontier;
use seine_page_log::PageLog;

use crate::api::Refusal;
use crate::config::Config;
use crate::crawl::pauses::Pauses;
use crate::crawl::refill::OrderCount;
use crate::crawl::{backfill, refill};
use crate::telemetry::progress::{bytes, grouped};

pub(super) struct SinkOrders {
    pub folder: PathBuf,
    pub config: Arc<Config>,
    pub frontier: Arc<EmbeddedFrontier>,
    pub log: PageLog,
    pub pauses: Arc<Pauses>,
    pub refills: Arc<OrderCount>,
}

impl SinkOrders {
    pub(super) fn pause(&self, sink: &str, pause: bool) -> Result<String, Refusal> {
        self.check_name(sink)?;
        self.pauses.pause_sink(&self.frontier, sink, pause)?;
        Ok(match pause {
            true => format!("{sink} is paused: the page log keeps events for it, up to page_log.max_size"),
            false => format!("{sink} goes on"),
        })
    }

    /// `archives`: empty for the crawl's own. `refetch`: from the web instead.
    pub(super) fn refill(&self, sink: &str, archives: &[String], refetch: bool) -> Result<String, Refusal> {
        let order = refill::Order { sink, archives, refetch };
        refill::order(&self.folder, &self.config, &self.log, &self.refills, order)
    }

    pub(super) fn remove(&self, sink: &str) -> Result<String, Refusal> {
        let before = self.log.status();
        if self.config.sink(sink).is_some() && before.reader(sink).is_some_and(|reader| reader.opened) {
            let detail = format!("{sink} is a sink of this run; start the crawl without it first, or pause it");
            return Err(Refusal::Conflict(detail));
        }
        self.check_name(sink)?;
        let pending = before.reader(sink).map_or(0, |reader| reader.pending);
        self.log.forget(sink)?;
        if let Err(error) = backfill::forget(&self.folder, sink) {
            tracing::warn!(sink, %error, "the state of its backfill could not be deleted");
        }
        self.pauses.pause_sink(&self.frontier, sink, false)?;
        let freed = bytes(before.bytes.saturating_sub(self.log.status().bytes));
        Ok(format!("{sink} is removed, with {} events that it had not delivered; {freed} freed", grouped(pending)))
    }

    /// Refuses the name of a sink that the log does not have.
    fn check_name(&self, sink: &str) -> Result<(), Refusal> {
        let log = self.log.status();
        let known = log.sinks().map(|(name, _)| name);
        let configured = self.config.sinks.iter().map(|sink| sink.name()).filter(|name| log.reader(name).is_none());
        let names: Vec<&str> = known.chain(configured).collect();
        if names.contains(&sink) {
            return Ok(());
        }
        let (folder, names) = (self.folder.display(), names.join(", "));
        Err(Refusal::NotFound(format!("{folder} has no sink {sink}; it has: {names}")))
    }
}
