//! One equation of an audit, and its figures.

use serde::Serialize;

/// One equation: `total` is the sum of `parts`.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: String,
    pub total: Figure,
    pub parts: Vec<Figure>,
    pub rule: Rule,
    /// Advice if it does not balance.
    pub remedy: &'static str,
}

/// A number and what it counts.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Figure {
    pub what: &'static str,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The sum of the parts equals the total.
    Equal,
    /// The sum of the parts is at least the total; more is not a loss.
    AtLeast,
}

impl Check {
    pub(super) fn new(
        name: impl Into<String>,
        total: (&'static str, u64),
        parts: &[(&'static str, u64)],
        remedy: &'static str,
    ) -> Check {
        let figure = |&(what, count): &(&'static str, u64)| Figure { what, count };
        let parts = parts.iter().map(figure).collect();
        Check { name: name.into(), total: figure(&total), parts, rule: Rule::Equal, remedy }
    }

    pub(super) fn at_least(mut self) -> Check {
        self.rule = Rule::AtLeast;
        self
    }

    /// Sum of the parts.
    pub fn sum(&self) -> u64 {
        self.parts.iter().map(|part| part.count).sum()
    }

    pub fn balances(&self) -> bool {
        match self.rule {
            Rule::Equal => self.sum() == self.total.count,
            Rule::AtLeast => self.sum() >= self.total.count,
        }
    }

    /// Difference between the sum of the parts and the total.
    pub fn off_by(&self) -> u64 {
        self.sum().abs_diff(self.total.count)
    }
}
