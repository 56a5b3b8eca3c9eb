//! `budget.rules`: a list of entries. Each says whose budget it is, for which period, and how much of what.

use ::config::{Value, ValueKind};
use seine_policies::budgets::{Budget, BudgetScope, Period, What};

use super::values::{count, entries, of_entry, shown_size, size, text};

const EXPECTED: &str = "a list of budgets, each like {of: host, per: day, pages: 1000, bytes_received: 1GiB}";

/// An entry with several amounts becomes one budget per amount.
pub(super) fn budgets(value: &Value) -> Result<Vec<Budget>, String> {
    let mut budgets: Vec<Budget> = Vec::new();
    for (index, entry) in entries(value, EXPECTED)?.iter().enumerate() {
        let expected = |what: String| of_entry(EXPECTED, index, &what);
        for budget in one(entry).map_err(expected)? {
            if budgets.iter().any(|other| other.is_twin_of(&budget)) {
                let Budget { of, what, per, .. } = budget;
                let what = format!("a second budget of {} per {} and {}", what.name(), of.name(), per.name());
                return Err(expected(what));
            }
            budgets.push(budget);
        }
    }
    Ok(budgets)
}

fn one(value: &Value) -> Result<Vec<Budget>, String> {
    let ValueKind::Table(entries) = &value.kind else { return Err("this is not a mapping".into()) };
    let (mut of, mut per, mut amounts) = (None, Period::Life, Vec::new());
    for (name, value) in entries {
        let word = text(value).map_err(|_| format!("{name} has no value"))?;
        let expected = |what: &str| format!("{name} is {word:?}, not {what}");
        let bytes = || size(value, 1).map_err(|what| expected(&what));
        match name.as_str() {
            "of" => of = Some(whom(word).ok_or_else(|| expected("crawl, host or domain"))?),
            "per" => per = period(word).ok_or_else(|| expected("life, run or day"))?,
            "pages" => amounts.push((What::Pages, count(value, 1, u64::MAX).map_err(|what| expected(&what))?)),
            "bytes_received" => amounts.push((What::BytesReceived, bytes()?)),
            "bytes_decoded" => amounts.push((What::BytesDecoded, bytes()?)),
            other => return Err(format!("{other} is not one of of, per, pages, bytes_received and bytes_decoded")),
        }
    }
    let of = of.ok_or("of is missing: crawl, host or domain")?;
    if amounts.is_empty() {
        return Err("the amount is missing: pages, bytes_received or bytes_decoded".into());
    }
    Ok(amounts.into_iter().map(|(what, most)| Budget { of, what, per, most }).collect())
}

fn whom(word: &str) -> Option<BudgetScope> {
    [BudgetScope::Crawl, BudgetScope::Host, BudgetScope::Domain].into_iter().find(|whom| whom.name() == word)
}

fn period(word: &str) -> Option<Period> {
    [Period::Life, Period::Run, Period::Day].into_iter().find(|period| period.name() == word)
}

/// The budgets as YAML, one entry per budget.
pub(super) fn shown(budgets: &[Budget]) -> String {
    let one = |Budget { of, what, per, most }: &Budget| {
        let most = if *what == What::Pages { most.to_string() } else { shown_size(*most) };
        format!("{{of: {}, per: {}, {}: {most}}}", of.name(), per.name(), what.name())
    };
    format!("[{}]", budgets.iter().map(one).collect::<Vec<_>>().join(", "))
}
