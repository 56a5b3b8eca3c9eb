//! What is said of one URL.

use serde::{Deserialize, Serialize};

use super::HostStatus;
use crate::frontier::Refused;
use crate::page::preferences::Statement;
use crate::page::{Doubt, EpochMs};

/// The story of a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Why {
    /// Normalised: as the crawl knows it.
    pub url: String,
    /// One word: `live`, `gone`, `refused`, `failed`, `withheld`, `alias`, `waiting`, `in_flight`, `out_of_scope`, `unknown`.
    pub state: String,
    /// Why it is so, in a sentence.
    pub reason: String,
    pub scope: ScopeVerdict,
    pub robots: RobotsVerdict,
    /// What its publisher says of its use, as far as is known.
    pub preferences: Vec<PreferenceSaid>,
    pub host: Option<HostStatus>,
    pub found: Discovery,
    pub attempts: Attempts,
    pub queue: Option<QueuePlace>,
    pub page: Option<PageStory>,
    /// URLs that lead to it and are its aliases, up to 20.
    pub aliases: Vec<String>,
    /// URLs whose pages are duplicates of this one's, up to 20.
    pub duplicates: Vec<String>,
    pub budget: Option<String>,
    pub sinks: Vec<SinkPlace>,
}

/// What led to a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Discovery {
    /// First; none: it was known before that was noted.
    pub first: Option<FoundLink>,
    /// Last; none: not remembered. A running crawl does of the last pages that it read, and none at rest.
    pub last: Option<FoundLink>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLink {
    /// `seed`, `added` (a seed given later), `robots_txt`, `link`, `sitemap`, `feed`, `canonical`.
    pub way: String,
    /// Where the link is; none of a seed, and of a page that is not known any more.
    pub on: Option<String>,
    /// When that was read or given, to the second.
    pub at_ms: EpochMs,
    /// Who gave it later, as far as the log of orders says.
    pub by: Option<String>,
}

/// Attempts at a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attempts {
    /// As far as they were noted.
    pub in_all: u64,
    /// The last ones, the oldest first: six, or four where each brought other content.
    pub last: Vec<AttemptStory>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStory {
    /// Its end, to the second.
    pub at_ms: EpochMs,
    /// `status 200`, or a reason of failure.
    pub outcome: String,
    /// The URL paid for it; not what was its host's trouble.
    pub counts: bool,
    /// The beginning of the content's SHA-256, hexadecimal, where it was another than before.
    pub digest: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScopeVerdict {
    pub is_admitted: bool,
    /// The rule that refuses it.
    pub rule: Option<String>,
    /// Links to its host that were refused, as far as they are remembered: of the hosts with the most.
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

/// Something that is said of a page's use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PreferenceSaid {
    #[serde(flatten)]
    pub statement: Statement,
    /// The line of robots.txt as it stands.
    pub text: Option<String>,
    /// The purpose of the crawl that it forbids.
    pub forbids: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QueuePlace {
    /// When it may be asked for, as far as that can be told.
    pub due_ms: Option<EpochMs>,
    /// URLs of its host before it; counted up to 10,000.
    pub ahead: Option<u64>,
    pub depth: u16,
    /// Attempts so far that it paid for.
    pub attempts: u16,
    /// What the last attempt failed with: `timeout`, `status 503`.
    pub last_failure: Option<String>,
    pub is_revisit: bool,
    /// Where links are ranked: by what is known now.
    #[serde(default)]
    pub rank: Option<RankStory>,
}

/// How likely it is that a URL's page is relevant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankStory {
    /// 0 to 1.
    pub rank: f64,
    /// What adds to it, or takes from it, the most first.
    pub reasons: Vec<RankReason>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankReason {
    /// `page` (that the link is on), `harvest` (of its host), `place` (the host, and the part of it), `anchor`, `around` (words
    /// beside the link), `url` (its words).
    pub of: String,
    /// To the logarithm of the odds.
    pub adds: f64,
}

/// What an answer said against a page that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtStory {
    pub what: Doubt,
    pub since_ms: EpochMs,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageStory {
    pub event_id: String,
    pub status: u16,
    pub fetched_ms: EpochMs,
    /// When it was last there.
    pub alive_ms: Option<EpochMs>,
    /// Since when it answers that it is not there, while that is not confirmed.
    pub missing_since_ms: Option<EpochMs>,
    /// What speaks against it as it was, until a second look agrees.
    #[serde(default)]
    pub doubt: Option<DoubtStory>,
    /// How often it had changed when it was looked at; and how often it does, as far as looks have told.
    pub changes: u32,
    pub changes_a_day: Option<f64>,
    pub depth: u16,
    /// SHA-256 of the content, hexadecimal.
    pub digest: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Where its redirects led.
    pub final_url: Option<String>,
    /// Under which URL its page is delivered, if it is another's.
    pub alias_of: Option<String>,
    pub noindex: bool,
    /// What the page classifier said of it, 0 to 1; none where none was asked.
    pub relevance: Option<f64>,
    pub is_relevant: Option<bool>,
    /// That classifier's name.
    pub relevance_model: Option<String>,
    /// The first page with the same content or nearly the same text, if this is not it …
    pub duplicate_of: Option<String>,
    /// … `exact` or `near` …
    pub duplicate_kind: Option<String>,
    /// … and the bits of a simhash that both texts differ in.
    pub duplicate_distance: Option<u8>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SinkPlace {
    pub sink: String,
    /// `pending`, `delivered`, `removed`, `dead`, `nothing` (the sink holds no such page), `missed` (it was accepted before the sink
    /// came), `not_yet` (nothing is accepted), `unknown` (accepted before places were noted).
    pub state: String,
    /// Events of the log before it that the sink has not dealt with.
    pub ahead: Option<u64>,
    /// Why it is dead, or was removed.
    pub reason: Option<String>,
    /// Where it is, where that was asked and can be told …
    pub place: Option<DeliveredPlace>,
    /// … and why it cannot.
    pub place_unknown: Option<String>,
}

/// Where a destination has a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeliveredPlace {
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
    /// `record`: the how manieth page of the file, from 1; `offset`: where it begins, in bytes of the file or, where that is one compressed stream, of what
    /// is in it. Neither of a file that is the page's alone.
    Record {
        file: String,
        record: Option<u64>,
        offset: Option<u64>,
    },
}
