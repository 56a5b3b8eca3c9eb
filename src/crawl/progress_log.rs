//! The progress log: how the crawl was started, and its progress once per interval.

use seine_frontier::{Scheduler, Verdicts};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::time::{Duration, Instant};

use seine_page_log::Counters;
use seine_system::clock::now_ms;

use super::running::Running;
use super::status;
use super::stuck_sinks::trouble;
use crate::config::{Config, StartedWith};
use crate::telemetry::fetch_log::FetchLog;
use crate::telemetry::logging;

/// Maximum bytes of the reason why a sink is stuck.
const WHY: usize = 120;

/// Logs what is about to run, without values of settings, which can be secret. `seine check-config` shows them.
pub(super) fn log_start(config: &Config, started_with: &StartedWith, folder: &Path) {
    let file = started_with.config.as_ref().map_or("none".to_owned(), |path| path.display().to_string());
    let overrides: Vec<&str> =
        started_with.environment.keys().chain(started_with.options.keys()).map(String::as_str).collect();
    let sinks: Vec<String> = config.sinks.iter().map(|sink| format!("{} ({})", sink.name(), sink.kind)).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        commit = env!("SEINE_COMMIT"),
        configuration = file,
        overrides = overrides.join(", "),
        crawler = config.crawler_id,
        folder = %folder.display(),
        sinks = sinks.join(", "),
        listen = config.http.listen.map_or("none".to_owned(), |address| address.to_string()),
        "seine crawl"
    );
}

/// Logs once per interval what was done in it.
pub(super) struct ProgressLog {
    last: Instant,
    before: Figures,
}

/// Totals since the start.
#[derive(Default)]
struct Figures {
    pages: u64,
    bytes: u64,
    outcomes: BTreeMap<&'static str, u64>,
    failed: BTreeMap<&'static str, u64>,
}

impl Figures {
    fn of(running: &Running) -> Figures {
        let client = running.visitor().services.client.clone();
        let failed = client.counts().failed().map(|(reason, count)| (reason.name(), count));
        Figures {
            pages: running.frontier.fetched_amounts().pages,
            bytes: running.metrics.bytes_fetched(),
            outcomes: running.metrics.outcomes().into_iter().collect(),
            failed: failed.collect(),
        }
    }
}

impl ProgressLog {
    pub(super) fn new(running: &Running) -> ProgressLog {
        ProgressLog { last: Instant::now(), before: Figures::of(running) }
    }

    /// Logs if the interval has passed. Call it often.
    pub(super) fn log_if_due(&mut self, running: &Running) {
        let interval = running.config().logging.interval;
        let Some(interval) = interval.filter(|interval| self.last.elapsed() >= *interval) else { return };
        let took = std::mem::replace(&mut self.last, Instant::now()).elapsed().max(interval);
        let now = Figures::of(running);
        self.tell(running, &now, took);
        self.before = now;
        running.metrics.fetch_log.iter().for_each(FetchLog::log_dropped);
        logging::log_repeats(false);
    }

    fn tell(&self, running: &Running, now: &Figures, took: Duration) {
        let counts = running.frontier.counts();
        let pages = now.pages.saturating_sub(self.before.pages);
        let per_second = (pages as f64 / took.as_secs_f64() * 10.0).round() / 10.0;
        let log = running.log.status();
        let lag = |(name, books): (&str, Counters)| lag(name, &books, trouble(running, name));
        let troubled = running.frontier.waiting(now_ms(), 0).troubled;
        let troubled = troubled.iter().map(|it| (it.cause.to_string(), it.hosts));
        tracing::info!(
            pages,
            per_second,
            bytes = now.bytes.saturating_sub(self.before.bytes),
            queue = counts.work_proposed,
            hosts = counts.hosts_with_work,
            hosts_in_trouble = listed(troubled),
            attempts = listed(since(&self.before.outcomes, &now.outcomes)),
            failed_requests = listed(since(&self.before.failed, &now.failed)),
            pending = log.sinks().map(lag).collect::<Vec<_>>().join(", "),
            log_bytes = log.bytes,
            notice = status::figures(running).notice,
            "progress"
        );
    }
}

/// `files 0`, `elasticsearch 1200 (401 …)`.
fn lag(name: &str, books: &Counters, trouble: Option<String>) -> String {
    match trouble.filter(|_| books.pending > 0) {
        Some(why) => {
            let why = why.get(..why.floor_char_boundary(WHY)).unwrap_or(&why);
            format!("{name} {} ({})", books.pending, why.lines().next().unwrap_or_default())
        }
        None => format!("{name} {}", books.pending),
    }
}

/// The counts that have grown, largest first.
fn since(
    before: &BTreeMap<&'static str, u64>,
    now: &BTreeMap<&'static str, u64>,
) -> impl Iterator<Item = (&'static str, u64)> {
    let grown = |(name, count): (&&'static str, &u64)| (*name, count - before.get(name).unwrap_or(&0));
    let mut grown: Vec<_> = now.iter().map(grown).collect();
    grown.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    grown.into_iter()
}

fn listed(counts: impl Iterator<Item = (impl Display, u64)>) -> String {
    let texts = counts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}"));
    texts.collect::<Vec<_>>().join(", ")
}
