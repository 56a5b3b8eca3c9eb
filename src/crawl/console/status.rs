//! Status of a crawl.

use std::path::PathBuf;
use std::sync::Arc;

use seine_frontier::{EmbeddedFrontier, Verdicts};
use seine_page_log::{PageLog, ReaderStatus};
use seine_system::clock::{self, now_ms};

use crate::api::Refusal;
use crate::api::schema::work::ClientStatus;
use crate::api::schema::{BudgetStatus, Live, LogStatus, SinkStatus, Status};
use crate::config::{Config, STDOUT};
use crate::crawl::clients;
use crate::crawl::limits::OrderedLimits;
use crate::crawl::pauses::Pauses;
use crate::sinks::dead_letters;

/// The part that only a running crawl knows.
#[derive(Default)]
pub(crate) struct LiveStatus {
    pub live: Option<Live>,
    /// Sinks that are stuck, each with the reason.
    pub errors: Vec<(String, String)>,
}

pub(crate) struct CrawlStatus {
    pub folder: PathBuf,
    pub(super) config: Arc<Config>,
    pub(super) frontier: Arc<EmbeddedFrontier>,
    pub(super) log: PageLog,
    pub(super) pauses: Arc<Pauses>,
    pub(super) limits: Arc<OrderedLimits>,
}

impl CrawlStatus {
    pub(crate) fn now(&self, said: LiveStatus) -> Status {
        let log = self.log.status();
        let budgets = self.frontier.budgets(now_ms()).into_iter().map(|standing| BudgetStatus {
            of: standing.budget.of.name().to_owned(),
            what: standing.budget.what.name().to_owned(),
            per: standing.budget.per.name().to_owned(),
            limit: standing.budget.most,
            spent: standing.spent,
            resting_hosts: standing.resting,
        });
        let sinks = log.readers.iter().filter_map(|reader| self.sink(reader, &said.errors));
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            folder: self.folder.display().to_string(),
            now_ms: now_ms(),
            clock_ahead_ms: clock::ahead().map_or(0, |ahead| ahead.as_millis() as u64),
            is_paused: self.pauses.is_crawl_paused(),
            frontier: self.frontier.counts(),
            page_proposed: log.page_proposed(),
            budgets: budgets.collect(),
            ordered_limits: self.limits.all(),
            log: LogStatus {
                bytes: log.bytes,
                limit_bytes: self.config.log.max_bytes,
                is_full: !log.room,
                accepted: log.end.index,
                forgotten: log.oldest.index,
            },
            sinks: sinks.collect(),
            running: said.live,
        }
    }

    /// Remote workers as recorded by the last run.
    pub(crate) fn clients_at_rest(&self) -> Result<Vec<ClientStatus>, Refusal> {
        Ok(clients::while_stopped(&self.config.work, &self.frontier)?)
    }

    /// None for a reader that is not a sink.
    fn sink(&self, reader: &ReaderStatus, errors: &[(String, String)]) -> Option<SinkStatus> {
        let (books, name) = (reader.counters?, &reader.name);
        Some(SinkStatus {
            name: name.clone(),
            accepted: books.accepted,
            delivered: books.delivered,
            skipped: books.skipped,
            dead_lettered: books.dead,
            damaged: books.damaged,
            pending: books.pending,
            kept_bytes: reader.unread_bytes,
            // Standard output starts with new pages, so it misses nothing.
            missed: if name == STDOUT { 0 } else { reader.missed },
            anew_ms: reader.anew.as_ref().map(|anew| anew.at_ms),
            anew_because: reader.anew.as_ref().map(|anew| anew.why.clone()),
            // An unreadable file was reported when the sink was opened.
            dead_letter_bytes: dead_letters::size(&self.folder.join(name)).unwrap_or(0),
            in_use: self.config.sink(name).is_some(),
            is_paused: self.pauses.is_sink_paused(name),
            error: errors.iter().find(|(sink, _)| sink == name).map(|(_, error)| error.clone()),
        })
    }
}
