//! Prometheus metrics: counters and histograms, and gauges that are read on request.

use parking_lot::Mutex;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry, TextEncoder,
};
use seine_frontier::{Applied, Proposed};
use seine_parse::page::{
    FailureReason, Kind, Outcome, PageChange, PageEvent, Relevance, Response, STATUS_CLASSES, status_class,
};
use seine_parse::walls::{self, WallKind};

use super::fetch_log::FetchLog;
pub(crate) use super::gauges::Snapshot;
use super::gauges::{Readings, keep};
use super::harvest::Harvested;
use crate::fetch::RequestCounts;
use crate::fetch::client::Exchange;

/// The verdicts of the validator: its own words, and the states of a page.
const CHANGES: [&str; 10] =
    ["retry", "kept", "new", "unchanged", "changed", "alias", "gone", "refused", "failed", "withheld"];

pub struct Metrics {
    registry: Registry,
    fetches: IntCounterVec,
    fetch_seconds: Histogram,
    fetch_bytes: IntCounter,
    robots_fetches: IntCounter,
    pub accept_seconds: Histogram,
    pages: IntCounterVec,
    judged: IntCounterVec,
    links: IntCounterVec,
    /// By [`DuplicateOf::kind`](seine_parse::page::DuplicateOf::kind).
    pub duplicates: IntCounterVec,
    walls: IntCounterVec,
    pub delivery_seconds: HistogramVec,
    /// How often a destination was found to be replaced.
    pub sinks_replaced: IntCounterVec,
    readings: Mutex<Readings>,
    /// Gets every fetch too.
    pub fetch_log: Option<FetchLog>,
    /// The harvest rate.
    pub harvested: Harvested,
}

impl Default for Metrics {
    /// A registry of its own, so that several crawls in one process are separate.
    fn default() -> Metrics {
        let registry = Registry::new();
        let histogram = |name: &str, help: &str| keep(&registry, Histogram::with_opts(seconds(name, help)));
        let counter = |name: &str, help: &str| keep(&registry, IntCounter::new(name, help));
        let counters =
            |name: &str, help: &str, label: &str| keep(&registry, IntCounterVec::new(Opts::new(name, help), &[label]));
        let delivery =
            seconds("seine_delivery_duration_seconds", "Time of one batch in a sink until it is durable there.");
        let metrics = Metrics {
            fetches: counters(
                "seine_fetches_total",
                "Attempts to fetch a URL, by status class or failure reason.",
                "outcome",
            ),
            fetch_seconds: histogram(
                "seine_fetch_duration_seconds",
                "Time from the request to the last byte of the body, with redirects.",
            ),
            fetch_bytes: counter("seine_fetch_body_bytes_total", "Bytes of bodies as received."),
            robots_fetches: counter("seine_robots_fetches_total", "Requests for robots.txt."),
            accept_seconds: histogram(
                "seine_log_commit_duration_seconds",
                "Time until the page log has fsynced an event.",
            ),
            pages: counters(
                "seine_validated_total",
                "Validated events by verdict; kept: the record did not change.",
                "change",
            ),
            judged: counters(
                "seine_relevance_total",
                "Fetched pages by the result of the page classifier; without one, HTML is relevant.",
                "relevance",
            ),
            duplicates: counters(
                "seine_duplicates_total",
                "New and changed pages that are duplicates: with the same content, or nearly the same text.",
                "kind",
            ),
            walls: counters("seine_walls_total", "Answers that were walls instead of their pages, by kind.", "kind"),
            links: counters("seine_links_total", "Links found, by result.", "result"),
            delivery_seconds: keep(&registry, HistogramVec::new(delivery, &["sink"])),
            sinks_replaced: counters(
                "seine_sink_replaced_total",
                "How often a destination had lost its pages, and the sink started again with empty counters.",
                "sink",
            ),
            readings: Mutex::new(Readings::new(&registry)),
            fetch_log: None,
            harvested: Harvested::default(),
            registry,
        };
        metrics.begin_at_zero();
        metrics
    }
}

impl Metrics {
    /// Starts all series at zero, so that the first increase is visible.
    fn begin_at_zero(&self) {
        for outcome in outcomes() {
            self.fetches.with_label_values(&[outcome]);
        }
        for change in CHANGES {
            self.pages.with_label_values(&[change]);
        }
        for relevance in [true, false].map(Relevance::by_type) {
            self.judged.with_label_values(&[relevance.name()]);
        }
        for kind in WallKind::ALL {
            self.walls.with_label_values(&[kind.name()]);
        }
        for kind in ["exact", "near"] {
            self.duplicates.with_label_values(&[kind]);
        }
        self.count_links(Proposed::default());
    }

