//! Reports used-up budgets, during a run and at its end.

use std::fmt;

use parking_lot::Mutex;
use seine_frontier::{EmbeddedFrontier, Verdicts};
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Budget, BudgetScope, Period};
use seine_system::clock::now_ms;

use crate::telemetry::progress::some;

/// Budgets reported as used up, each with the time when it starts again.
#[derive(Debug, Default)]
pub(crate) struct Spending(Mutex<Vec<(Budget, Option<EpochMs>)>>);

/// A run that ended because of its budgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentBudgets {
    /// Each with the number of hosts that it stops; 0 for a budget of the crawl.
    pub budgets: Vec<(Budget, u64)>,
    /// Remaining hosts and URLs.
    pub hosts: u64,
    pub urls: u64,
}

impl Spending {
    /// Reports when a budget is used up for the first time, and when it starts again. For a budget per host or domain:
    /// when the first host stops because of it.
    pub(super) fn check(&self, frontier: &EmbeddedFrontier) {
        let mut said = self.0.lock();
        let now = now_ms();
        for standing in frontier.budgets(now) {
            let budget = standing.budget;
            let spent = (standing.is_spent() || standing.resting > 0).then(|| budget.begins_anew(now));
            let before = said.iter().find(|(other, _)| *other == budget).map(|(_, until)| *until);
            if spent == before {
                continue;
            }
            match (spent, budget.of) {
                (Some(_), BudgetScope::Crawl) => {
                    tracing::warn!(state = "budget_spent", %budget, "a budget of the crawl is used up: fetching \
                        stops")
                }
                (Some(_), _) => {
                    tracing::warn!(state = "budget_spent", %budget, "a budget is used up: its hosts are not visited")
                }
                (None, _) => tracing::info!(state = "budget_anew", %budget, "budget begins anew"),
            }
            said.retain(|(other, _)| *other != budget);
            said.extend(spent.map(|until| (budget, until)));
        }
    }
}

/// A used-up budget of the crawl, if there is one.
pub(super) fn spent_of_crawl(frontier: &EmbeddedFrontier) -> Option<Budget> {
    let standings = frontier.budgets(now_ms());
    standings.iter().find(|standing| standing.is_spent()).map(|standing| standing.budget)
}

/// Number of hosts that wait because of used-up budgets.
pub(super) fn hosts_without_budget(frontier: &EmbeddedFrontier) -> u64 {
    frontier.budgets(now_ms()).iter().map(|standing| standing.resting).sum()
}

impl SpentBudgets {
    pub(super) fn of(frontier: &EmbeddedFrontier) -> SpentBudgets {
        let standings = frontier.budgets(now_ms()).into_iter();
        let spent = standings.filter(|standing| standing.is_spent() || standing.resting > 0);
        let counts = frontier.counts();
        SpentBudgets {
            budgets: spent.map(|standing| (standing.budget, standing.resting)).collect(),
            hosts: counts.hosts_with_work,
            urls: counts.work_proposed,
        }
    }

    pub(super) fn write_budgets(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (budget, hosts) in &self.budgets {
            let anew = match budget.per {
                Period::Day => ", anew at midnight UTC",
                Period::Run => ", anew with the next start",
                Period::Life => "",
            };
            match hosts {
                0 => writeln!(out, "  budget spent: {budget}{anew}")?,
                hosts => writeln!(out, "  {} with a spent budget: {budget}{anew}", some(*hosts, "host"))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for SpentBudgets {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (urls, hosts) = (some(self.urls, "URL"), some(self.hosts, "host"));
        writeln!(out, "Ended: budget spent; still to fetch: {urls} of {hosts}.")?;
        self.write_budgets(out)
    }
}
