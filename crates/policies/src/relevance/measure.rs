//! Quality of a classifier: compares its verdicts with the true classes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Rounds the numbers of a model. Further digits are noise and would differ between machines.
pub(super) fn rounded(number: f64) -> f64 {
    // adding 0 turns -0 into 0
    (number * 1e6).round() / 1e6 + 0.0
}

/// The verdict on a page, and its true class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    pub relevance: f64,
    pub is_taken: bool,
    pub is_relevant: bool,
}

/// Quality measures for a set of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    pub accuracy: f64,
    /// Share of the pages judged relevant that are relevant.
    pub precision: f64,
    /// Share of the relevant pages that were judged relevant.
    pub recall: f64,
    pub f1: f64,
    /// Mean squared error of the relevance: 0 is best. Always answering the share of relevant pages gives at most 0.25.
    pub brier: f64,
}

/// Width of the bars in the report.
const BAR: usize = 40;

impl Figures {
    pub fn of(judged: &[Judged]) -> Figures {
        let count = |holds: &dyn Fn(&Judged) -> bool| judged.iter().filter(|it| holds(it)).count() as f64;
        // With no pages the share counts as 1.
        let share = |part: f64, all: f64| if all == 0.0 { 1.0 } else { part / all };
        let both = count(&|it| it.is_taken && it.is_relevant);
        let (taken, relevant) = (count(&|it| it.is_taken), count(&|it| it.is_relevant));
        let square = |it: &Judged| (it.relevance - f64::from(u8::from(it.is_relevant))).powi(2);
        Figures {
            accuracy: rounded(share(count(&|it| it.is_taken == it.is_relevant), judged.len() as f64)),
            precision: rounded(share(both, taken)),
            recall: rounded(share(both, relevant)),
            f1: rounded(share(2.0 * both, taken + relevant)),
            brier: rounded(judged.iter().map(square).sum::<f64>() / (judged.len() as f64).max(1.0)),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { accuracy, precision, recall, f1, brier } = self;
        writeln!(f, "  accuracy  {accuracy:.3}")?;
        writeln!(f, "  precision {precision:.3}   share of the pages judged relevant that are")?;
        writeln!(f, "  recall    {recall:.3}   share of the relevant pages that were found")?;
        writeln!(f, "  F1        {f1:.3}")?;
        writeln!(f, "  Brier     {brier:.3}   mean squared error of the relevance; 0 is best")
    }
}

/// A calibration report: whether a relevance of 0.7 means that seven of ten such pages are relevant. One line per
/// tenth, with a bar for the true share and a mark where the bar should end.
pub fn calibration(judged: &[Judged]) -> String {
    let mut text = format!("  {:<11}{:>7}  {:>6}  {:>8}\n", "relevance", "pages", "mean", "relevant");
    for tenth in 0..10_u8 {
        let is_in = |it: &&Judged| (it.relevance * 10.0).min(9.0) as u8 == tenth;
        let pages: Vec<&Judged> = judged.iter().filter(is_in).collect();
        if pages.is_empty() {
            continue;
        }
        let mean = pages.iter().map(|it| it.relevance).sum::<f64>() / pages.len() as f64;
        let share = pages.iter().filter(|it| it.is_relevant).count() as f64 / pages.len() as f64;
        let at = |share: f64| (share * BAR as f64).round() as usize;
        let mut bar: Vec<char> = "█".repeat(at(share)).chars().chain(" ".repeat(BAR - at(share)).chars()).collect();
        bar.insert(at(mean), '|');
        let (from, to) = (f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0);
        let bar: String = bar.into_iter().collect();
        text += &format!("  {from:.1} to {to:.1} {:>7}  {mean:>6.3}  {share:>8.3}  {}\n", pages.len(), bar.trim_end());
    }
    text
}
