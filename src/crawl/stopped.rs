//! A stopped crawl: its stores, opened for a question or an order.

use std::path::Path;
use std::sync::Arc;

use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{EmbeddedFrontier, FrontierOptions, Notes, RefusedLinks, Verdicts};
use seine_page_log::{PageLog, VALIDATOR};
use seine_parse::DeriveOptions;
use seine_system::clock::now_ms;

use super::console::{Console, Parts};
use super::error::CrawlError;
use super::limits::OrderedLimits;
use super::open;
use super::pauses::Pauses;
use super::seeds::SCOPE_NOTE;
use crate::backup::refuse_half_restored;
use crate::config::{Config, StartedWith, environment};

impl Console {
    /// For a crawl without a process.
    pub(crate) fn of_folder(folder: &Path) -> Result<Console, CrawlError> {
        refuse_half_restored(folder)?;
        let mut config = last_config(folder);
        let (log, _) = PageLog::open(&folder.join("log"), &config.log, DeriveOptions::from(&config))?;
        let frontier = EmbeddedFrontier::open(&folder.join("frontier"), FrontierOptions::default(), now_ms())?;
        open::set_clock(&frontier)?;
        // So that the log knows which events are validated.
        let _validator = log.follower(VALIDATOR, frontier.cursor()?)?;
        let scope = match frontier.note(SCOPE_NOTE)? {
            Some(note) => Scope::from_note(&config.scope, &note, &[])?,
            None => Scope::new(&config.scope, &[])?,
        };
        let pauses = Arc::new(Pauses::open(&frontier)?);
        let limits = Arc::new(OrderedLimits::open(&frontier)?);
        limits.lay_over(&mut config.frontier);
        frontier.reconfigure(open::options(&config));
        let scope = Arc::new(CurrentScope::new(scope, RefusedLinks::open(&frontier)?));
        let frontier = Arc::new(frontier);
        Ok(Console::new(Parts {
            folder: folder.to_owned(),
            config: Arc::new(config),
            frontier,
            accepted_before: log.status().end.index,
            log,
            scope,
            pauses,
            limits,
            refills: Default::default(),
            clients: None,
            forgetting: Default::default(),
        }))
    }
}

/// The configuration of the last run; the defaults if it is unreadable.
fn last_config(folder: &Path) -> Config {
    let started_with = StartedWith::load(folder).unwrap_or_default();
    match started_with.configuration(None, &environment(), &[]) {
        Ok(loaded) => loaded.config,
        Err(error) => {
            tracing::warn!(%error, "the saved configuration of the crawl cannot be read; defaults are used instead");
            Config::default()
        }
    }
}
