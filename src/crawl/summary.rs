//! The summary of a crawl, for the user.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use seine_frontier::{Counts, FrontierError, Harvest, PageRecord, PageState, Verdicts, WhichHosts};
use seine_page_log::Counters;
use seine_parse::page::FailureReason;
use seine_system::clock::{self, now_ms};
use serde_json::{Value, json};

use super::backfill;
use super::ending::Ended;
use super::open::clock_is_ahead;
use super::running::Running;
use super::stuck_sinks::trouble;
use crate::sinks::dead_letters;
use crate::telemetry::progress::{bytes, grouped};

/// Number of failed seeds to list.
const SHOWN_SEEDS: usize = 5;
/// Number of hosts with deferred URLs to list.
const SHOWN_HOSTS: usize = 3;

/// Printed at the end of a crawl.
#[derive(Debug, Clone)]
pub struct Summary {
    pub ended: Ended,
    pub took: Duration,
    pub counts: Counts,
    pub bytes: u64,
    /// Attempts of this run by outcome, most frequent first.
    pub outcomes: Vec<(&'static str, u64)>,
    /// The sinks, with their counters.
    pub sinks: Vec<SinkSummary>,
    pub folder: PathBuf,
    /// Number of seeds of this run …
    pub seeds: u64,
    /// … and those without a page that are not queued, with the reason.
    pub failed_seeds: Vec<(String, String)>,
    /// Hosts with the most deferred URLs, and how many.
    pub deferred_at: Vec<(String, u64)>,
    /// The allowance of each host ([`crate::config::FrontierConfig::deferred_per_host`]).
    pub deferred_per_host: u32,
    /// The crawl prefers some pages.
    pub is_focused: bool,
    /// Only links of pages that the page classifier finds relevant are followed.
    pub is_hard_focus: bool,
    /// How far the crawl's clock is ahead of the machine's.
    pub clock_ahead: Option<Duration>,
}

#[derive(Debug, Clone)]
pub struct SinkSummary {
    pub name: String,
    pub counters: Counters,
    /// Its backfill is not finished.
    pub is_backfilling: bool,
    /// None for sinks without files.
    pub folder: Option<PathBuf>,
    /// It is a sink of this run.
    pub of_this_run: bool,
    /// Dead letters that were neither delivered nor deleted, of all runs.
    pub letters: u64,
    /// The reason why it waits, if events are pending.
    pub trouble: Option<String>,
}

impl Summary {
    pub(super) fn new(
        running: &Running,
        ended: Ended,
        took: Duration,
        seeds: &[String],
    ) -> Result<Summary, FrontierError> {
        let log = running.log.status();
        let config = running.config();
        let sinks = log.sinks().map(|(name, books)| SinkSummary {
            name: name.to_owned(),
            counters: books,
            is_backfilling: backfill::is_unfinished(&running.folder, &running.log, name),
            folder: Some(running.folder.join(name))
                .filter(|it| !config.sink(name).is_some_and(|sink| sink.destination.is_server()) && it.is_dir()),
            of_this_run: config.sink(name).is_some(),
            letters: letters(&running.folder.join(name)),
            trouble: trouble(running, name).filter(|_| books.pending > 0),
        });
        let mut failed_seeds = Vec::new();
        for seed in seeds {
            let page = match running.frontier.page(seed) {
                // The store is closed because of a full disk, so nothing is known.
                Err(error) if error.is_waiting() => None,
                page => page?,
            };
            let why = page.map(|page| why_none(running, page)).transpose()?.flatten();
            failed_seeds.extend(why.map(|why| (seed.clone(), why)));
        }
        Ok(Summary {
            ended,
            took,
            counts: running.frontier.counts(),
            bytes: running.metrics.bytes_fetched(),
            outcomes: running.metrics.outcomes(),
            sinks: sinks.collect(),
            folder: running.folder.clone(),
            seeds: seeds.len() as u64,
            failed_seeds,
            deferred_at: running
                .frontier
                .host_snapshots(WhichHosts::Deferred, SHOWN_HOSTS)
                .into_iter()
                .map(|host| (host.record.origin.into(), host.record.deferred))
                .collect(),
            deferred_per_host: config.frontier.deferred_per_host,
            is_focused: config.is_focused(),
            is_hard_focus: config.frontier.focus.hard && config.classifier.is_some(),
            clock_ahead: clock::ahead(),
        })
    }

