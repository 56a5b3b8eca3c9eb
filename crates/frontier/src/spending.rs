//! Budgets in the frontier: what was used, and what may still be fetched.

use seine_parse::page::EpochMs;
use seine_policies::budgets::Budget;

/// Why a URL must not be fetched now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBudget {
    Spent(Spent),
    /// Fetches in progress may use up the rest.
    InFlight,
}

/// A used-up budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub budget: Budget,
    /// When it starts again; [`EpochMs::MAX`]: not while this process runs.
    pub until: EpochMs,
}

/// The use of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetStanding {
    pub budget: Budget,
    /// The validated amount; none if each host or domain has a budget of its own.
    pub spent: Option<u64>,
    /// The amount of fetches in progress or not validated: pages as if each URL became one.
    pub in_flight: u64,
    /// Number of hosts with queued URLs that it stops.
    pub resting: u64,
}

impl BudgetStanding {
    pub fn is_spent(&self) -> bool {
        self.spent.is_some_and(|spent| spent >= self.budget.most)
    }

    /// Pages or bytes left in a budget of the crawl.
    pub fn left(&self) -> Option<u64> {
        Some(self.budget.most.saturating_sub(self.spent?.saturating_add(self.in_flight)))
    }
}
