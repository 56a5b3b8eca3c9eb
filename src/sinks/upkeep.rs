//! What a destination does with an event, so that in the end it holds the pages that are live.

use crate::config::{Answers, Removed, Unchanged, Upkeep};
use crate::page::{PageChange, PageEvent, WasDuplicate, Withheld};
use crate::planted;

/// What is to be done with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Written, if the format holds it.
    Write,
    /// The page's time is brought up to date.
    Touch,
    Skip,
    /// The page is gone: …
    Delete,
    Tombstone,
    Event,
}

impl Upkeep {
    pub(crate) fn due(self, event: &PageEvent) -> Due {
        let change = event.change.filter(|_| event.kind.is_delivered());
        let was_left_out = match event.was_duplicate {
            WasDuplicate::No => false,
            WasDuplicate::Yes => self.skip_duplicates,
            WasDuplicate::Unknown => true,
        };
        let (is_gone, keeps) = (change == Some(PageChange::Gone), self.removed == Removed::Keep);
        let is_left_out = event.withheld.as_ref().is_some_and(|withheld| !self.takes(withheld));
        if self.skip_duplicates && event.duplicate_of().is_some() {
            // Of one that was there before it became a duplicate: as of any that leaves.
            let was_there = change != Some(PageChange::New) && event.was_duplicate != WasDuplicate::Yes;
            return if was_there { self.leaving() } else { Due::Skip };
        }
        if self.skip_duplicates && is_gone && event.was_duplicate == WasDuplicate::Yes {
            // What is not there need not leave.
            return if keeps && !is_left_out { Due::Write } else { Due::Skip };
        }
        if is_gone && !keeps {
            return self.leaving();
        }
        if is_left_out {
            return Due::Skip;
        }
        // It is new here, whatever it is to others.
        if was_left_out && matches!(change, Some(PageChange::Changed | PageChange::Unchanged)) && !is_bare(event) {
            return Due::Write;
        }
        let is_small = change == Some(PageChange::Changed) && self.is_small(event);
        let is_as_it_was = change == Some(PageChange::Unchanged);
        match self.unchanged {
            Unchanged::Skip if is_small || is_as_it_was => Due::Skip,
            Unchanged::Touch if is_small || (is_as_it_was && is_bare(event)) => Due::Touch,
            _ => Due::Write,
        }
    }

    /// Whether an answer goes there though it is not its URL's page.
    fn takes(self, withheld: &Withheld) -> bool {
        match self.answers {
            Answers::None => false,
            Answers::Whole => withheld.is_archived() && !withheld.is_passing(),
            Answers::All => withheld.is_archived(),
        }
    }

    fn leaving(self) -> Due {
        match self.removed {
            _ if planted::is("lost_tombstone") => Due::Skip,
            Removed::Delete => Due::Delete,
            Removed::Tombstone => Due::Tombstone,
            Removed::Event => Due::Event,
            Removed::Keep => Due::Skip,
        }
    }

    /// The page has changed by less than matters here. What is not known to be little is much.
    fn is_small(self, event: &PageEvent) -> bool {
        event.distance(self.min_change).is_some_and(|distance| distance < self.min_change)
    }
}

/// What came says of a page that it is as it was, or gone, and the page is not in it. WARC holds such answers.
pub(crate) fn has_no_page(event: &PageEvent) -> bool {
    (event.change == Some(PageChange::Gone) && event.withheld.is_none()) || is_bare(event)
}

fn is_bare(event: &PageEvent) -> bool {
    event.response().is_some_and(|response| response.status == 304)
}
