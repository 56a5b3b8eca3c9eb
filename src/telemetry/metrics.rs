//! Prometheus metrics: counters and histograms kept as things happen, gauges read when somebody looks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus::{
    Encoder, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use crate::frontier::{Applied, BudgetStanding, Counts};
use crate::page::{Outcome, PageEvent};
use crate::page_log::LogStatus;
use crate::supervisor::PartStatus;

/// Labels of a budget: whose it is, of what, and in which time.
const BUDGET: &[&str] = &["of", "what", "per"];

pub struct Metrics {
    registry: Registry,
    fetches: IntCounterVec,
    fetch_seconds: Histogram,
    fetch_bytes: IntCounter,
    robots_fetches: IntCounter,
    pub accept_seconds: Histogram,
    pages: IntCounterVec,
    links: IntCounterVec,
    pub delivery_seconds: HistogramVec,
    frontier: FrontierGauges,
    log: LogGauges,
    sink_events: IntCounterVec,
    sink_pending: IntGaugeVec,
    restarts: IntCounterVec,
    stuck: IntGaugeVec,
    dns: IntCounterVec,
    away: IntGaugeVec,
    budgets: BudgetGauges,
    memory: IntGauge,
}

struct FrontierGauges {
    urls: IntGaugeVec,
    hosts: IntGaugeVec,
    overdue: Gauge,
    away: IntGauge,
}

struct BudgetGauges {
    limit: IntGaugeVec,
    spent: IntGaugeVec,
    resting: IntGaugeVec,
}

struct LogGauges {
    bytes: IntGauge,
    limit: IntGauge,
    segments: IntGauge,
    full: IntGauge,
    disk_free: IntGauge,
    disk_full: IntGauge,
}

