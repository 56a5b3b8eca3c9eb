//! What became of a page since it was last fetched.

use serde::{Deserialize, Serialize};

use super::{Believed, Doubt, Outcome, PageEvent, Withheld};

/// A page against what `page` held of it when it was asked for. The worker judges, while the URL is leased to it and so no
/// other fetch of it can come between; the validator judges by the same rule, and says something else only when the
/// frontier has lost what it knew meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageChange {
    /// It was not there before: never fetched, refused, or gone since.
    New,
    /// The same content, by its digest, or the server says so (304).
    Unchanged,
    Changed,
    /// It was there, and is not any more, as the server says itself, and more than once: 404 or 410. Or it may not be
    /// delivered any more ([`Withheld`]), or asked for ([`FailureReason::takes_away`]).
    Gone,
}

/// A page that was there when it was last asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before<'a> {
    /// Of its content, if that came whole.
    pub digest: Option<&'a [u8; 32]>,
    /// What may be said against it and is to be believed now.
    pub believed: Believed,
    /// It was not delivered.
    pub was_withheld: bool,
    /// Where it came from, if redirects led there.
    pub final_url: Option<&'a str>,
}

impl PageChange {
    /// The rule for final answers. `before`: what the page was, if it was there at the last fetch; `now`: the digest of the
    /// content that came. None for what was no page before and is none now, and for what says nothing of the page (a 403 or
    /// 500 instead of it, a body that broke off, or that it is not there for the first time): it is as it was.
    pub fn judge(event: &PageEvent, before: Option<Before<'_>>, now: &[u8; 32]) -> Option<PageChange> {
        let was_delivered = before.is_some_and(|before| !before.was_withheld);
        match &event.outcome {
            _ if event.withheld.as_ref().is_some_and(Withheld::is_passing) => None,
            Outcome::Response(response) if response.is_cut() && before.is_some() => None,
            _ if event.withheld.is_some() => was_delivered.then_some(PageChange::Gone),
            Outcome::Failure(failure) => {
                // What a redirect leads to may be a page to log in, and says nothing of the page that was there before.
                let is_of_it = |before: Before| event.hops.is_empty() || before.final_url == Some(&event.final_url);
                (failure.reason.takes_away() && before.is_some_and(is_of_it)).then_some(PageChange::Gone)
            }
            Outcome::Response(response) => match PageChange::seen(response.status, before, now)? {
                PageChange::Gone => Some(PageChange::Gone),
                seen if was_delivered => Some(seen),
                // What was not delivered is new to whom it is delivered, and a 304 does not bring it.
                _ => response.is_success().then_some(PageChange::New),
            },
        }
    }

    /// The same of what was seen alone, whether it is delivered or not.
    pub fn seen(status: u16, before: Option<Before<'_>>, now: &[u8; 32]) -> Option<PageChange> {
        let was_there = before.is_some();
        let is_missing = before.is_some_and(|before| before.believed.takes(Doubt::Missing));
        let before = before.and_then(|before| before.digest);
        match (status, was_there) {
            (200..300, false) => Some(PageChange::New),
            (200..300, true) if before == Some(now) => Some(PageChange::Unchanged),
            (200..300, true) => Some(PageChange::Changed),
            (304, true) if before.is_some() => Some(PageChange::Unchanged),
            (404 | 410, true) if is_missing => Some(PageChange::Gone),
            _ => None,
        }
    }

    /// `new`, `unchanged`, `changed`, `gone`.
    pub fn name(self) -> &'static str {
        match self {
            PageChange::New => "new",
            PageChange::Unchanged => "unchanged",
            PageChange::Changed => "changed",
            PageChange::Gone => "gone",
        }
    }
}
