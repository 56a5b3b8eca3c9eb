//! Metrics that are read when `/metrics` is requested: from the frontier, the page log, budgets and other counters. The
//! values of a label do not overlap, so their sum is meaningful.

use std::collections::HashMap;
use std::time::Duration;

use prometheus::{CounterVec, GaugeVec, Opts, Registry};
use seine_frontier::{BudgetStanding, Counts, Harvest};
use seine_page_log::LogStatus;

use super::fetch_log::FetchLog;
use crate::fetch::RequestCounts;
use crate::supervisor::PartStatus;

/// The sources of the gauges.
pub struct Snapshot<'a> {
    pub counts: Counts,
    /// How long the host that is due first has waited.
    pub overdue: Duration,
    pub log: &'a LogStatus,
    /// Maximum size of the log in bytes (`page_log.max_size`).
    pub log_limit: u64,
    pub budgets: &'a [BudgetStanding],
    /// Something waits for free space on a disk.
    pub lacks_room: bool,
    /// The frontier's store must be opened again.
    pub frontier_away: bool,
    /// URLs are due, nothing prevents fetching, and nothing happens.
    pub is_stalled: bool,
    pub parts: &'a [PartStatus],
    pub dns: [(&'static str, u64); 3],
    /// Hosts refused because of private addresses.
    pub dns_private: u64,
    pub requests: &'a RequestCounts,
    /// Resources of this machine, and whether each fails.
    pub away: [(&'static str, bool); 3],
}

/// Each metric is created when it is first read, and kept. A value that no longer exists keeps its last state.
pub(super) struct Readings {
    registry: Registry,
    gauges: HashMap<&'static str, GaugeVec>,
    counters: HashMap<&'static str, CounterVec>,
}

impl Readings {
    pub(super) fn new(registry: &Registry) -> Readings {
        let mut readings = Readings { registry: registry.clone(), gauges: HashMap::new(), counters: HashMap::new() };
        readings.note_build();
        readings.note_start();
        readings
    }

    pub(super) fn gauge(&mut self, name: &'static str, help: &str, value: f64) {
        self.gauges(name, help, [], [([], value)]);
    }

    /// Sets values by their labels.
    pub(super) fn gauges<'v, const N: usize>(
        &mut self,
        name: &'static str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'v str; N], f64)>,
    ) {
        let new = || keep(&self.registry, GaugeVec::new(Opts::new(name, help), &labels));
        let gauges = self.gauges.entry(name).or_insert_with(new);
        for (labels, value) in values {
            gauges.with_label_values(&labels).set(value);
        }
    }

    /// Raises counters to values counted elsewhere; they never fall.
    pub(super) fn counters<'v, const N: usize>(
        &mut self,
        name: &'static str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'v str; N], f64)>,
    ) {
        let new = || keep(&self.registry, CounterVec::new(Opts::new(name, help), &labels));
        let counters = self.counters.entry(name).or_insert_with(new);
        for (labels, value) in values {
            let counter = counters.with_label_values(&labels);
            counter.inc_by((value - counter.get()).max(0.0));
        }
    }

    /// `last`: harvest rate of the latest pages.
    pub(super) fn read(&mut self, snapshot: &Snapshot, last: Harvest, fetch_log: Option<&FetchLog>) {
        self.read_frontier(snapshot);
        self.read_harvest(snapshot.counts, last);
        self.read_log(snapshot);
        self.read_sinks(snapshot.log);
        self.read_machine(snapshot);
        self.read_budgets(snapshot.budgets);
        self.read_process();
        if let Some(fetch_log) = fetch_log {
            self.counters(
                "seine_fetch_log_lines_total",
                "Lines of the fetch log, by result.",
                ["result"],
                fetch_log.counts().map(|(result, lines)| ([result], lines as f64)),
            );
        }
    }

    fn note_build(&mut self) {
        let format = seine_frontier::FORMAT.to_string();
        self.gauges(
            "seine_build_info",
            "1, with the version of this program.",
            ["version", "commit", "frontier_format"],
            [([env!("CARGO_PKG_VERSION"), env!("SEINE_COMMIT"), &format], 1.0)],
        );
    }

    fn read_frontier(&mut self, snapshot: &Snapshot) {
        let counts = snapshot.counts;
        let urls = [
            ("first_time", counts.first_time - counts.deferred),
            ("deferred", counts.deferred),
            ("live", counts.live),
            ("gone", counts.gone),
            ("refused", counts.refused),
            ("failed", counts.failed),
            ("withheld", counts.withheld),
            ("alias", counts.alias),
            ("duplicate", counts.duplicates),
            ("truncated", counts.truncated),
        ];
        self.gauges(
            "seine_frontier_urls",
            "URLs, each once: without a final answer so far (first_time), deferred, or by the state of their page.",
            ["state"],
            urls.map(|(state, urls)| ([state], urls as f64)),
        );
        // The host of a redirect target may be leased without queued URLs.
        let (leased, with_work) = (counts.hosts_leased, counts.hosts_with_work);
        let hosts = [
            ("leased", leased),
            ("waiting", with_work.saturating_sub(leased)),
            ("idle", counts.hosts.saturating_sub(with_work.max(leased))),
        ];
        self.gauges(
            "seine_frontier_hosts",
            "Hosts, each once: leased, with queued URLs (waiting), without (idle).",
            ["state"],
            hosts.map(|(state, hosts)| ([state], hosts as f64)),
        );
        self.gauge(
            "seine_frontier_work_proposed_urls",
            "Queued URLs, including retries and rechecks.",
            counts.work_proposed as f64,
        );
        self.gauge(
            "seine_frontier_in_flight_urls",
            "Queued URLs that are being fetched, or fetched and not yet validated.",
            counts.in_flight as f64,
        );
        self.gauge(
            "seine_frontier_overdue_seconds",
            "How long the host that is due first has waited; 0: no host is due.",
            snapshot.overdue.as_secs_f64(),
        );
        self.gauge(
            "seine_frontier_away",
            "1 while the frontier's store is closed after a failed write.",
            one_if(snapshot.frontier_away),
        );
        self.gauge(
            "seine_crawl_stalled",
            "1 while URLs are due, nothing prevents fetching, and nothing happens: a bug; restart Seine.",
            one_if(snapshot.is_stalled),
        );
    }

    fn read_harvest(&mut self, Counts { judged, relevant, .. }: Counts, last: Harvest) {
        self.counters(
            "seine_harvest_pages_total",
            "Pages fetched over the crawl's life, by relevance; without a page classifier HTML is relevant.",
            ["relevant"],
            [(["true"], relevant as f64), (["false"], judged.saturating_sub(relevant) as f64)],
        );
        let ratio = |harvest: Harvest| harvest.ratio().unwrap_or(0.0);
        self.gauges(
            "seine_harvest_ratio",
            "Harvest rate, the relevant part of the fetched pages: over the crawl's life (life), of the last 1000 (last).",
            ["over"],
            [(["life"], ratio(Harvest { judged, relevant })), (["last"], ratio(last))],
        );
    }

    fn read_log(&mut self, snapshot: &Snapshot) {
        let Snapshot { log, log_limit, lacks_room, .. } = *snapshot;
        self.gauge("seine_log_size_bytes", "Bytes of the page log on disk.", log.bytes as f64);
        self.gauge(
            "seine_log_limit_bytes",
            "Maximum size of the page log; when it is reached, fetching waits.",
            log_limit as f64,
        );
        self.gauge("seine_log_segments", "Segment files of the page log.", log.segments as f64);
        self.gauge(
            "seine_log_page_proposed_events",
            "Events accepted and not yet validated.",
            log.page_proposed() as f64,
        );
        self.gauge(
            "seine_disk_reserve_bytes",
            "With fewer free bytes on the page log's disk, fetching waits (page_log.disk_reserve).",
            log.reserve_bytes as f64,
        );
        self.gauge(
            "seine_log_full",
            "1 while the page log has its maximum size and fetching waits.",
            one_if(!log.room),
        );
        self.gauge(
            "seine_disk_free_bytes",
            "Free bytes on the page log's disk; -1: unknown.",
            log.free_bytes.map_or(-1.0, |free| free as f64),
        );
        self.gauge(
            "seine_disk_full",
            "1 while fetching waits for free disk space (page_log.disk_reserve).",
            one_if(lacks_room),
        );
    }

    /// The counters of the sinks.
    fn read_sinks(&mut self, log: &LogStatus) {
        let books = log.sinks().flat_map(|(sink, books)| {
            let books = [
                ("delivered", books.delivered),
                ("skipped", books.skipped),
                ("dead_lettered", books.dead),
                ("damaged", books.damaged),
            ];
            books.map(|(book, events)| ([sink, book], events as f64))
        });
        self.counters(
            "seine_sink_events_total",
            "Events of a sink by result: accepted = delivered + skipped + dead_lettered + damaged + pending.",
            ["sink", "book"],
            books,
        );
        self.counters(
            "seine_sink_accepted_events_total",
            "Events accepted since each sink was added.",
            ["sink"],
            log.sinks().map(|(sink, books)| ([sink], books.accepted as f64)),
        );
        self.gauges(
            "seine_sink_pending_events",
            "Accepted events that a sink has not processed yet.",
            ["sink"],
            log.sinks().map(|(sink, books)| ([sink], books.pending as f64)),
        );
    }

    /// The parts under the supervisor, the needs of requests, and their failures.
    fn read_machine(&mut self, snapshot: &Snapshot) {
        let parts = || snapshot.parts.iter().map(|part| ([part.name.as_str()], part));
        self.counters(
            "seine_part_restarts_total",
            "Restarts of each supervised part.",
            ["part"],
            parts().map(|(name, part)| (name, part.restarts as f64)),
        );
        self.gauges(
            "seine_part_stuck",
            "1 while a part runs without progress.",
            ["part"],
            parts().map(|(name, part)| (name, one_if(part.is_stuck))),
        );
        self.counters(
            "seine_dns_lookups_total",
            "DNS lookups: from the cache (cached), answered, or failed.",
            ["result"],
            snapshot.dns.map(|(result, count)| ([result], count as f64)),
        );
        self.counters(
            "seine_dns_refused_private_total",
            "Hosts refused because of private addresses.",
            [],
            [([], snapshot.dns_private as f64)],
        );
        self.gauges(
            "seine_machine_away",
            "1 while fetching waits for this machine's DNS servers (resolver), its network, or its limit of open files.",
            ["part"],
            snapshot.away.map(|(part, is_away)| ([part], one_if(is_away))),
        );
        self.counters(
            "seine_request_failures_total",
            "Requests without a usable response, by reason; includes robots.txt and redirects.",
            ["reason"],
            snapshot.requests.failed().map(|(reason, count)| ([reason.name()], count as f64)),
        );
    }

    fn read_budgets(&mut self, budgets: &[BudgetStanding]) {
        let labels = ["of", "what", "per"];
        let each = || {
            budgets.iter().map(|standing| {
                let budget = &standing.budget;
                ([budget.of.name(), budget.what.name(), budget.per.name()], standing)
            })
        };
        self.gauges(
            "seine_budget_limit",
            "Budgets: maximum pages or bytes.",
            labels,
            each().map(|(budget, standing)| (budget, standing.budget.most as f64)),
        );
        self.gauges(
            "seine_budget_spent",
            "Used part of the crawl's budgets, in their period.",
            labels,
            each().filter_map(|(budget, standing)| Some((budget, standing.spent? as f64))),
        );
        self.gauges(
            "seine_budget_resting_hosts",
            "Hosts with queued URLs that wait because a budget is used up.",
            labels,
            each().map(|(budget, standing)| (budget, standing.resting as f64)),
        );
    }
}

fn one_if(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Registers a metric. Names and labels are constants, so a mistake shows in the first test.
pub(super) fn keep<M: prometheus::core::Collector + Clone + 'static>(
    registry: &Registry,
    metric: prometheus::Result<M>,
) -> M {
    let metric = metric.expect("a metric's name and labels are valid");
    registry.register(Box::new(metric.clone())).expect("a metric's name is used once");
    metric
}
