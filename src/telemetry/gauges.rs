//! The gauges of `/metrics`, read when somebody looks: what the frontier and the page log hold, and how far budgets are spent.
//! The values of a label are parts that do not overlap, so that their sum means something.

use std::time::Duration;

use prometheus::{Gauge, GaugeVec, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use crate::fetch::RequestCounts;
use crate::frontier::{BudgetStanding, Counts, Harvest};
use crate::page_log::LogStatus;
use crate::supervisor::PartStatus;

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
    pub dns: [(&'static str, u64); 3],
    /// Hosts refused for their private addresses.
    pub dns_private: u64,
    pub requests: &'a RequestCounts,
    /// What this machine may lack, and whether it does.
    pub away: [(&'static str, bool); 3],
}

/// Labels of a budget: whose it is, of what, and in which time.
const BUDGET: &[&str] = &["of", "what", "per"];

pub(super) struct FrontierGauges {
    urls: IntGaugeVec,
    hosts: IntGaugeVec,
    work_proposed: IntGauge,
    in_flight: IntGauge,
    overdue: Gauge,
    away: IntGauge,
    pages: IntCounterVec,
    harvest: GaugeVec,
}

pub(super) struct BudgetGauges {
    limit: IntGaugeVec,
    spent: IntGaugeVec,
    resting: IntGaugeVec,
}

pub(super) struct LogGauges {
    bytes: IntGauge,
    limit: IntGauge,
    segments: IntGauge,
    page_proposed: IntGauge,
    disk_reserve: IntGauge,
    full: IntGauge,
    disk_free: IntGauge,
    disk_full: IntGauge,
}

impl FrontierGauges {
    pub fn new(registry: &Registry) -> FrontierGauges {
        let overdue =
            Gauge::new("seine_frontier_overdue_seconds", "How long the host that is due first has waited; 0: none is.");
        let harvest = Opts::new(
            "seine_harvest_ratio",
            "Of the pages that came, the part that was relevant: over the crawl's life (life), of the last 1000 (last).",
        );
        let harvest = GaugeVec::new(harvest, &["over"]);
        FrontierGauges {
            urls: gauges(
                registry,
                "seine_frontier_urls",
                "URLs, each once: never fetched with a final answer (first_time), held as their patterns bring nothing new (held), or by the state of their page.",
                &["state"],
            ),
            hosts: gauges(
                registry,
                "seine_frontier_hosts",
                "Hosts, each once: asked just now (leased), with work for later (waiting), with none (idle).",
                &["state"],
            ),
            work_proposed: gauge(
                registry,
                "seine_frontier_work_proposed_urls",
                "URLs to fetch, those that wait for a retry or for their next look included.",
            ),
            in_flight: gauge(
                registry,
                "seine_frontier_in_flight_urls",
                "Of the URLs to fetch: being fetched, or fetched and not yet validated.",
            ),
            overdue: keep(registry, overdue),
            pages: counters(
                registry,
                "seine_harvest_pages_total",
                "Pages that came over the crawl's life, by whether they were relevant; without a page classifier HTML is.",
                &["relevant"],
            ),
            harvest: keep(registry, harvest),
            away: gauge(
                registry,
                "seine_frontier_away",
                "1 while the frontier's store takes no writes and waits to be opened again.",
            ),
        }
    }

    pub fn set_harvest(&self, counts: Counts, last: Harvest) {
        let life = Harvest { judged: counts.judged, relevant: counts.relevant };
        for (relevant, count) in [("true", life.relevant), ("false", life.judged - life.relevant.min(life.judged))] {
            raise(&self.pages.with_label_values(&[relevant]), count);
        }
        for (over, harvest) in [("life", life), ("last", last)] {
            self.harvest.with_label_values(&[over]).set(harvest.ratio().unwrap_or(0.0));
        }
    }

    pub fn set(&self, snapshot: &Snapshot) {
        let counts = snapshot.counts;
        for (state, value) in [
            ("first_time", counts.first_time - counts.held),
            ("held", counts.held),
            ("live", counts.live),
            ("gone", counts.gone),
            ("refused", counts.refused),
            ("failed", counts.failed),
            ("withheld", counts.withheld),
            ("alias", counts.alias),
            ("duplicate", counts.duplicates),
        ] {
            self.urls.with_label_values(&[state]).set(value as i64);
        }
        // One that a redirect leads to may be leased without work of its own.
        let (leased, with_work) = (counts.hosts_leased, counts.hosts_with_work);
        for (state, value) in [
            ("leased", leased),
            ("waiting", with_work.saturating_sub(leased)),
            ("idle", counts.hosts.saturating_sub(with_work.max(leased))),
        ] {
            self.hosts.with_label_values(&[state]).set(value as i64);
        }
        self.work_proposed.set(counts.work_proposed as i64);
        self.in_flight.set(counts.in_flight as i64);
        self.overdue.set(snapshot.overdue.as_secs_f64());
        self.away.set(i64::from(snapshot.frontier_away));
    }
}

impl BudgetGauges {
    pub fn new(registry: &Registry) -> BudgetGauges {
        let gauges = |name: &str, help: &str| gauges(registry, name, help, BUDGET);
        BudgetGauges {
            limit: gauges("seine_budget_limit", "Budgets: at most so many pages or bytes."),
            spent: gauges("seine_budget_spent", "What the crawl has spent of its budgets, in their period."),
            resting: gauges("seine_budget_resting_hosts", "Hosts with work that rest because a budget is spent."),
        }
    }

    pub fn set(&self, budgets: &[BudgetStanding]) {
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
    pub fn new(registry: &Registry) -> LogGauges {
        let gauge = |name: &str, help: &str| gauge(registry, name, help);
        LogGauges {
            bytes: gauge("seine_log_size_bytes", "Bytes of the page log on disk."),
            limit: gauge("seine_log_limit_bytes", "The page log's disk limit: at it, fetching waits."),
            segments: gauge("seine_log_segments", "Segment files of the page log."),
            page_proposed: gauge("seine_log_page_proposed_events", "Events accepted and not yet validated."),
            disk_reserve: gauge(
                "seine_disk_reserve_bytes",
                "With less free on the page log's disk, fetching waits (page_log.disk_reserve).",
            ),
            full: gauge("seine_log_full", "1 while the page log is at its disk limit and fetching waits."),
            disk_free: gauge("seine_disk_free_bytes", "Bytes free on the page log's disk; -1: not known."),
            disk_full: gauge("seine_disk_full", "1 while fetching waits for room on the disk (page_log.disk_reserve)."),
        }
    }

    pub fn set(&self, snapshot: &Snapshot) {
        self.bytes.set(snapshot.log.bytes as i64);
        self.limit.set(i64::try_from(snapshot.log_limit).unwrap_or(i64::MAX));
        self.segments.set(snapshot.log.segments as i64);
        self.page_proposed.set(snapshot.log.page_proposed() as i64);
        self.disk_reserve.set(i64::try_from(snapshot.log.reserve_bytes).unwrap_or(i64::MAX));
        self.full.set(i64::from(!snapshot.log.room));
        self.disk_free.set(snapshot.log.free_bytes.map_or(-1, |free| i64::try_from(free).unwrap_or(i64::MAX)));
        self.disk_full.set(i64::from(snapshot.lacks_room));
    }
}

/// The books of the sinks.
pub(super) struct SinkGauges {
    events: IntCounterVec,
    accepted: IntCounterVec,
    pending: IntGaugeVec,
}

/// The parts under the supervisor.
pub(super) struct PartGauges {
    restarts: IntCounterVec,
    stuck: IntGaugeVec,
}

/// What requests need, and what they fail for.
pub(super) struct RequestGauges {
    dns: IntCounterVec,
    dns_private: IntCounter,
    away: IntGaugeVec,
    failures: IntCounterVec,
}

impl SinkGauges {
    pub fn new(registry: &Registry) -> SinkGauges {
        let counters = |name: &str, help: &str, labels: &[&str]| counters(registry, name, help, labels);
        let gauges = |name: &str, help: &str, labels: &[&str]| gauges(registry, name, help, labels);
        SinkGauges {
            events: counters(
                "seine_sink_events_total",
                "What became of the events that a sink was given: accepted = delivered + skipped + dead_lettered + damaged + pending.",
                &["sink", "book"],
            ),
            accepted: counters(
                "seine_sink_accepted_events_total",
                "Events accepted since each sink is there.",
                &["sink"],
            ),
            pending: gauges(
                "seine_sink_pending_events",
                "Accepted events that a sink has not dealt with yet.",
                &["sink"],
            ),
        }
    }

    pub fn set(&self, log: &LogStatus) {
        for (name, books) in log.sinks() {
            for (book, value) in [
                ("delivered", books.delivered),
                ("skipped", books.skipped),
                ("dead_lettered", books.dead),
                ("damaged", books.damaged),
            ] {
                raise(&self.events.with_label_values(&[name, book]), value);
            }
            raise(&self.accepted.with_label_values(&[name]), books.accepted);
            self.pending.with_label_values(&[name]).set(books.pending as i64);
        }
    }
}

impl PartGauges {
    pub fn new(registry: &Registry) -> PartGauges {
        let counters = |name: &str, help: &str, labels: &[&str]| counters(registry, name, help, labels);
        let gauges = |name: &str, help: &str, labels: &[&str]| gauges(registry, name, help, labels);
        PartGauges {
            restarts: counters("seine_part_restarts_total", "Restarts of each supervised part.", &["part"]),
            stuck: gauges("seine_part_stuck", "1 while a part runs without progress.", &["part"]),
        }
    }

    pub fn set(&self, parts: &[PartStatus]) {
        for part in parts {
            raise(&self.restarts.with_label_values(&[part.name.as_str()]), part.restarts);
            self.stuck.with_label_values(&[part.name.as_str()]).set(i64::from(part.stuck));
        }
    }
}

impl RequestGauges {
    pub fn new(registry: &Registry) -> RequestGauges {
        let counter = |name: &str, help: &str| keep(registry, IntCounter::new(name, help));
        let counters = |name: &str, help: &str, labels: &[&str]| counters(registry, name, help, labels);
        let gauges = |name: &str, help: &str, labels: &[&str]| gauges(registry, name, help, labels);
        RequestGauges {
            dns: counters(
                "seine_dns_lookups_total",
                "Look-ups of host names: known (cached), asked for and told (answered), asked for in vain (failed).",
                &["result"],
            ),
            dns_private: counter(
                "seine_dns_refused_private_total",
                "Hosts refused because their addresses are private.",
            ),
            away: gauges(
                "seine_machine_away",
                "1 while this machine's name servers (resolver), its network or files to open are away and fetching waits for them.",
                &["part"],
            ),
            failures: counters(
                "seine_request_failures_total",
                "Requests without an answer that can be used, by reason; robots.txt and redirects included.",
                &["reason"],
            ),
        }
    }

    pub fn set(&self, snapshot: &Snapshot) {
        for (result, count) in snapshot.dns {
            raise(&self.dns.with_label_values(&[result]), count);
        }
        raise(&self.dns_private, snapshot.dns_private);
        for (reason, count) in snapshot.requests.failed() {
            raise(&self.failures.with_label_values(&[reason.name()]), count);
        }
        for (part, is_away) in snapshot.away {
            self.away.with_label_values(&[part]).set(i64::from(is_away));
        }
    }
}

/// Brings a counter up to what is counted elsewhere.
pub(super) fn raise(counter: &IntCounter, to: u64) {
    counter.inc_by(to.saturating_sub(counter.get()));
}

/// A histogram of times, from 1 ms to a minute.
pub(super) fn seconds(name: &str, help: &str) -> HistogramOpts {
    let buckets = vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
    HistogramOpts::new(name, help).buckets(buckets)
}

pub(super) fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    keep(registry, IntCounterVec::new(Opts::new(name, help), labels))
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    keep(registry, IntGauge::new(name, help))
}

pub(super) fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    keep(registry, IntGaugeVec::new(Opts::new(name, help), labels))
}

/// Registers a metric. Names and labels are constants of this file: a mistake shows in the first test.
pub(super) fn keep<M: prometheus::core::Collector + Clone + 'static>(
    registry: &Registry,
    metric: prometheus::Result<M>,
) -> M {
    let metric = metric.expect("a metric's name and labels are valid");
    registry.register(Box::new(metric.clone())).expect("a metric's name is used once");
    metric
}
