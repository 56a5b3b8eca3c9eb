//! Verdicts: what the validator tells the frontier.

use super::deferred::{Traps, TrapsDone};
use super::learned::{Harvest, Learned};
use super::page::PageRecord;
use super::trouble::{Cause, Trouble};
use super::url_history::Attempt;
use super::work::{Proposal, Proposed};
use seine_delivery::Offset;
use seine_parse::page::{EpochMs, Kind};
use seine_policies::budgets::Amounts;

/// A batch of the validator.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub verdicts: Vec<Verdict>,
    /// Links and sitemap entries found, in scope and within depth.
    pub proposals: Vec<Proposal>,
    /// Hints that known pages have changed.
    pub hints: Vec<Hint>,
    pub traps: Traps,
    /// The lessons about links that the events contain.
    pub learned: Learned,
    /// Number of fetched pages, and of relevant ones.
    pub harvest: Harvest,
    /// The validator's offset in the log after this batch.
    pub cursor: Offset,
}

/// A sitemap or feed says that a page has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub url: String,
    /// The stated time. A time before the last fetch is not a hint.
    pub changed_ms: EpochMs,
    /// The page is rechecked by then.
    pub due: EpochMs,
}

/// The meaning of one event for its URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub url: String,
    pub kind: Kind,
    /// `PageEvent::id`; applying the same id again changes nothing.
    pub event_id: String,
    /// The end of its redirects; none if there were none, or if they led nowhere.
    pub reached: Option<Reached>,
    /// For the user, without its digest. Its time is also the time of the amounts.
    pub attempt: Attempt,
    /// Amounts for budgets, charged to this URL wherever it redirected.
    pub fetched: Amounts,
    pub change: Change,
}

/// The end of redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Normalised.
    pub url: String,
    /// Its page was there, and nothing in the answer forbids to deliver it.
    pub has_page: bool,
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are pages, and a batch has few")]
pub enum Change {
    /// Leaves `work_proposed`, and enters or updates `page`. `due_again`: when it returns to `work_proposed`;
    /// [`super::WHEN_LINKED_AGAIN`]: when its host is no longer given up.
    Page { record: PageRecord, due_again: Option<EpochMs> },
    /// Stays in `work_proposed`, due at `at`. `attempt`: attempts so far with this one, the next
    /// [`super::Work::attempt`]. `put_off`: the next [`super::Work::was_put_off`]. `cause`: for the user.
    Retry { at: EpochMs, attempt: u16, put_off: bool, cause: Option<Cause>, host: HostPause },
}

/// The minimum effect of a failure on the host, in case the release was lost. A release that was not lost says more: a
/// pause within the host's delay has no effect.
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

/// The result of `apply`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Verdicts that changed something.
    pub verdicts: u64,
    pub proposed: Proposed,
    /// If the batch has changes concerning traps.
    pub traps: TrapsDone,
}
