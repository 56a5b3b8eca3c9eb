//! What the validator makes of events, as the frontier is told.

use super::held::{Traps, TrapsDone};
use super::learned::{Harvest, Learned};
use super::page::PageRecord;
use super::past::Attempt;
use super::trouble::{Cause, Trouble};
use super::work::{Proposal, Proposed};
use crate::budgets::Amounts;
use crate::delivery::Position;
use crate::page::{EpochMs, Kind};

/// What the validator hands over at once.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub verdicts: Vec<Verdict>,
    /// Links and sitemap entries found, in scope and within depth.
    pub proposals: Vec<Proposal>,
    /// Of pages known already: that they have changed.
    pub hints: Vec<Hint>,
    pub traps: Traps,
    /// What was learned of links from the events.
    pub learned: Learned,
    /// How many pages came, and how many were relevant.
    pub harvest: Harvest,
    /// The validator's place in the log behind this batch.
    pub cursor: Position,
}

/// A sitemap or a feed says of a page that it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub url: String,
    /// When, as it is said. What is not after the last look is none.
    pub changed_ms: EpochMs,
    /// The page is looked at again no later than that.
    pub due: EpochMs,
}

/// What one event means for its URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub url: String,
    pub kind: Kind,
    /// `PageEvent::id`; the same id applied again changes nothing.
    pub event_id: String,
    /// Where its redirects led, normalised, whatever came of it; none when they led nowhere.
    pub reached: Option<String>,
    /// For people, without its digest; and when it was, for what it brought.
    pub attempt: Attempt,
    /// Its URL pays for it, wherever that was redirected to.
    pub brought: Amounts,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are pages, and a batch has few")]
pub enum Change {
    /// Leaves `work_proposed`, enters or updates `page`. `due_again`: when it goes back to `work_proposed`;
    /// [`super::WHEN_MET_AGAIN`]: with its host, once that is no longer given up.
    Page { record: PageRecord, due_again: Option<EpochMs> },
    /// Stays in `work_proposed`, due at `at`. `attempt`: attempts so far, this one included: what the next
    /// [`super::Work::attempt`] will be. `put_off`: what the next [`super::Work::was_put_off`] will be. `cause`: for people.
    Retry { at: EpochMs, attempt: u16, put_off: bool, cause: Option<Cause>, host: HostPause },
}

/// What a failure means for the host, at least, should the release that said so be lost. One that was not has said more:
/// a pause no longer than the host rests anyway tells nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostPause {
    pub not_before: EpochMs,
    pub trouble: Option<Trouble>,
}

impl HostPause {
    /// The longer pause, and both accounts of the trouble.
    pub(super) fn and(self, other: HostPause) -> HostPause {
        let not_before = self.not_before.max(other.not_before);
        HostPause { not_before, trouble: Trouble::both(self.trouble, other.trouble) }
    }
}

/// What `apply` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Verdicts that changed something.
    pub verdicts: u64,
    pub proposed: Proposed,
    /// When the batch says anything of traps.
    pub traps: TrapsDone,
}
