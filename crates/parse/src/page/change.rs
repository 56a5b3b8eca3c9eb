//! How a page changed since its last fetch: new, unchanged, changed or gone.

use serde::{Deserialize, Serialize};

use super::{Believed, Doubt, Outcome, PageEvent, Withheld};

/// The result of comparing a fetched page with its record. The worker decides it while it holds the lease of the URL,
/// so no other fetch can come between. The validator applies the same rule. Its result differs only if the frontier
/// lost the record in the meantime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageChange {
    /// No page was known: the URL was never fetched, was refused, or was gone.
    New,
    /// The content has the same digest, or the server answered 304.
    Unchanged,
    Changed,
    /// The page existed and is gone: the server answered 404 or 410 more than once. Also set when the page may no
    /// longer be delivered ([`Withheld`]) or fetched ([`takes_away`](super::FailureReason::takes_away)).
    Gone,
}

/// What the record says of a page that existed at the last fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before<'a> {
    /// Digest of the content; none if the body was cut.
    pub digest: Option<&'a [u8; 32]>,
    /// Which doubts about the page count as confirmed now.
    pub believed: Believed,
    /// The page was fetched but not delivered.
    pub was_withheld: bool,
    /// The final URL, if the request was redirected.
    pub final_url: Option<&'a str>,
}

impl PageChange {
    /// Decides the change for a final answer. `before` is the record of the page, if it existed; `now` is the digest of
    /// the content just fetched.
    ///
    /// Returns None if no page existed and none exists now. Also returns None if the answer says nothing about the
    /// page, so the page stays as it was: a 403 or 500, a cut body, or a first 404.
    pub fn judge(event: &PageEvent, before: Option<Before<'_>>, now: &[u8; 32]) -> Option<PageChange> {
        let was_delivered = before.is_some_and(|before| !before.was_withheld);
        match &event.outcome {
            _ if event.withheld.as_ref().is_some_and(Withheld::is_passing) => None,
            Outcome::Response(response) if response.is_cut() && before.is_some() => None,
            _ if event.withheld.is_some() => was_delivered.then_some(PageChange::Gone),
            Outcome::Failure(failure) => {
                let takes_away = |before: Before| match event.leads_nowhere(before.final_url) {
                    // For an hour it may lead to a login page. So a second fetch must confirm it.
                    true => before.believed.takes(Doubt::Elsewhere),
                    false => failure.reason.takes_away(),
                };
                before.is_some_and(takes_away).then_some(PageChange::Gone)
            }
            Outcome::Response(response) => match PageChange::seen(response.status, before, now)? {
                PageChange::Gone => Some(PageChange::Gone),
                seen if was_delivered => Some(seen),
                // Destinations do not have a page that was withheld, so it is new to them. A 304 brings no content to
                // deliver.
                _ => response.is_success().then_some(PageChange::New),
            },
        }
    }

    /// Compares the fetched page with its record. Ignores whether the page was delivered.
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