    /// Events are pending for a sink of this run; the same command continues.
    pub fn is_pending(&self) -> bool {
        self.sinks.iter().any(|sink| sink.of_this_run && (sink.counters.pending > 0 || sink.is_backfilling))
    }

    /// Deferred URLs whose pages do not exist under another URL. Each may lead to any number of pages.
    pub fn left_deferred(&self) -> u64 {
        self.counts.deferred.saturating_sub(self.counts.deferred_elsewhere)
    }

    /// A sink of this run has dead letters, which need attention.
    pub(crate) fn has_letters(&self) -> bool {
        self.sinks.iter().any(|sink| sink.of_this_run && sink.letters > 0)
    }
}

/// Number of dead letters of a sink. Unreadable ones were reported when the sink was opened.
fn letters(folder: &Path) -> u64 {
    match dead_letters::account(folder) {
        Ok(account) => account.ids.len() as u64,
        Err(error) => {
            tracing::error!(%error, "dead letters cannot be counted");
            0
        }
    }
}

/// Why a URL has no page, if that is final.
fn why_none(running: &Running, page: PageRecord) -> Result<Option<String>, FrontierError> {
    Ok(match page.state {
        PageState::New | PageState::Unchanged | PageState::Changed | PageState::Alias => None,
        // An irrelevant seed still has links, which is what a seed is for.
        PageState::Withheld if !page.noindex && page.judged.is_some_and(|judged| !judged.is_relevant) => None,
        PageState::Gone | PageState::Refused => Some(format!("answered with status {}", page.status)),
        PageState::Failed(FailureReason::RobotsDenied) => Some(forbidden(running, &page.url)?),
        PageState::Failed(reason) => Some(reason.meaning().to_owned()),
        PageState::Withheld => Some("noindex, or opted out".to_owned()),
    })
}

/// Adds when its robots.txt is fetched again.
fn forbidden(running: &Running, url: &str) -> Result<String, FrontierError> {
    let host = seine_parse::url::origin(url).map(|origin| running.frontier.host_snapshot(origin)).transpose()?;
    let robots = host.flatten().and_then(|host| host.robots);
    let minutes = robots.map_or(0, |robots| robots.expires_ms.saturating_sub(now_ms()).div_ceil(60_000));
    let meaning = FailureReason::RobotsDenied.meaning();
    Ok(match minutes {
        0 => format!("{meaning}; the same command fetches it again"),
        minutes => {
            format!(
                "{meaning}; it is fetched again in {minutes} min at the earliest, or at once by the same \
                command"
            )
        }
    })
}

impl Summary {
    /// The same as [`Display`](fmt::Display), as fields of a log line.
    pub fn to_json(&self) -> Value {
        let sinks = self.sinks.iter().map(|sink| {
            let Counters { delivered, skipped, dead, pending, .. } = sink.counters;
            json!({
                "name": sink.name, "delivered": delivered, "skipped": skipped, "dead_lettered": dead,
                "pending": pending, "dead_letters": sink.letters, "folder": sink.folder, "trouble": sink.trouble,
            })
        });
        let failed_seeds = self.failed_seeds.iter().take(SHOWN_SEEDS);
        json!({
            "message": self.how(),
            "seconds": self.took.as_secs_f64(),
            "bytes": self.bytes,
            "attempts": self.outcomes.iter().cloned().collect::<BTreeMap<_, _>>(),
            "pages": self.counts.live,
            "truncated": self.counts.truncated,
            "gone": self.counts.gone,
            "refused": self.counts.refused,
            "failed": self.counts.failed,
            "work_proposed": self.counts.work_proposed,
            "deferred": self.counts.deferred,
            "deferred_elsewhere": self.counts.deferred_elsewhere,
            "deferred_at": self.deferred_at.iter().map(|(host, urls)| json!({"host": host, "urls": urls})).collect::<Vec<_>>(),
            "hosts": self.counts.hosts,
            "over_hosts": self.counts.over_hosts,
            "judged": self.counts.judged,
            "relevant": self.counts.relevant,
            "clock_ahead_seconds": self.clock_ahead.map_or(0, |ahead| ahead.as_secs()),
            "seeds": self.seeds,
            "failed_seeds": self.failed_seeds.len(),
            "failed_seeds_first": failed_seeds.map(|(seed, why)| json!({"url": seed, "why": why})).collect::<Vec<_>>(),
            "sinks": sinks.collect::<Vec<_>>(),
        })
    }

