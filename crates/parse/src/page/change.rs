//! How a page changed since its last fetch: new, unchanged, changed or gone.

use serde::{Deserialize, Serialize};

use super::Believed;

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
    /// longer be delivered ([`Withheld`](super::Withheld)) or fetched ([`takes_away`](super::FailureReason::takes_away)).
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
