//! When to revisit a page: as often as it changes, within the planned number of revisits. Arithmetic only; times are
//! passed in.

mod belief;
mod budget;
mod hints;
mod policy;

use belief::days;
pub use belief::{Belief, worth_after};
pub use budget::Budget;
pub use hints::{Lesson, Outlook, Trust};
pub use policy::{Override, RevisitPolicy, Which};

use minicbor::{Decode, Encode};

use seine_parse::page::{Doubt, EpochMs, PageChange};

/// Value of `History::told` for a page that had hints before and has none now.
const NO_HINT: u32 = 0;
const MINUTE_MS: u64 = 60_000;

/// The history of the fetches of a page.
#[derive(Debug, Clone, Copy, PartialEq, Encode, Decode)]
pub struct History {
    /// When the page last existed.
    #[n(0)]
    pub alive_ms: EpochMs,
    /// Since when the page is in doubt, see [`Doubt`] …
    #[n(3)]
    pub doubted_since: Option<EpochMs>,
    /// How many fetches found a change.
    #[n(1)]
    pub changes: u32,
    #[n(2)]
    pub belief: Belief,
    /// When the page changed according to the first hint after the last fetch, in minutes after that fetch. 0: no hint
    /// since, but there were hints before.
    #[n(4)]
    pub hinted: Option<u32>,
    /// For a sitemap or feed: the number of other pages whose changes it dates.
    #[n(5)]
    pub tells: Option<u32>,
    /// … and which doubt it is.
    #[cbor(n(6), skip_if = "Doubt::is_missing")]
    pub doubt: Doubt,
}

impl History {
    /// For a page seen for the first time, or again after it was gone.
    pub fn new(now: EpochMs) -> History {
        let belief = Belief::default();
        let (doubted_since, doubt) = (None, Doubt::default());
        History { alive_ms: now, doubted_since, changes: 0, belief, hinted: None, tells: None, doubt }
    }

    /// After a fetch that found the page. `trust`: reliability of the host's hints.
    #[must_use]
    pub fn seen(self, now: EpochMs, change: PageChange, trust: Option<&Trust>) -> History {
        let has_changed = change == PageChange::Changed;
        let elapsed_ms = now.saturating_sub(self.alive_ms);
        let is_exact = has_changed && trust.is_some_and(Trust::is_exact);
        let belief = match self.hinted.filter(|hinted| is_exact && *hinted != NO_HINT) {
            Some(hinted) => self.belief.after_change_at((u64::from(hinted) * MINUTE_MS).min(elapsed_ms)),
            None => self.belief.after(elapsed_ms, has_changed),
        };
        let changes = self.changes.saturating_add(u32::from(has_changed));
        let doubt = Doubt::default();
        History { alive_ms: now, doubted_since: None, changes, belief, doubt, ..self.rechecked() }
    }

    /// After any fetch: earlier hints are used up.
    #[must_use]
    pub fn rechecked(self) -> History {
        History { hinted: self.hinted.map(|_| NO_HINT), ..self }
    }

    /// After a fetch at `now` that contradicts the page, for the first time or again. A different doubt starts anew.
    #[must_use]
    pub fn doubted(self, doubt: Doubt, now: EpochMs) -> History {
        let since = self.doubted_since.filter(|_| self.doubt == doubt).unwrap_or(now);
        History { doubted_since: Some(since), doubt, ..self }
    }

    /// After another fetch that found the page as it was.
    #[must_use]
    pub fn without_doubt(self) -> History {
        History { doubted_since: None, doubt: Doubt::default(), ..self }
    }

    /// The doubt about the page, and since when.
    pub fn doubt(&self) -> Option<(Doubt, EpochMs)> {
        self.doubted_since.map(|since| (self.doubt, since))
    }

    /// After a hint that the page changed at `changed_ms`. None if the hint is not news.
    #[must_use]
    pub fn after_hint(self, changed_ms: EpochMs) -> Option<History> {
        let minutes = changed_ms.checked_sub(self.alive_ms)?.div_ceil(MINUTE_MS);
        let is_news = minutes > 0 && !self.has_hint();
        is_news.then(|| History { hinted: Some(u32::try_from(minutes).unwrap_or(u32::MAX)), ..self })
    }

    /// Whether a hint says that the page changed since the last fetch.
    pub fn has_hint(&self) -> bool {
        self.hinted.is_some_and(|hinted| hinted != NO_HINT)
    }

    /// The evidence of a fetch that found the page, about the hints of its host.
    pub fn lesson(&self, now: EpochMs, change: PageChange) -> Option<Lesson> {
        let has_changed = change == PageChange::Changed;
        match self.hinted? {
            NO_HINT => has_changed.then_some(Lesson::Missed),
            _ => {
                let elapsed = days(now.saturating_sub(self.alive_ms));
                Some(Lesson::Hinted { expected: 1.0 - self.belief.unchanged(elapsed) as f32, has_changed })
            }
        }
    }

    /// How the hints of its host affect this page.
    pub fn outlook(&self, trust: Option<&Trust>) -> Outlook {
        let Some(trust) = trust else { return Outlook::default() };
        Outlook::new(trust, self.hinted.is_some(), self.has_hint(), self.tells.unwrap_or_default())
    }
}