    /// The first line: how the crawl ended. It says "Done" only if everything was done.
    pub fn how(&self) -> String {
        let is_undelivered = self.is_pending() || self.has_letters();
        let how = match &self.ended {
            Ended::Done | Ended::PageLimit if self.has_no_seed() => "Ended: no seed could be fetched.",
            Ended::Done if is_undelivered => "Ended: nothing is left to fetch, but some pages are not delivered.",
            Ended::PageLimit if is_undelivered => "Ended: the page limit is reached, but some pages are not delivered.",
            Ended::Done if self.has_no_relevant_page() => {
                "Ended: no page is relevant, and hard focus follows only links of relevant pages."
            }
            Ended::Done if self.left_deferred() > 0 => {
                "Ended: only deferred URLs are left. They look endless, but any number of pages may be behind them."
            }
            Ended::Done => "Done: nothing is left to fetch.",
            Ended::PageLimit => "Done: the page limit is reached.",
            Ended::BudgetSpent(spent) => &spent.to_string(),
            Ended::Waiting(waits) => &waits.to_string(),
            Ended::LogFull => "Ended: the page log is full (page_log.max_size), and no sink makes progress.",
            Ended::Stopped => "Stopped. The same command continues from here.",
            Ended::ReaderGone => "Stopped: standard output was closed. The same command continues from here.",
        };
        how.trim_end().to_owned()
    }

    /// Over the life of the crawl; none if the crawl is not focused.
    fn harvest(&self) -> Option<f64> {
        let Counts { judged, relevant, .. } = self.counts;
        Harvest { judged, relevant }.ratio().filter(|_| self.is_focused)
    }

    /// No page was relevant, so hard focus followed no link of the seeds.
    pub(crate) fn has_no_relevant_page(&self) -> bool {
        self.is_hard_focus && self.ended == Ended::Done && self.counts.judged > 0 && self.counts.relevant == 0
    }

    /// There were seeds, and all failed.
    pub(crate) fn has_no_seed(&self) -> bool {
        self.seeds > 0 && self.failed_seeds.len() as u64 == self.seeds
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        writeln!(out, "\n{}\n", self.how())?;
        if let Some(ahead) = self.clock_ahead {
            writeln!(out, "  {}\n", clock_is_ahead(ahead))?;
        }
        self.write_failed_seeds(out)?;
        if self.has_no_relevant_page() {
            let folder = self.folder.display();
            writeln!(
                out,
                "  seine why URL -o {folder} shows the relevance of a page, and seine test-model the reasons;"
            )?;
            writeln!(out, "  with target_storage.hard_focus: false the next run follows the links of all pages\n")?;
        }
        self.write_attempts(out)?;
        self.write_tables(out)?;
        self.sinks.iter().try_for_each(|sink| self.write_sink(out, sink))
    }
}

impl Summary {
    fn write_failed_seeds(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (seed, why) in self.failed_seeds.iter().take(SHOWN_SEEDS) {
            writeln!(out, "  the seed {seed} failed: {why}")?;
        }
        match self.failed_seeds.len().saturating_sub(SHOWN_SEEDS) {
            0 if self.failed_seeds.is_empty() => return Ok(()),
            0 => {}
            more => writeln!(out, "  … and {more} more")?,
        }
        if let (true, Some((seed, _))) = (self.has_no_seed(), self.failed_seeds.first()) {
            let folder = self.folder.display();
            writeln!(out, "  seine why {seed} -o {folder} tells more; the same command tries the seeds again")?;
        }
        writeln!(out)
    }