    /// Registers the client's own counts.
    pub fn show(&self, requests: &RequestCounts) {
        keep(&self.registry, Ok(requests.stages.histograms.clone()));
    }

    /// Starts the series of a sink at zero.
    pub(crate) fn show_sink(&self, name: &str) {
        self.delivery_seconds.with_label_values(&[name]);
        self.sinks_replaced.with_label_values(&[name]);
    }

    /// One judged fetch of a page or sitemap.
    pub fn fetched(&self, event: &PageEvent) {
        if event.failure().is_none_or(|failure| failure.reason != FailureReason::Alias) {
            self.requested(event);
        }
        if let Some(wall) = event.response().and_then(|response| response.wall.as_deref()) {
            self.walls.with_label_values(&[wall.kind.name()]).inc();
            tracing::debug!(url = event.url, kind = wall.kind.name(), evidence = wall.evidence, "a wall, not the page");
        }
        if event.kind == Kind::Page && event.response().is_some_and(Response::is_success) {
            self.judged.with_label_values(&[event.relevance.name()]).inc();
        }
        if let Some(of) = event.duplicate_of().filter(|_| event.change != Some(PageChange::Unchanged)) {
            self.duplicates.with_label_values(&[of.kind()]).inc();
        }
    }

    fn requested(&self, event: &PageEvent) {
        let outcome = match &event.outcome {
            Outcome::Response(response) if response.is_cut() => FailureReason::Cut.name(),
            Outcome::Response(response) if response.held_wall().is_some() => walls::OUTCOME,
            Outcome::Response(response) => status_class(response.status),
            Outcome::Failure(failure) => failure.reason.name(),
        };
        self.fetches.with_label_values(&[outcome]).inc();
        self.fetch_seconds.observe(event.ended_ms.saturating_sub(event.started_ms) as f64 / 1000.0);
        self.fetch_bytes.inc_by(event.response().map_or(0, |response| response.body.len() as u64));
        if let Some(log) = &self.fetch_log {
            log.attempt(event);
        }
    }

    pub fn robots_fetched(&self, url: &str, exchange: &Exchange) {
        self.robots_fetches.inc();
        if let Some(log) = &self.fetch_log {
            log.robots(url, exchange);
        }
    }

    /// One batch of the validator.
    pub fn validated(&self, changes: &[&str], applied: &Applied) {
        for name in changes {
            self.pages.with_label_values(&[name]).inc();
        }
        self.count_links(applied.proposed);
    }

    fn count_links(&self, proposed: Proposed) {
        for (result, count) in [
            ("added", proposed.added),
            ("known", proposed.known),
            ("over_limit", proposed.over_limit),
            ("over_hosts", proposed.over_hosts),
        ] {
            self.links.with_label_values(&[result]).inc_by(count);
        }
    }

    /// Bytes of bodies received since the start.
    pub(crate) fn bytes_fetched(&self) -> u64 {
        self.fetch_bytes.get()
    }

    /// Attempts since the start by outcome, most frequent first.
    pub fn outcomes(&self) -> Vec<(&'static str, u64)> {
        let counted = outcomes().map(|outcome| (outcome, self.fetches.with_label_values(&[outcome]).get()));
        let mut outcomes: Vec<_> = counted.filter(|(_, count)| *count > 0).collect();
        outcomes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        outcomes
    }

    /// All metrics in Prometheus's text format.
    pub fn expose(&self, snapshot: &Snapshot) -> String {
        self.readings.lock().read(snapshot, self.harvested.last(), self.fetch_log.as_ref());
        let mut text = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut text) {
            tracing::error!(%error, "metrics cannot be written");
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The outcomes of attempts: classes of status codes, and reasons of failures. A redirect to another URL's page is no
/// attempt of its own.
fn outcomes() -> impl Iterator<Item = &'static str> {
    let reasons = FailureReason::ALL.into_iter().filter(|reason| *reason != FailureReason::Alias);
    STATUS_CLASSES.into_iter().chain([walls::OUTCOME]).chain(reasons.map(FailureReason::name))
}

/// A histogram of times, from 1 ms to a minute.
fn seconds(name: &str, help: &str) -> HistogramOpts {
    let buckets = vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
    HistogramOpts::new(name, help).buckets(buckets)
}
