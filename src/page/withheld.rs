//! Why an answer is not delivered.

use serde::{Deserialize, Serialize};

use super::preferences::OptedOut;
use super::{Doubt, EpochMs};

/// Why an answer is not delivered as the page of the URL that was asked for. What was delivered under that URL leaves the
/// destinations ([`PageChange::Gone`](super::PageChange::Gone)); archives may hold the answer all the same ([`Withheld::is_archived`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The page asks not to be indexed: robots meta or `X-Robots-Tag`.
    Noindex,
    /// Its publisher does not want it used for what this crawl is for.
    OptedOut(Box<OptedOut>),
    /// A page classifier holds it not relevant, and such are not wanted (ACHE's `store_negative_pages: false`).
    Irrelevant,
    /// The body broke off, and is asked for again or came whole before.
    Cut,
    /// It speaks against the page that was delivered, which stays until a second look agrees. `seen_ms`: when that was seen.
    Doubted { doubt: Doubt, seen_ms: EpochMs },
    /// The page is delivered under another URL that led to it first. `target`: which page, by its own URL (normalised): where the
    /// answer, a redirect, leads to, or what it names as its canonical URL; the URL itself when it was not even asked for.
    Alias { of: String, target: String },
}

impl Withheld {
    /// `noindex`, `opted_out`, `irrelevant`, `cut`, `doubted`, `alias`: the reason in change events and headers.
    pub fn name(&self) -> &'static str {
        match self {
            Withheld::Noindex => "noindex",
            Withheld::OptedOut(_) => "opted_out",
            Withheld::Irrelevant => "irrelevant",
            Withheld::Cut => "cut",
            Withheld::Doubted { .. } => "doubted",
            Withheld::Alias { .. } => "alias",
        }
    }

    /// It is not the last word on its URL: the page that was there stays.
    pub fn is_passing(&self) -> bool {
        matches!(self, Withheld::Cut | Withheld::Doubted { .. })
    }

    /// A page of the URL's own, which is not to be delivered.
    pub fn is_of_its_own(&self) -> bool {
        matches!(self, Withheld::Noindex | Withheld::OptedOut(_) | Withheld::Irrelevant)
    }

    /// Whether archives, which keep what was answered, hold the answer all the same.
    pub fn is_archived(&self) -> bool {
        match self {
            Withheld::OptedOut(opted_out) => opted_out.archived,
            Withheld::Irrelevant => false,
            Withheld::Noindex | Withheld::Cut | Withheld::Doubted { .. } | Withheld::Alias { .. } => true,
        }
    }
}
