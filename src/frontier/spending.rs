//! Budgets as the frontier keeps them: what was brought, what may still be asked for.

use crate::budgets::Budget;
use crate::page::EpochMs;

/// Why a URL is not to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoBudget {
    Spent(Spent),
    /// What is being asked for may spend the rest.
    InFlight,
}

/// A budget that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub budget: Budget,
    /// From then on it is not spent any more; [`EpochMs::MAX`]: as long as this process runs.
    pub until: EpochMs,
}

/// How far a budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetStanding {
    pub budget: Budget,
    /// By what is validated; none where there is one for every host or domain.
    pub spent: Option<u64>,
    /// What is being asked for, or waits to be validated, comes to this: pages as if each were going to be one.
    pub in_flight: u64,
    /// Hosts with work that rest because of it.
    pub resting: u64,
}

impl BudgetStanding {
    pub fn is_spent(&self) -> bool {
        self.spent.is_some_and(|spent| spent >= self.budget.most)
    }

    /// Pages or bytes that may still be asked for, of a budget of the crawl.
    pub fn left(&self) -> Option<u64> {
        Some(self.budget.most.saturating_sub(self.spent?.saturating_add(self.in_flight)))
    }
}
