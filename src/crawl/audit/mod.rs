//! `seine audit`: recounts everything in the folder of a stopped crawl and checks that the counters balance.
//!
//! It counts rather than trusting counters: pending events in the page log, URLs in the tables of the frontier, dead
//! letters in their files. The counters must agree.

mod check;
mod destination;
mod frontier;
mod log;
mod pages;
mod sink_reader;

use std::path::Path;

use seine_frontier::{EmbeddedFrontier, FrontierOptions, Verdicts};
use seine_page_log::PageLog;
use seine_parse::DeriveOptions;

use super::error::CrawlError;
use crate::backup::refuse_half_restored;
use crate::config::{Config, SinkConfig};
use crate::sinks;
use crate::sinks::on_disk::PagesAt;

pub use check::{Check, Figure, Rule};

/// The result of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    pub checks: Vec<Check>,
    /// Remarks that do not affect a balance.
    pub notes: Vec<String>,
}

impl Audit {
    pub fn balances(&self) -> bool {
        self.checks.iter().all(Check::balances)
    }
}

/// Runs the audit. `destinations` are checked too. Fails if the crawl is running, or if something cannot be read.
pub fn audit(folder: &Path, destinations: &[SinkConfig]) -> Result<Audit, CrawlError> {
    refuse_half_restored(folder)?;
    let config = Config::default();
    let (log, recovery) = PageLog::open(&folder.join("log"), &config.log, DeriveOptions::from(&config))?;
    if let Some((_, why)) = recovery.unreadable.first() {
        return Err(CrawlError::Cursor(why.clone()));
    }
    let frontier = EmbeddedFrontier::open(&folder.join("frontier"), FrontierOptions::default(), 0)?;
    let mut audit = Audit::default();
    let readers = audit.log(folder, &log, &recovery, frontier.cursor()?.index, destinations)?;
    let (counts, survey) = (frontier.counts(), frontier.survey()?);
    audit.frontier(&counts, &survey);
    for config in destinations {
        if let Some(reader) = readers.iter().find(|reader| reader.name == config.name()) {
            audit.destination(config, folder, reader, &counts)?;
            match (sinks::row(config).pages)(config, &folder.join(&reader.name))? {
                Some(PagesAt::Index(elastic)) => audit.index((elastic, config), reader, &frontier)?,
                Some(PagesAt::Disk(pages)) => audit.pages_on_disk(&pages, config, reader, &frontier)?,
                Some(PagesAt::Whole(read)) => audit.whole(&read, config, reader, &frontier)?,
                None => {}
            }
        }
    }
    Ok(audit)
}
