//! What the API says and takes, as JSON; `openapi.json` describes the same. Times are milliseconds since 1970.

mod orders;
mod why;
pub mod work;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::frontier::{Counts, WhichHosts};
use crate::page::EpochMs;
use crate::supervisor::PartStatus;

pub use crate::telemetry::rates::{Pending, Rate, Sample};
pub use orders::*;
pub use why::*;

/// A crawl, running or at rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    pub version: String,
    /// The data folder.
    pub folder: String,
    pub now_ms: EpochMs,
    /// Its operator has paused it.
    pub is_paused: bool,
    /// None of a crawl that no process runs.
    pub running: Option<Live>,
    pub frontier: Counts,
    pub page_proposed: u64,
    pub budgets: Vec<BudgetStatus>,
    /// By their operator's order, by name: `pages`, `host-pages`, `host/day/pages`; none: no limit.
    pub ordered_limits: BTreeMap<String, Option<u64>>,
    pub log: LogStatus,
    pub sinks: Vec<SinkStatus>,
}

/// What only a running crawl has to say.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Live {
    pub started_ms: EpochMs,
    /// `running`, `paused`, `finishing`.
    pub phase: String,
    /// What keeps it from going on, if anything does.
    pub notice: Option<String>,
    /// Over the last 10 seconds, minute, 15 minutes and hour, as far as it has run for so long.
    pub rates: Vec<Rate>,
    /// Attempts since the start by status class or reason of failure, the most frequent first.
    pub outcomes: Vec<OutcomeCount>,
    pub parts: Vec<PartStatus>,
    /// Of a crawl that looks for relevant pages: how many it finds.
    #[serde(default)]
    pub harvest: Option<HarvestStatus>,
}

/// The part of the pages that came that was relevant, 0 to 1; none: none came.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HarvestStatus {
    /// Over the crawl's life.
    pub life: Option<f64>,
    /// Of the last 1000 pages of this process.
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
    /// None where every host or domain has its own.
    pub spent: Option<u64>,
    pub resting_hosts: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogStatus {
    pub bytes: u64,
    pub limit_bytes: u64,
    pub is_full: bool,
    /// Events accepted over the crawl's life, and before the oldest that is kept.
    pub accepted: u64,
    pub forgotten: u64,
}

/// A sink and its books: `accepted = delivered + skipped + dead_lettered + damaged + pending`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SinkStatus {
    pub name: String,
    pub accepted: u64,
    pub delivered: u64,
    pub skipped: u64,
    pub dead_lettered: u64,
    pub damaged: u64,
    pub pending: u64,
    /// Bytes of the log that are kept for it.
    pub kept_bytes: u64,
    /// Events before it came, or before its books began anew, that the log did not hold any more.
    pub missed: u64,
    /// Its books began anew then, as the destination was another one, or as its operator ordered …
    #[serde(default)]
    pub anew_ms: Option<EpochMs>,
    /// … and why.
    #[serde(default)]
    pub anew_because: Option<String>,
    pub dead_letter_bytes: u64,
    /// It is configured. One that is not holds its place in the log until it is removed.
    pub in_use: bool,
    pub is_paused: bool,
    /// Why it does not get on, as far as it has said.
    pub error: Option<String>,
}

/// Which hosts are wanted: `GET /api/v1/hosts`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostsQuery {
    pub which: Option<WhichHosts>,
    /// At most so many; 1000 at most, and 100 unless said.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hosts {
    /// How many have work, of all that are known.
    pub with_work: u64,
    pub known: u64,
    /// Of those with work, in trouble: by what they failed with last.
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
    /// URLs to fetch, and of them those that wait for a time of their own.
    pub urls: u64,
    pub urls_later: u64,
    /// Pages ever admitted.
    pub pages: u64,
    /// When it may be visited next; none: it is being visited, blocked, or has nothing to do.
    pub due_ms: Option<EpochMs>,
    /// Between two visits, by its operator's order; none: as configured.
    pub ordered_delay_ms: Option<u64>,
    /// Pages that are admitted at most, by its operator's order; none: as configured.
    pub ordered_pages: Option<u64>,
    /// Of `urls_later`: those that are held, as their patterns bring nothing new. No run waits for them.
    #[serde(default)]
    pub urls_held: u64,
    /// Which patterns cool down, and what links lose: a sentence each. Of one host that is asked for, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traps: Vec<String>,
    /// Its robots.txt, if it is known and obeyed. Of one host that is asked for, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots: Option<HostRobots>,
    pub trouble: Option<HostTrouble>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostRobots {
    /// The home page, and so in all likelihood everything.
    pub forbids_all: bool,
    pub fetched_ms: EpochMs,
    /// The first visit after this fetches it anew; 0: the next one does.
    pub expires_ms: EpochMs,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostTrouble {
    pub cause: String,
    pub since_ms: EpochMs,
    pub failures: u32,
    pub is_given_up: bool,
}
