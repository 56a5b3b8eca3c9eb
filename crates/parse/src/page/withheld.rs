//! Why an answer is not delivered.

use serde::{Deserialize, Serialize};

use super::preferences::OptedOut;
use super::{Doubt, EpochMs};

/// Why an answer is not delivered as the page of its URL. If the URL had been delivered before, its page leaves the
/// destinations ([`PageChange::Gone`](super::PageChange::Gone)). Archives may still store the answer
/// ([`Withheld::is_archived`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The page asks not to be indexed: robots meta or `X-Robots-Tag`.
    Noindex,
    /// The publisher forbids a purpose of this crawl.
    OptedOut(Box<OptedOut>),
    /// The page classifier found it irrelevant, and the configuration drops irrelevant pages (ACHE's
    /// `store_negative_pages: false`).
    Irrelevant,
    /// The body was cut. Either the URL is tried again, or a complete page is already known.
    Cut,
    /// The answer contradicts the delivered page, which stays until a second fetch confirms it. `seen_ms`: time of the
    /// answer.
    Doubted { doubt: Doubt, seen_ms: EpochMs },
    /// The page is delivered under another URL, `of`, that led to it first. `target` is the normalised URL of the page:
    /// the target of the redirect, the canonical URL that the page names, or the URL itself if it was not requested.
    Alias { of: String, target: String },
}

impl Withheld {
    /// `noindex`, `opted_out`, `irrelevant`, `cut`, `doubted`, `alias`: the reason as written in change events and
    /// headers.
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

    /// Not final: the page known before stays.
    pub fn is_passing(&self) -> bool {
        matches!(self, Withheld::Cut | Withheld::Doubted { .. })
    }

    /// The URL has a page of its own, which is not delivered.
    pub fn is_of_its_own(&self) -> bool {
        matches!(self, Withheld::Noindex | Withheld::OptedOut(_) | Withheld::Irrelevant)
    }

    /// Whether archives store the answer although it is not delivered. Archives keep what servers answered.
    pub fn is_archived(&self) -> bool {
        match self {
            Withheld::OptedOut(opted_out) => opted_out.archived,
            Withheld::Irrelevant => false,
            Withheld::Noindex | Withheld::Cut | Withheld::Doubted { .. } | Withheld::Alias { .. } => true,
        }
    }
}
