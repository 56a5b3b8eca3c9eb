//! What a fetch means.

use std::sync::Arc;

use seine_parse::page::preferences::Statement;
use seine_parse::page::{Again, Likeness, PageChange, PageEvent, Relevance, TextChange, WasDuplicate, Withheld};

/// The decisions of one fetch. The fields are those of [`PageEvent`].
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub again: Option<Again>,
    pub change: Option<PageChange>,
    pub withheld: Option<Withheld>,
    pub text: Option<TextChange>,
    pub preferences: Option<Vec<Statement>>,
    pub likeness: Option<Likeness>,
    pub was_duplicate: WasDuplicate,
    pub relevance: Relevance,
    pub model: Option<Arc<str>>,
    /// The record of the URL does not change, so the reservations of its fetch are dropped.
    pub drops_reservations: bool,
}

impl Verdict {
    /// Whether the URL has a page of its own, delivered or not.
    pub fn has_page(&self) -> bool {
        match &self.withheld {
            Some(withheld) => withheld.is_of_its_own(),
            None => self.change.is_some_and(|change| change != PageChange::Gone),
        }
    }

    /// The event with its decisions. `facts`: the event that was judged.
    #[must_use]
    pub fn written(self, facts: PageEvent) -> PageEvent {
        let Verdict { again, change, withheld, text, preferences, likeness, was_duplicate, relevance, model, .. } =
            self;
        PageEvent { again, change, withheld, text, preferences, likeness, was_duplicate, relevance, model, ..facts }
    }
}
