//! What a crawl did, for the person who started it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::{Ended, Running};
use crate::frontier::{Counts, FrontierError, PageRecord, PageState};
use crate::page::FailureReason;
use crate::telemetry::progress::{bytes, grouped};

/// Seeds without a page that are named.
const SHOWN_SEEDS: usize = 5;

/// Printed at the end of a crawl.
#[derive(Debug, Clone)]
pub struct Summary {
    pub ended: Ended,
    pub took: Duration,
    pub counts: Counts,
    pub bytes: u64,
    /// Attempts of this run by outcome, most frequent first.
    pub outcomes: Vec<(String, u64)>,
    /// Sink, what it delivered over its life, what is pending, where it is.
    pub sinks: Vec<SinkSummary>,
    pub page_proposed: u64,
    pub folder: PathBuf,
    /// What is pending for the sink of this run that is furthest behind.
    pub undelivered: u64,
    /// Seeds of this run …
    pub seeds: u64,
    /// … and those that brought no page and wait for nothing, with the reason.
    pub failed_seeds: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct SinkSummary {
    pub name: String,
    pub delivered: u64,
    pub skipped: u64,
    pub dead: u64,
    pub pending: u64,
    /// None for sinks that keep no files.
    pub folder: Option<PathBuf>,
}

impl Summary {
    pub(super) fn new(
        running: &Running,
        ended: Ended,
        took: Duration,
        seeds: &[String],
    ) -> Result<Summary, FrontierError> {
        let log = running.log.status();
        let sinks = log.sinks().map(|(name, books)| SinkSummary {
            name: name.to_owned(),
            delivered: books.delivered,
            skipped: books.skipped,
            dead: books.dead,
            pending: books.pending,
            folder: Some(running.folder.join(name)).filter(|folder| folder.is_dir()),
        });
        let mut failed_seeds = Vec::new();
        for seed in seeds {
            if let Some(why) = running.frontier.page(seed)?.and_then(why_none) {
                failed_seeds.push((seed.clone(), why));
            }
        }
        let sinks: Vec<SinkSummary> = sinks.collect();
        let of_this_run = |sink: &&SinkSummary| running.config.sinks.iter().any(|config| config.name() == sink.name);
        let undelivered = sinks.iter().filter(of_this_run).map(|sink| sink.pending).max().unwrap_or(0);
        Ok(Summary {
            ended,
            took,
            counts: running.frontier.counts(),
            bytes: running.metrics.bytes_fetched(),
            outcomes: running.metrics.outcomes(),
            sinks,
            page_proposed: log.page_proposed(),
            folder: running.folder.clone(),
            undelivered,
            seeds: seeds.len() as u64,
            failed_seeds,
        })
    }
}

/// Why a URL brought no page, when that is its final answer.
fn why_none(page: PageRecord) -> Option<String> {
    match page.state {
        PageState::New | PageState::Unchanged | PageState::Changed => None,
        PageState::Gone | PageState::Refused => Some(format!("answered with status {}", page.status)),
        PageState::Failed(reason) => Some(reason.meaning().to_owned()),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let counts = &self.counts;
        let how = match &self.ended {
            Ended::Done => "Done: nothing is left to fetch.",
            Ended::PageLimit => "Done: the limit of pages is reached.",
            Ended::Waiting(waits) => &waits.to_string(),
            Ended::Stopped => "Stopped. The same command goes on from here.",
            Ended::ReaderGone => "Stopped: nobody reads standard output any more. The same command goes on from here.",
        };
        let seconds = self.took.as_secs_f64();
        let attempts: u64 = self.outcomes.iter().map(|(_, count)| count).sum();
        writeln!(out, "\n{}\n", how.trim_end())?;
        for (seed, why) in self.failed_seeds.iter().take(SHOWN_SEEDS) {
            writeln!(out, "  no page from the seed {seed}: {why}")?;
        }
        match self.failed_seeds.len().saturating_sub(SHOWN_SEEDS) {
            0 if self.failed_seeds.is_empty() => {}
            0 => writeln!(out)?,
            more => writeln!(out, "  … and from {more} more\n")?,
        }
        writeln!(
            out,
            "  {:<11} {:>9}   in {seconds:.1} s, {} of bodies",
            "attempts",
            grouped(attempts),
            bytes(self.bytes)
        )?;
        for (outcome, count) in &self.outcomes {
            writeln!(out, "    {:<18} {:>9}   {}", outcome, grouped(*count), meaning(outcome))?;
        }
        writeln!(out)?;
        for (table, count, what) in [
            ("pages", counts.live, "fetched and kept"),
            ("gone", counts.gone, "were there before"),
            ("refused", counts.refused, "answered, but not with a page"),
            ("failed", counts.failed, "given up for good"),
            ("to fetch", counts.work_proposed, "still in work_proposed"),
            ("hosts", counts.hosts, ""),
        ] {
            if count > 0 {
                writeln!(out, "  {table:<11} {:>9}   {what}", grouped(count))?;
            }
        }
        for sink in &self.sinks {
            writeln!(out)?;
            write!(out, "  {:<11} {:>9}   delivered", sink.name, grouped(sink.delivered))?;
            for (count, what) in
                [(sink.skipped, "not held by the format"), (sink.dead, "dead letters"), (sink.pending, "pending")]
            {
                if count > 0 {
                    write!(out, ", {} {what}", grouped(count))?;
                }
            }
            writeln!(out)?;
            if let Some(folder) = &sink.folder {
                writeln!(out, "              in {}", folder.display())?;
                writeln!(out, "              seine cat {} | head", folder.display())?;
            }
        }
        Ok(())
    }
}

/// What an outcome of [`Summary::outcomes`] means; empty where there is nothing to say.
pub(crate) fn meaning(outcome: &str) -> &'static str {
    match outcome {
        "2xx" => "pages and sitemaps",
        "3xx" => "redirects that lead nowhere, or not modified",
        "4xx" => "not there, or not for us",
        "5xx" => "the server failed",
        reason => FailureReason::by_name(reason).map_or("", FailureReason::meaning),
    }
}