    fn write_attempts(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let attempts: u64 = self.outcomes.iter().map(|(_, count)| count).sum();
        let (attempts, seconds, bytes) = (grouped(attempts), self.took.as_secs_f64(), bytes(self.bytes));
        if self.outcomes.is_empty() {
            return writeln!(out, "  nothing was fetched, in {seconds:.1} s\n");
        }
        writeln!(out, "  {:<11} {attempts:>9}   in {seconds:.1} s, {bytes} of bodies", "attempts")?;
        for (outcome, count) in &self.outcomes {
            writeln!(out, "    {:<18} {:>9}   {}", outcome, grouped(*count), meaning(outcome))?;
        }
        writeln!(out)
    }

    fn write_tables(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let counts = &self.counts;
        for (table, count, what) in [
            ("pages", counts.live, "live pages"),
            ("duplicates", counts.duplicates, "of these: same content or text as another page"),
            (
                "truncated",
                counts.truncated,
                "of these: the body ended early; refetched until complete (at once: seine retry --reason cut)",
            ),
            ("gone", counts.gone, "were live before"),
            ("refused", counts.refused, "answered, but not with a page"),
            ("failed", counts.failed, "all attempts failed"),
            ("withheld", counts.withheld, "not delivered: noindex, opted out, or not relevant"),
            ("aliases", counts.alias, "delivered under another URL"),
            ("to fetch", counts.work_proposed - counts.given_up, "still queued"),
            ("deferred", counts.deferred, "of them: crawl traps and mirrors (seine host NAME, seine why URL)"),
            ("elsewhere", counts.deferred_elsewhere, "of these: the page exists under another URL"),
            ("hosts", counts.hosts, ""),
            (
                "over hosts",
                counts.over_hosts,
                "links left out: their domains have more hosts than link_storage.max_hosts_per_domain",
            ),
        ] {
            if count > 0 {
                writeln!(out, "  {table:<11} {:>9}   {what}", grouped(count))?;
            }
        }
        for (host, held) in &self.deferred_at {
            writeln!(out, "    {:<18} {:>9}", host, grouped(*held))?;
        }
        if let Some(ratio) = self.harvest() {
            let (relevant, judged) = (grouped(counts.relevant), grouped(counts.judged));
            writeln!(
                out,
                "  {:<11} {:>8.1}%   {relevant} of {judged} fetched pages are relevant",
                "harvest",
                ratio * 100.0
            )?;
        }
        Ok(())
    }

    fn write_sink(&self, out: &mut fmt::Formatter, sink: &SinkSummary) -> fmt::Result {
        let Counters { delivered, skipped, dead, pending, .. } = sink.counters;
        write!(out, "\n  {:<11} {:>9}   delivered", sink.name, grouped(delivered))?;
        let letters = match sink.letters {
            letters if letters == dead => "dead letters".to_owned(),
            letters => format!("dead letters ({} left)", grouped(letters)),
        };
        for (count, what) in [(skipped, "skipped"), (dead, &letters), (pending, "pending")] {
            if count > 0 {
                write!(out, ", {} {what}", grouped(count))?;
            }
        }
        writeln!(out)?;
        if sink.is_backfilling {
            writeln!(out, "              the backfill is not finished: the next run continues it")?;
        }
        if let Some(trouble) = &sink.trouble {
            writeln!(out, "              waits: {trouble}")?;
        }
        if let Some(folder) = &sink.folder {
            writeln!(out, "              in {}", folder.display())?;
            writeln!(out, "              seine cat {} | head", folder.display())?;
        }
        if sink.letters > 0 {
            let place = format!("--sink {} -o {}", sink.name, self.folder.display());
            writeln!(out, "              dead letters stay until you replay or drop them:")?;
            writeln!(out, "              seine dead-letters list {place}")?;
            writeln!(out, "              seine dead-letters replay --all {place}")?;
        }
        Ok(())
    }
}

/// The meaning of an outcome of [`Summary::outcomes`]; may be empty.
pub(crate) fn meaning(outcome: &str) -> &'static str {
    match outcome {
        "2xx" => "pages and sitemaps",
        "3xx" => "redirects, and pages that are unchanged",
        "4xx" => "not found, or not allowed",
        "5xx" => "the server failed",
        "wall" => "a wall instead of the page: a challenge, a log-in, an error page; the earlier page stays",
        reason => FailureReason::by_name(reason).map_or("", FailureReason::meaning),
    }
}
