//! When pages are looked at again: the policy, and the price of a look as it has settled, kept with the frontier.

use parking_lot::Mutex;

use crate::config::FrontierConfig;
use crate::frontier::{Frontier, FrontierError, PageRecord};
use crate::page::EpochMs;
use crate::revisit::{Budget, History, Outlook, RevisitPolicy};

/// The note with the price, and the mean interval it belongs to.
const NOTE: &str = "recrawl";

#[derive(Debug)]
pub struct Looks {
    policy: RevisitPolicy,
    /// None when pages are not looked at again.
    budget: Option<Mutex<Budget>>,
}

/// What the note says.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Kept {
    interval_ms: u64,
    price: f64,
}

impl Looks {
    /// Takes the price up where it was, if the mean interval is what it was.
    pub fn open(frontier: &dyn Frontier, config: &FrontierConfig, now: EpochMs) -> Result<Looks, FrontierError> {
        let policy = config.revisit.clone();
        let Some(interval) = policy.interval else { return Ok(Looks { policy, budget: None }) };
        let interval_ms = interval.as_millis() as u64;
        // What cannot be read is found again.
        let kept = frontier.note(NOTE)?.and_then(|note| serde_json::from_str::<Kept>(&note).ok());
        let price = kept.filter(|kept| kept.interval_ms == interval_ms).map(|kept| kept.price);
        let budget = Budget::new(interval_ms, price, now);
        Ok(Looks { policy, budget: Some(Mutex::new(budget)) })
    }

    /// Counts a look that found a page of before there again.
    pub fn count(&self, frontier: &dyn Frontier, before: &History, now: EpochMs) -> Result<(), FrontierError> {
        let (Some(budget), Some(interval)) = (&self.budget, self.policy.interval) else { return Ok(()) };
        let counts = frontier.counts();
        let pages = counts.live + counts.withheld;
        let price = {
            let mut budget = budget.lock();
            let elapsed_ms = now.saturating_sub(before.alive_ms);
            let is_late = self.policy.is_late(before.belief, Outlook::default(), budget.price(), elapsed_ms);
            match budget.looked(now, pages, is_late) {
                true => budget.price(),
                false => return Ok(()),
            }
        };
        let kept = Kept { interval_ms: interval.as_millis() as u64, price };
        frontier.set_note(NOTE, &serde_json::to_string(&kept).unwrap_or_default())
    }

    /// When a page is looked at again that is, or was, there; none: never.
    pub fn due(&self, record: &PageRecord, now: EpochMs) -> Option<EpochMs> {
        let history = record.history()?;
        if record.state.is_there() && history.missing_since.is_some() {
            return Some(now + self.policy.confirm_ms());
        }
        let price = self.budget.as_ref()?.lock().price();
        Some(
            now + match record.state.is_there() {
                true => self.policy.interval_ms(history.belief, Outlook::default(), price),
                false => self.policy.gone_ms(history.alive_ms, now),
            },
        )
    }

    /// Whether an answer that a page is not there takes it away.
    pub fn may_be_gone(&self, history: Option<History>, now: EpochMs) -> bool {
        self.policy.is_gone(history.and_then(|history| history.missing_since), now)
    }
}
