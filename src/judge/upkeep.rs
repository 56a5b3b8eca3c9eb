//! Decides what a destination does with an event, so that in the end it holds exactly the live pages.

use seine_parse::page::{PageChange, PageEvent, WasDuplicate, Withheld};
use seine_simulation_hooks::planted;

use crate::config::{Answers, Removed, Unchanged, Upkeep};

/// What to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryAction {
    /// Write the page, if the format can store it.
    Write,
    /// Update only the page's time.
    Touch,
    Skip,
    /// The page is gone: …
    Delete,
    Tombstone,
    Event,
}

impl Upkeep {
    pub(crate) fn due(self, event: &PageEvent) -> DeliveryAction {
        let change = event.change.filter(|_| event.kind.is_delivered());
        let was_left_out = match event.was_duplicate {
            WasDuplicate::No => false,
            WasDuplicate::Yes => self.skip_duplicates,
            WasDuplicate::Unknown => true,
        };
        let (is_gone, keeps) = (change == Some(PageChange::Gone), self.removed == Removed::Keep);
        let is_left_out = event.withheld.as_ref().is_some_and(|withheld| !self.takes(withheld));
        if self.skip_duplicates && event.duplicate_of().is_some() {
            // A page that was delivered before it became a duplicate leaves like any other.
            let was_there = change != Some(PageChange::New) && event.was_duplicate != WasDuplicate::Yes;
            return if was_there { self.leaving() } else { DeliveryAction::Skip };
        }
        if self.skip_duplicates && is_gone && event.was_duplicate == WasDuplicate::Yes {
            // A skipped duplicate was never delivered, so there is nothing to remove.
            return if keeps && !is_left_out { DeliveryAction::Write } else { DeliveryAction::Skip };
        }
        if is_gone && !keeps {
            return self.leaving();
        }
        if is_left_out {
            return DeliveryAction::Skip;
        }
        // The page was a skipped duplicate, so it is new to this destination.
        if was_left_out && matches!(change, Some(PageChange::Changed | PageChange::Unchanged)) && !is_bare(event) {
            return DeliveryAction::Write;
        }
        let is_small = change == Some(PageChange::Changed) && self.is_small(event);
        let is_as_it_was = change == Some(PageChange::Unchanged);
        match self.unchanged {
            Unchanged::Skip if is_small || is_as_it_was => DeliveryAction::Skip,
            Unchanged::Touch if is_small || (is_as_it_was && is_bare(event)) => DeliveryAction::Touch,
            _ => DeliveryAction::Write,
        }
    }

    /// Whether an answer is delivered although it is not the page of its URL.
    fn takes(self, withheld: &Withheld) -> bool {
        match self.answers {
            Answers::None => false,
            Answers::Whole => withheld.is_archived() && !withheld.is_passing(),
            Answers::All => withheld.is_archived(),
        }
    }

    fn leaving(self) -> DeliveryAction {
        match self.removed {
            _ if planted::is("lost_tombstone") => DeliveryAction::Skip,
            Removed::Delete => DeliveryAction::Delete,
            Removed::Tombstone => DeliveryAction::Tombstone,
            Removed::Event => DeliveryAction::Event,
            Removed::Keep => DeliveryAction::Skip,
        }
    }

    /// Whether the page has changed by less than `min_change`. An unknown distance counts as large.
    fn is_small(self, event: &PageEvent) -> bool {
        event.distance(self.min_change).is_some_and(|distance| distance < self.min_change)
    }
}

/// Whether the answer only says that the page is unchanged or gone, without its content. WARC stores such answers.
pub(crate) fn has_no_page(event: &PageEvent) -> bool {
    (event.change == Some(PageChange::Gone) && event.withheld.is_none()) || is_bare(event)
}

fn is_bare(event: &PageEvent) -> bool {
    event.response().is_some_and(|response| response.status == 304)
}
