//! The status of a running crawl, for the API and commands.

use std::time::Duration;

use seine_frontier::{Counts, Harvest, Scheduler, Verdicts};
use seine_system::blocking;
use seine_system::clock::now_ms;

use super::running::Running;
use super::spending::spent_of_crawl;
use crate::api::schema::{HarvestStatus, Live, OutcomeCount, Pending};
use crate::telemetry::progress::Figures;
use crate::telemetry::rates::Counters;

pub(super) fn figures(running: &Running) -> Figures {
    let counts = running.frontier.counts();
    let log = running.log.status();
    let mut notice = (!log.room).then(|| "the page log is full; fetching waits for the sinks".to_owned());
    if running.pauses.is_crawl_paused() {
        notice = Some("paused: seine resume".to_owned());
    } else if running.room.lacks().is_some() {
        notice = Some("the disk is full; fetching waits".to_owned());
    } else if running.shutdown.is_finishing() {
        notice = Some("finishing".to_owned());
    } else if let Some(outage) = running.visitor().services.outage.pause(now_ms()) {
        notice = notice.or(Some(outage.notice(now_ms())));
    } else if let Some(budget) = spent_of_crawl(running.frontier.as_ref()) {
        notice = notice.or(Some(format!("budget spent: {budget}")));
    } else if let Some(due) = running.frontier.next_due().filter(|_| counts.hosts_leased == 0) {
        let wait = due.saturating_sub(now_ms()) / 1000;
        notice = notice.or((wait > 5).then(|| format!("next URL due in {wait} s")));
    }
    Figures {
        pages: counts.live + log.page_proposed(),
        bytes: running.metrics.bytes_fetched(),
        hosts: counts.hosts,
        queue: counts.work_proposed,
        pending: log.sinks().map(|(name, books)| (name.to_owned(), books.pending)).collect(),
        notice,
    }
}

/// Time spans of the rates.
const SPANS: [Duration; 4] =
    [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(900), Duration::from_secs(3600)];

/// Records counts for the rates. Call it often.
pub(super) fn note_rates(running: &Running) {
    let pending = || {
        let log = running.log.status();
        log.sinks().map(|(sink, books)| Pending { sink: sink.to_owned(), events: books.pending }).collect()
    };
    running.rates.note(now_ms(), || counters(running), pending);
}

/// Saves the counts of links refused by the scope. Call it often.
pub(super) fn keep_refused(running: &Running) {
    let (visitor, frontier) = (running.visitor(), running.frontier.clone());
    if !visitor.services.scope.refused.is_to_be_kept() {
        return;
    }
    blocking::run_detached(move || {
        if let Err(error) = visitor.services.scope.refused.keep(&*frontier) {
            tracing::debug!(%error, "the list of refused links could not be saved; Seine tries again");
        }
    });
}

fn counters(running: &Running) -> Counters {
    let Harvest { judged, relevant } = running.metrics.harvested.all();
    let bytes = running.metrics.bytes_fetched();
    let mut counters = Counters { bytes, judged, relevant, ..Counters::default() };
    for (outcome, count) in running.metrics.outcomes() {
        counters.attempts += count;
        match outcome {
            "2xx" => counters.pages += count,
            "3xx" => {}
            _ => counters.failures += count,
        }
    }
    counters
}

/// None if the crawl is not focused.
fn harvest(running: &Running) -> Option<HarvestStatus> {
    let Counts { judged, relevant, .. } = running.frontier.counts();
    let (life, last) = (Harvest { judged, relevant }.ratio(), running.metrics.harvested.last().ratio());
    running.config().is_focused().then_some(HarvestStatus { life, last })
}

pub(super) fn live(running: &Running) -> Live {
    let phase = match () {
        () if running.shutdown.is_finishing() => "finishing",
        () if running.pauses.is_crawl_paused() => "paused",
        () => "running",
    };
    let outcomes = running.metrics.outcomes().into_iter();
    Live {
        started_ms: running.started_ms,
        phase: phase.to_owned(),
        notice: figures(running).notice,
        rates: running.rates.over(&SPANS, counters(running)),
        outcomes: outcomes.map(|(outcome, count)| OutcomeCount { outcome: outcome.to_owned(), count }).collect(),
        parts: running.supervisor.status(),
        harvest: harvest(running),
    }
}