/// What the gauges are read from.
pub struct Snapshot<'a> {
    pub counts: Counts,
    /// How long the host that is due first has waited.
    pub overdue: Duration,
    pub log: &'a LogStatus,
    /// The log's disk limit in bytes (`page_log.max_size`).
    pub log_limit: u64,
    pub budgets: &'a [BudgetStanding],
    /// Something waits for room on a disk.
    pub lacks_room: bool,
    /// The frontier's store is to be opened again.
    pub frontier_away: bool,
    pub parts: &'a [PartStatus],
    pub dns: [(&'static str, u64); 4],
    /// What this machine may lack, and whether it does.
    pub away: [(&'static str, bool); 3],
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    /// A registry of its own: several crawls in one process do not meet.
    pub fn new() -> Metrics {
        let registry = Registry::new();
        let started = Gauge::new("process_start_time_seconds", "When the process started, in seconds since 1970.");
        keep(&registry, started).set(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64()));
        let histogram = |name: &str, help: &str| keep(&registry, Histogram::with_opts(seconds(name, help)));
        let counter = |name: &str, help: &str| keep(&registry, IntCounter::new(name, help));
        let counters = |name: &str, help: &str, labels: &[&str]| {
            keep(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let gauges = |name: &str, help: &str, label: &str| gauges(&registry, name, help, &[label]);
        let delivery =
            seconds("seine_delivery_duration_seconds", "One batch through a sink, until it is durable there.");
        Metrics {
            fetches: counters(
                "seine_fetches_total",
                "Attempts to fetch a URL, by status class or failure reason.",
                &["outcome"],
            ),
            fetch_seconds: histogram(
                "seine_fetch_duration_seconds",
                "From request to the last byte of the body, redirects included.",
            ),
            fetch_bytes: counter("seine_fetch_body_bytes_total", "Bytes of bodies as received."),
            robots_fetches: counter("seine_robots_fetches_total", "Requests for robots.txt."),
            accept_seconds: histogram(
                "seine_log_commit_duration_seconds",
                "From handing an event to the page log until it is fsynced.",
            ),
            pages: counters(
                "seine_validated_total",
                "Validated events, by what they meant for their page; kept: nothing, it is as it was.",
                &["change"],
            ),
            links: counters("seine_links_total", "Links proposed, by what became of them.", &["result"]),
            delivery_seconds: keep(&registry, HistogramVec::new(delivery, &["sink"])),
            frontier: FrontierGauges::new(&registry),
            log: LogGauges::new(&registry),
            sink_events: counters(
                "seine_sink_events_total",
                "The books of each sink: accepted = delivered + skipped + dead_lettered + damaged + pending.",
                &["sink", "book"],
            ),
            sink_pending: gauges(
                "seine_sink_pending_events",
                "Accepted events that a sink has not dealt with yet.",
                "sink",
            ),
            restarts: counters("seine_part_restarts_total", "Restarts of each supervised part.", &["part"]),
            stuck: gauges("seine_part_stuck", "1 while a part runs without progress.", "part"),
            dns: counters("seine_dns_lookups_total", "Look-ups of host names, by result.", &["result"]),
            away: gauges(
                "seine_machine_away",
                "1 while this machine's name servers (resolver), its network or files to open are away and fetching waits for them.",
                "part",
            ),
            budgets: BudgetGauges::new(&registry),
            memory: gauge(&registry, "process_resident_memory_bytes", "Memory of the process in RAM."),
            registry,
        }
    }

    /// One attempt at a page or sitemap.
    pub fn fetched(&self, event: &PageEvent) {
        let outcome = match &event.outcome {
            Outcome::Response(response) => match response.status / 100 {
                2 => "2xx",
                3 => "3xx",
                4 => "4xx",
                5 => "5xx",
                _ => "other",
            },
            Outcome::Failure(failure) => failure.reason.name(),
        };
        self.fetches.with_label_values(&[outcome]).inc();
        self.fetch_seconds.observe(event.ended_ms.saturating_sub(event.started_ms) as f64 / 1000.0);
        self.fetch_bytes.inc_by(event.response().map_or(0, |response| response.body.len() as u64));
    }

    pub fn robots_fetched(&self) {
        self.robots_fetches.inc();
    }

    /// One batch of the validator.
    pub fn validated(&self, changes: &[&str], applied: &Applied) {
        for name in changes {
            self.pages.with_label_values(&[name]).inc();
        }
        let proposed = applied.proposed;
        for (result, count) in
            [("added", proposed.added), ("known", proposed.known), ("over_limit", proposed.over_limit)]
        {
            self.links.with_label_values(&[result]).inc_by(count);
        }
    }

    /// Bytes of bodies received since the start.
    pub fn bytes_fetched(&self) -> u64 {
        self.fetch_bytes.get()
    }

    /// Attempts since the start, by outcome, the most frequent first.
    pub fn outcomes(&self) -> Vec<(String, u64)> {
        let mut outcomes = Vec::new();
        for family in prometheus::core::Collector::collect(&self.fetches) {
            for metric in family.get_metric() {
                let outcome = metric.get_label().first().map(|label| label.value().to_owned());
                outcomes.push((outcome.unwrap_or_default(), metric.get_counter().get_value() as u64));
            }
        }
        outcomes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        outcomes
    }

    /// Everything in Prometheus's text exposition format, the gauges set from `snapshot` first.
    pub fn expose(&self, snapshot: &Snapshot) -> String {
        self.set_gauges(snapshot);
        let mut text = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut text) {
            tracing::error!(%error, "metrics cannot be written");
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    fn set_gauges(&self, snapshot: &Snapshot) {
        self.frontier.set(snapshot);
        self.log.set(snapshot);
        for (name, books) in snapshot.log.sinks() {
            for (book, value) in [
                ("accepted", books.accepted),
                ("delivered", books.delivered),
                ("skipped", books.skipped),
                ("dead_lettered", books.dead),
                ("damaged", books.damaged),
            ] {
                raise(&self.sink_events.with_label_values(&[name, book]), value);
            }
            self.sink_pending.with_label_values(&[name]).set(books.pending as i64);
        }
        for part in snapshot.parts {
            raise(&self.restarts.with_label_values(&[part.name.as_str()]), part.restarts);
            self.stuck.with_label_values(&[part.name.as_str()]).set(i64::from(part.stuck));
        }
        for (result, count) in snapshot.dns {
            raise(&self.dns.with_label_values(&[result]), count);
        }
        for (part, is_away) in snapshot.away {
            self.away.with_label_values(&[part]).set(i64::from(is_away));
        }
        self.budgets.set(snapshot.budgets);
        self.memory.set(resident_bytes().unwrap_or(0));
    }
}

impl FrontierGauges {
    fn new(registry: &Registry) -> FrontierGauges {
        let overdue =
            Gauge::new("seine_frontier_overdue_seconds", "How long the host that is due first has waited; 0: none is.");
        FrontierGauges {
            urls: gauges(
                registry,
                "seine_frontier_urls",
                "URLs, by table of the data model or state of their page.",
                &["state"],
            ),
            hosts: gauges(registry, "seine_frontier_hosts", "Hosts, by what the frontier has for them.", &["state"]),
            overdue: keep(registry, overdue),
            away: gauge(
                registry,
                "seine_frontier_away",
                "1 while the frontier's store takes no writes and waits to be opened again.",
            ),
        }
    }

    fn set(&self, snapshot: &Snapshot) {
        let counts = snapshot.counts;
        for (state, value) in [
            ("work_proposed", counts.work_proposed),
            ("page_proposed", snapshot.log.page_proposed()),
            ("page", counts.page),
            ("live", counts.live),
            ("gone", counts.gone),
            ("refused", counts.refused),
            ("failed", counts.failed),
            ("withheld", counts.withheld),
            ("alias", counts.alias),
            ("in_flight", counts.in_flight),
        ] {
            self.urls.with_label_values(&[state]).set(value as i64);
        }
        for (state, value) in
            [("known", counts.hosts), ("with_work", counts.hosts_with_work), ("leased", counts.hosts_leased)]
        {
            self.hosts.with_label_values(&[state]).set(value as i64);
        }
        self.overdue.set(snapshot.overdue.as_secs_f64());
        self.away.set(i64::from(snapshot.frontier_away));
    }
}

impl BudgetGauges {
    fn new(registry: &Registry) -> BudgetGauges {
        let gauges = |name: &str, help: &str| gauges(registry, name, help, BUDGET);
        BudgetGauges {
            limit: gauges("seine_budget_limit", "Budgets: at most so many pages or bytes."),
            spent: gauges("seine_budget_spent", "What the crawl has spent of its budgets, in their period."),
            resting: gauges("seine_budget_resting_hosts", "Hosts with work that rest because a budget is spent."),
        }
    }

    fn set(&self, budgets: &[BudgetStanding]) {
        for BudgetStanding { budget, spent, resting, .. } in budgets {
            let labels = [budget.of.name(), budget.what.name(), budget.per.name()];
            let gauge = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            self.limit.with_label_values(&labels).set(gauge(budget.most));
            if let Some(spent) = spent {
                self.spent.with_label_values(&labels).set(gauge(*spent));
            }
            self.resting.with_label_values(&labels).set(gauge(*resting));
        }
    }
}

impl LogGauges {
    fn new(registry: &Registry) -> LogGauges {
        let gauge = |name: &str, help: &str| gauge(registry, name, help);
        LogGauges {
            bytes: gauge("seine_log_size_bytes", "Bytes of the page log on disk."),
            limit: gauge("seine_log_limit_bytes", "The page log's disk limit: at it, fetching waits."),
            segments: gauge("seine_log_segments", "Segment files of the page log."),
            full: gauge("seine_log_full", "1 while the page log is at its disk limit and fetching waits."),
            disk_free: gauge("seine_disk_free_bytes", "Bytes free on the page log's disk; -1: not known."),
            disk_full: gauge("seine_disk_full", "1 while fetching waits for room on the disk (page_log.disk_reserve)."),
        }
    }

    fn set(&self, snapshot: &Snapshot) {
        self.bytes.set(snapshot.log.bytes as i64);
        self.limit.set(i64::try_from(snapshot.log_limit).unwrap_or(i64::MAX));
        self.segments.set(snapshot.log.segments as i64);
        self.full.set(i64::from(!snapshot.log.room));
        self.disk_free.set(snapshot.log.free_bytes.map_or(-1, |free| i64::try_from(free).unwrap_or(i64::MAX)));
        self.disk_full.set(i64::from(snapshot.lacks_room));
    }
}

/// Of this process; none where there is no `/proc`. Read here: the `process` feature of `prometheus` would bring procfs
/// and a second rustix for one line of a file.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?;
    kilobytes.parse().ok().map(|kilobytes: i64| kilobytes * 1024)
}

/// Brings a counter up to what is counted elsewhere.
fn raise(counter: &IntCounter, to: u64) {
    counter.inc_by(to.saturating_sub(counter.get()));
}

/// A histogram of times, from 1 ms to a minute.
fn seconds(name: &str, help: &str) -> HistogramOpts {
    let buckets = vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
    HistogramOpts::new(name, help).buckets(buckets)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    keep(registry, IntGauge::new(name, help))
}

fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    keep(registry, IntGaugeVec::new(Opts::new(name, help), labels))
}

/// Registers a metric. Names and labels are constants of this file: a mistake shows in the first test.
fn keep<M: prometheus::core::Collector + Clone + 'static>(registry: &Registry, metric: prometheus::Result<M>) -> M {
    let metric = metric.expect("a metric's name and labels are valid");
    registry.register(Box::new(metric.clone())).expect("a metric's name is used once");
    metric
}
