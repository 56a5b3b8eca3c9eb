//! Budgets: how many pages and bytes a crawl, a host or a registered domain may fetch. Arithmetic only; events and
//! times are passed in.

mod account;
mod amounts;

use std::fmt;

pub use account::Account;
pub use amounts::Amounts;

use seine_parse::page::EpochMs;

/// A limit: whose, of what, how much, per which period (`budget.rules`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    pub of: BudgetScope,
    pub what: What,
    pub per: Period,
    /// Number of pages or bytes.
    pub most: u64,
}

/// Whose budget it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetScope {
    Crawl,
    /// A host name or address, with any scheme and port.
    Host,
    /// The registered domain (public suffix plus one label) with all its hosts.
    Domain,
}

/// What is counted; see [`Amounts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    Pages,
    BytesReceived,
    BytesDecoded,
}

/// The period of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Period {
    /// All runs in one data folder.
    Life,
    /// From the start of the process.
    Run,
    /// A day in UTC, by the crawl's clock.
    Day,
}

/// In milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Days since 1970, in UTC.
fn day_of(time: EpochMs) -> u64 {
    time / DAY
}

impl Budget {
    /// When a budget that is used up at `now` starts anew. None: not while this process runs.
    pub fn begins_anew(&self, now: EpochMs) -> Option<EpochMs> {
        (self.per == Period::Day).then(|| (day_of(now) + 1) * DAY)
    }

    /// Whether both limit the same amount of the same thing.
    pub fn is_twin_of(&self, other: &Budget) -> bool {
        (self.of, self.what, self.per) == (other.of, other.what, other.per)
    }
}

impl fmt::Display for Budget {
    /// `1000 pages per host and day`.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let what = match self.what {
            What::Pages if self.most == 1 => "page",
            What::Pages => "pages",
            What::BytesReceived => "bytes received",
            What::BytesDecoded => "bytes decoded",
        };
        write!(out, "{} {what} per {}", self.most, self.of.name())?;
        match self.per {
            Period::Life => Ok(()),
            Period::Run | Period::Day => write!(out, " and {}", self.per.name()),
        }
    }
}

impl BudgetScope {
    pub fn name(self) -> &'static str {
        match self {
            BudgetScope::Crawl => "crawl",
            BudgetScope::Host => "host",
            BudgetScope::Domain => "domain",
        }
    }
}

impl What {
    pub fn name(self) -> &'static str {
        match self {
            What::Pages => "pages",
            What::BytesReceived => "bytes_received",
            What::BytesDecoded => "bytes_decoded",
        }
    }
}

impl Period {
    pub fn name(self) -> &'static str {
        match self {
            Period::Life => "life",
            Period::Run => "run",
            Period::Day => "day",
        }
    }
}
