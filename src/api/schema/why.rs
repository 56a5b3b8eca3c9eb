//! JSON types for one URL.

use seine_frontier::Refused;
use seine_parse::page::preferences::Statement;
use seine_parse::page::{Doubt, EpochMs};
use serde::{Deserialize, Serialize};

use super::HostStatus;

/// Everything known about a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Why {
    /// Normalised.
    pub url: String,
    /// The state: `live`, `gone`, `refused`, `failed`, `withheld`, `alias`, `waiting`, `in_flight`, `out_of_scope`,
    /// `unknown`.
    pub state: String,
    /// The reason, in a sentence.
    pub reason: String,
    pub scope: ScopeVerdict,
    pub robots: RobotsVerdict,
    /// Statements of its publisher about its use, as far as known.
    pub preferences: Vec<PreferenceStory>,
    pub host: Option<HostStatus>,
    pub found: Discovery,
    pub attempts: Attempts,
    pub queue: Option<QueueStory>,
    pub page: Option<PageStory>,
    /// Its aliases, up to 20.
    pub aliases: Vec<String>,
    /// URLs whose pages are duplicates of this one, up to 20.
    pub duplicates: Vec<String>,
    pub budget: Option<String>,
    pub sinks: Vec<SinkStory>,
}

/// How a URL was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Discovery {
    /// The first link; none: it was found before this was recorded.
    pub first: Option<FoundLink>,
    /// The last link; none: not known. A running crawl knows it for recently read pages, a stopped one never.
    pub last: Option<FoundLink>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLink {
    /// `seed`, `added` (a seed added later), `robots_txt`, `link`, `sitemap`, `feed`, `canonical`.
    pub way: String,
    /// The page with the link; none for a seed, and for a page that is no longer known.
    pub on: Option<String>,
    /// When the page was read or the seed given, to the second.
    pub at_ms: EpochMs,
    /// Who added the seed later, if the log of orders shows it.
    pub by: Option<String>,
}

/// Attempts to fetch a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attempts {
    /// Recorded attempts.
    pub in_all: u64,
    /// The last ones, oldest first: six, or four if the content changed each time.
    pub last: Vec<AttemptStory>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStory {
    /// When it ended, to the second.
    pub at_ms: EpochMs,
    /// `status 200`, or a reason of failure.
    pub outcome: String,
    /// The URL was charged for it. False for host trouble.
    pub counts: bool,
    /// The beginning of the content's SHA-256, hexadecimal, if the content changed.
    pub digest: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScopeVerdict {
    pub is_admitted: bool,
    /// The rule that refuses it.
    pub rule: Option<String>,
    /// Refused links to its host; kept only for the hosts with the most.
    pub refused: Option<Refused>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RobotsVerdict {
    /// `allowed`, `denied`, `unreachable`, `unknown` (never fetched), `ignored`.
    pub verdict: String,
    /// The line that decided, and its number.
    pub line: Option<String>,
    pub line_number: Option<u32>,
    pub fetched_ms: Option<EpochMs>,
    pub expires_ms: Option<EpochMs>,
}

/// A statement about a page's use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PreferenceStory {
    #[serde(flatten)]
    pub statement: Statement,
    /// The line of robots.txt.
    pub text: Option<String>,
    /// The purpose of this crawl that it forbids.
    pub forbids: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QueueStory {
    /// When it is due, if that is known.
    pub due_ms: Option<EpochMs>,
    /// URLs of its host that come first; counted up to 10,000.
    pub ahead: Option<u64>,
    pub depth: u16,
    /// Attempts charged to the URL so far.
    pub attempts: u16,
    /// The last failure: `timeout`, `status 503`.
    pub last_failure: Option<String>,
    pub is_revisit: bool,
    /// Its score from what is known now, if links have scores.
    #[serde(default)]
    pub rank: Option<RankStory>,
}

/// How likely the URL's page is relevant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankStory {
    /// 0 to 1.
    pub rank: f64,
    /// What raises or lowers it, the largest first.
    pub reasons: Vec<RankReason>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankReason {
    /// `page` (the page with the link), `harvest` (of its host), `place` (the host and the part of it), `anchor`,
    /// `around` (words beside the link), `url` (its words).
    pub of: String,
    /// Added to the logarithm of the odds.
    pub adds: f64,
}

/// An unconfirmed removal of a live page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtStory {
    pub what: Doubt,
    pub since_ms: EpochMs,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageStory {
    pub event_id: String,
    pub status: u16,
    /// The fetch that this describes. Later ones that left it as it was are only among the attempts.
    pub fetched_ms: EpochMs,
    /// When it was last live.
    pub alive_ms: Option<EpochMs>,
    /// Since when it answers 404 or 410, while the removal is not confirmed.
    pub missing_since_ms: Option<EpochMs>,
    /// A sign of removal, until a second fetch confirms it.
    #[serde(default)]
    pub doubt: Option<DoubtStory>,
    /// Number of changes seen, and the estimated rate of change.
    pub changes: u32,
    pub changes_a_day: Option<f64>,
    pub depth: u16,
    /// SHA-256 of the content, hexadecimal.
    pub digest: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Its redirect target.
    pub final_url: Option<String>,
    /// The URL under which its page is delivered, if it is an alias.
    pub alias_of: Option<String>,
    pub noindex: bool,
    /// Result of the page classifier, 0 to 1; none if it was not asked.
    pub relevance: Option<f64>,
    pub is_relevant: Option<bool>,
    /// Name of that classifier.
    pub relevance_model: Option<String>,
    /// The page that it duplicates …
    pub duplicate_of: Option<String>,
    /// … `exact` or `near` …
    pub duplicate_kind: Option<String>,
    /// … and about how many of 100 words differ.
    pub duplicate_distance: Option<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SinkStory {
    pub sink: String,
    /// `pending`, `delivered`, `removed`, `dead`, `nothing` (the sink takes no such page), `missed` (accepted before
    /// the sink was added), `not_yet` (nothing is accepted), `unknown` (accepted before offsets were recorded; or
    /// the page is unchanged, and the sink was added or started again later, so it may not have got it).
    pub state: String,
    /// Earlier events of the log that the sink has not consumed.
    pub ahead: Option<u64>,
    /// Why it is a dead letter, or was removed.
    pub reason: Option<String>,
    /// Its location, if requested and known …
    pub location: Option<DeliveredLocation>,
    /// … and why it is unknown.
    pub location_unknown: Option<String>,
}

/// Location of a page at a destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeliveredLocation {
    Message {
        topic: String,
        partition: i32,
        offset: i64,
    },
    Document {
        index: String,
        id: String,
        version: i64,
    },
    /// `record`: the number of the record in the file, from 1. `offset`: the byte at which it starts in the file, or in
    /// the decompressed stream if the file is one. Both are missing if the file has only this page.
    Record {
        file: String,
        record: Option<u64>,
        offset: Option<u64>,
    },
}
