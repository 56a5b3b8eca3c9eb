//! JSON types of the API; `openapi.json` describes the same. Times are milliseconds since 1970.

mod orders;
mod why;
pub(crate) mod work;

use std::collections::BTreeMap;

use seine_frontier::{Counts, WhichHosts};
use seine_parse::page::EpochMs;
use serde::{Deserialize, Serialize};

use crate::supervisor::PartStatus;

pub use crate::telemetry::rates::{Pending, Rate, Sample};
pub use orders::*;
pub use why::*;

/// A crawl, running or stopped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    /// The data folder.
    pub folder: String,
    pub now_ms: EpochMs,
    /// How far the crawl's clock is ahead of the machine's, because an earlier run had a wrong clock; 0 if it is not.
    #[serde(default)]
    pub clock_ahead_ms: u64,
    /// The operator has paused it.
    pub is_paused: bool,
    /// None for a crawl without a process.
    pub running: Option<Live>,
    pub frontier: Counts,
    pub page_proposed: u64,
    pub budgets: Vec<BudgetStatus>,
    /// Limits set by the operator, by name: `pages`, `host-pages`, `host/day/pages`; none: no limit.
    pub ordered_limits: BTreeMap<String, Option<u64>>,
    pub log: LogStatus,
    pub sinks: Vec<SinkStatus>,
}

/// The part that only a running crawl knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Live {
    pub started_ms: EpochMs,
    /// `running`, `paused`, `finishing`.
    pub phase: String,
    /// What keeps it from fetching, if anything does.
    pub notice: Option<String>,
    /// Over the last 10 seconds, minute, 15 minutes and hour, if it has run that long.
    pub rates: Vec<Rate>,
    /// Attempts since the start by status class or reason of failure, most frequent first.
    pub outcomes: Vec<OutcomeCount>,
    pub parts: Vec<PartStatus>,
    /// For a focused crawl: its harvest rate.
    #[serde(default)]
    pub harvest: Option<HarvestStatus>,
}

/// Relevant pages as a part of all fetched pages, 0 to 1; none without pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HarvestStatus {
    /// Over the crawl's life.
    pub life: Option<f64>,
    /// Over the last 1000 pages of this process.
    pub last: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutcomeCount {
    pub outcome: String,
    pub count: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BudgetStatus {
    /// `crawl`, `host`, `domain`.
    pub of: String,
    pub what: String,
    pub per: String,
    pub limit: u64,
    /// None if each host or domain has a budget of its own.
    pub spent: Option<u64>,
    pub resting_hosts: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogStatus {
    pub bytes: u64,
    pub limit_bytes: u64,
    pub is_full: bool,
    /// Events accepted over the crawl's life, and events before the oldest in the log.
    pub accepted: u64,
    pub forgotten: u64,
}

/// A sink with its counters: `accepted = delivered + skipped + dead_lettered + damaged + pending`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SinkStatus {
    pub name: String,
    pub accepted: u64,
    pub delivered: u64,
    pub skipped: u64,
    pub dead_lettered: u64,
    pub damaged: u64,
    pub pending: u64,
    /// Bytes of the log kept for it.
    pub kept_bytes: u64,
    /// Events that were no longer in the log when the sink was added or started again.
    pub missed: u64,
    /// When it started again with empty counters, because the destination was replaced or the operator ordered it …
    #[serde(default)]
    pub anew_ms: Option<EpochMs>,
    /// … and why.
    #[serde(default)]
    pub anew_because: Option<String>,
    pub dead_letter_bytes: u64,
    /// It is configured. Otherwise its offset in the log stays until the sink is removed.
    pub in_use: bool,
    pub is_paused: bool,
    /// Why it is stuck, if it has reported a reason.
    pub error: Option<String>,
}

/// Selects hosts: `GET /api/v1/hosts`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostsQuery {
    pub which: Option<WhichHosts>,
    /// Maximum number of hosts, up to 1000; default 100.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hosts {
    /// Hosts with queued URLs, and all known hosts.
    pub with_work: u64,
    pub known: u64,
    /// Hosts with queued URLs that are in trouble, by their last failure.
    pub troubled: Vec<Troubled>,
    pub blocked: u64,
    pub hosts: Vec<HostStatus>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Troubled {
    pub cause: String,
    pub hosts: u64,
    pub urls: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostStatus {
    /// `https://example.com`.
    pub host: String,
    /// `busy`, `blocked`, `given_up`, `troubled`, `budget_spent`, `resting`, `due`, `idle`.
    pub state: String,
    /// Queued URLs, and the part of them that is due later.
    pub urls: u64,
    pub urls_later: u64,
    /// Pages admitted so far.
    pub pages: u64,
    /// When it is due; none: it is busy, blocked, or has nothing to do.
    pub due_ms: Option<EpochMs>,
    /// Delay set by the operator; none: as configured.
    pub ordered_delay_ms: Option<u64>,
    /// Maximum number of pages set by the operator; none: as configured.
    pub ordered_pages: Option<u64>,
    /// The part of `urls_later` that is deferred. No run waits for these URLs.
    #[serde(default)]
    pub urls_deferred: u64,
    /// The time that its queued URLs take at its delay, if it is longer than the longest recheck interval. Then rechecks
    /// are late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_ms: Option<u64>,
    /// The blocked host to which its robots.txt or tdmrep.json redirects. Nothing is fetched until that is unblocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Deferred patterns and parameters removed from links, a sentence each. Only for a single host, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traps: Vec<String>,
    /// Its robots.txt, if it is known and obeyed. Only for a single host, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots: Option<HostRobots>,
    pub trouble: Option<HostTrouble>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostRobots {
    /// It forbids the home page, and so very likely everything.
    pub forbids_all: bool,
    pub fetched_ms: EpochMs,
    /// The first visit after this time fetches it again; 0: the next visit does.
    pub expires_ms: EpochMs,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostTrouble {
    pub cause: String,
    pub since_ms: EpochMs,
    pub failures: u32,
    pub is_given_up: bool,
}
