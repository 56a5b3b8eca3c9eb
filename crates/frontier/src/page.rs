//! The record of a URL with a final answer.

use minicbor::{Decode, Encode};

use super::event_id;
use super::trouble::Cause;
use super::url_history::{Attempt, UrlHistory};
use seine_parse::page::preferences::Statement;
use seine_parse::page::{
    Before, Doubt, DuplicateOf, EpochMs, FailureReason, Kind, Likeness, PageChange, PageEvent, Relevance, TextsGiven,
};
use seine_parse::walls::Wall;
use seine_policies::revisit::{History, Lesson, RevisitPolicy};

/// A record of `page`.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct PageRecord {
    #[n(0)]
    pub url: String,
    /// Old records have sitemaps as pages.
    #[n(1)]
    pub kind: Kind,
    #[cbor(n(2), with = "event_id")]
    pub event_id: String,
    #[n(3)]
    pub state: PageState,
    /// HTTP status of the last response; 0 if there was none.
    #[n(4)]
    pub status: u16,
    /// SHA-256 of the decoded content of the last 2xx response; none if it was truncated. An alias has a digest only if
    /// it is a page itself and names a canonical URL.
    #[cbor(n(7), with = "minicbor::bytes")]
    pub digest: Option<[u8; 32]>,
    #[n(8)]
    pub etag: Option<String>,
    #[n(9)]
    pub last_modified: Option<String>,
    #[n(5)]
    pub fetched_ms: EpochMs,
    #[n(6)]
    pub depth: u16,
    /// None if it never was a page, and in old records.
    #[n(10)]
    pub history: Option<History>,
    /// The redirect target that the last 2xx response, digest and validators are from.
    #[n(11)]
    pub final_url: Option<String>,
    /// The page was noindex, whether that is obeyed or not.
    #[cbor(n(12), skip_if = "std::ops::Not::not")]
    pub noindex: bool,
    /// The next fetch is a refetch, and its links are followed even if the page is unchanged, because some of them were
    /// not admitted at the last fetch.
    #[cbor(n(13), skip_if = "std::ops::Not::not")]
    pub must_refetch: bool,
    /// The normalised redirect target, whose page is delivered under this URL or of which it is an alias. None without
    /// redirects, and with `redirects: follow`.
    #[n(14)]
    pub target: Option<String>,
    /// See [`TextChange::given`](seine_parse::page::TextChange::given).
    #[cbor(n(15), skip_if = "TextsGiven::is_empty")]
    pub texts: TextsGiven,
    /// The normalised canonical URL, if it is obeyed and another one. The page is delivered under this URL while the
    /// canonical URL has no page. An alias has it only if it differs from `target`.
    #[n(16)]
    pub canonical: Option<String>,
    /// The watermark: a reader whose offset is at least this has consumed the event `event_id`. None in old records.
    #[n(17)]
    pub passed_at: Option<u64>,
    /// Statements in headers and markup about the page's use, whether obeyed or not. None: never read.
    #[n(19)]
    pub preferences: Option<Vec<Statement>>,
    /// Its history.
    #[cbor(n(18), skip_if = "UrlHistory::is_empty")]
    pub url_history: UrlHistory,
    /// The page classifier's result for the last 2xx response. None if there was no classifier.
    #[n(20)]
    pub judged: Option<JudgedBy>,
    /// For a delivered page, if duplicates are detected. None: unknown.
    #[n(21)]
    pub likeness: Option<Likeness>,
    /// Since when every fetch is refused or fails; for an alias, since when it leads to its target; for a live page, since
    /// when it names its canonical URL, if it was live before. None otherwise, and in old records.
    #[n(22)]
    pub refused_since: Option<EpochMs>,
    /// The wall that the last fetch met instead of the page.
    #[n(23)]
    pub wall: Option<Wall>,
}

/// The result of a page classifier.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct JudgedBy {
    /// In millionths.
    #[n(0)]
    pub relevance: u32,
    #[n(1)]
    pub is_relevant: bool,
    /// Name of the classifier.
    #[n(2)]
    pub model: String,
}

impl JudgedBy {
    /// Whether the page is withheld as irrelevant. `left_out_by`: the classifier whose irrelevant pages are withheld.
    pub fn is_unwanted(&self, left_out_by: Option<&str>) -> bool {
        !self.is_relevant && left_out_by == Some(&self.model)
    }

    /// None without a classifier.
    pub fn of(event: &PageEvent) -> Option<JudgedBy> {
        let Relevance { relevance, is_relevant } = event.relevance;
        let relevance = (relevance * 1e6).round() as u32;
        event.model.as_deref().map(|model| JudgedBy { relevance, is_relevant, model: model.to_owned() })
    }
}

impl From<&JudgedBy> for Relevance {
    fn from(judged: &JudgedBy) -> Relevance {
        Relevance { relevance: f64::from(judged.relevance) / 1e6, is_relevant: judged.is_relevant }
    }
}

impl PageRecord {
    /// The attempt that the record itself describes.
    pub(super) fn last_attempt(&self) -> Attempt {
        let outcome = match (self.state, &self.wall) {
            (PageState::Failed(reason), _) => Cause::Failure(reason),
            (PageState::Refused | PageState::Gone, Some(wall)) => Cause::Wall(wall.kind),
            _ => Cause::Status(self.status),
        };
        let digest = self.digest.and_then(|digest| digest.first_chunk().copied());
        Attempt { at: self.fetched_ms, outcome, counts: true, digest }
    }

    /// The unconfirmed removal of a live page, and since when.
    pub fn doubt(&self) -> Option<(Doubt, EpochMs)> {
        self.history.and_then(|history| history.doubt())
    }

    /// Whether robots.txt forbade the page at its last recheck.
    pub fn was_forbidden(&self) -> bool {
        match self.state {
            PageState::Failed(FailureReason::RobotsDenied) => true,
            // Gone without an answer.
            PageState::Gone => self.status == 0,
            state => state.is_live() && self.doubt().is_some_and(|(doubt, _)| doubt == Doubt::Forbidden),
        }
    }

    /// Whether it is an alias that was never requested itself: a redirect of another URL delivers its page.
    pub fn is_only_a_target(&self) -> bool {
        self.state == PageState::Alias && self.target.as_deref() == Some(&self.url)
    }

    /// A fetch of it may lead to other URLs: by its links, or by its redirect.
    pub fn leads_on(&self) -> bool {
        self.state.is_found() || (self.state == PageState::Alias && !self.is_only_a_target())
    }

    /// Its page was complete once, but is not delivered now: the page is gone, or the URL is an alias.
    pub fn had_page(&self) -> bool {
        matches!(self.state, PageState::Gone | PageState::Alias) && self.digest.is_some()
    }

    /// Its body was truncated, and no complete one was fetched since. The truncated page is delivered.
    pub fn is_truncated(&self) -> bool {
        self.state.is_found() && self.digest.is_none() && (200..300).contains(&self.status)
    }

    /// Since when fetches give no page, for a URL that is not known to have been a page.
    pub fn no_page_since(&self) -> Option<EpochMs> {
        matches!(self.state, PageState::Refused | PageState::Failed(_))
            .then(|| self.refused_since.unwrap_or(self.fetched_ms))
    }

    /// The data of a live page that the next answer is compared with.
    pub fn as_before(&self, policy: &RevisitPolicy, now: EpochMs) -> Before<'_> {
        Before {
            digest: self.digest.as_ref(),
            believed: policy.believed(self.doubt(), now),
            was_withheld: self.state == PageState::Withheld,
            final_url: self.final_url.as_deref(),
        }
    }

    /// The page that it duplicates, if it is delivered.
    pub fn duplicate_of(&self) -> Option<&DuplicateOf> {
        self.likeness.as_ref().filter(|_| self.state.is_live())?.of.as_ref()
    }

    /// Whether it is an alias because of its canonical URL, not because of a redirect.
    pub fn is_alias_by_name(&self) -> bool {
        self.state == PageState::Alias && self.digest.is_some()
    }

    /// Whether hints matter for its rechecks: it has hints, or gives hints about other pages.
    pub fn is_hinted(&self) -> bool {
        self.history.is_some_and(|history| history.hinted.is_some() || history.tells.is_some())
    }

    /// The evidence of the change from `before` to this record about the hints of the page's host.
    pub fn lesson(&self, before: &PageRecord) -> Option<Lesson> {
        let (before, now) = (before.history?, self.history?);
        let has_changed = now.changes > before.changes;
        let change = if has_changed { PageChange::Changed } else { PageChange::Unchanged };
        // A 304 did not see the page.
        let was_seen = now.alive_ms > before.alive_ms && self.state != PageState::New;
        before.lesson(now.alive_ms, change).filter(|_| was_seen)
    }

    /// The history of the page's fetches. For old records it is only known that the page is or was live.
    pub fn history(&self) -> Option<History> {
        let was_there = self.state.is_found() || matches!(self.state, PageState::Gone | PageState::Alias);
        self.history.or_else(|| was_there.then(|| History::new(self.fetched_ms)))
    }
}

/// The result of the last fetch compared with the one before (`new`, `unchanged`, `changed`, `gone`), or that the page
/// is withheld or failed for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum PageState {
    #[default]
    #[n(0)]
    New,
    #[n(1)]
    Unchanged,
    #[n(2)]
    Changed,
    #[n(3)]
    Gone,
    /// A final answer that is not a page: a 4xx at the first fetch, or all retries failed.
    #[n(4)]
    Refused,
    #[n(5)]
    Failed(#[n(0)] FailureReason),
    /// A live page that is not delivered under its URL ([`Withheld`](seine_parse::page::Withheld)).
    #[n(6)]
    Withheld,
    /// Its page, which is that of `target`, is delivered under another URL.
    #[n(7)]
    Alias,
}

impl From<PageChange> for PageState {
    fn from(change: PageChange) -> PageState {
        match change {
            PageChange::New => PageState::New,
            PageChange::Unchanged => PageState::Unchanged,
            PageChange::Changed => PageState::Changed,
            PageChange::Gone => PageState::Gone,
        }
    }
}

impl PageState {
    /// `new`, `unchanged`, `changed`, `gone`, `refused`, `failed`, `withheld`, `alias`.
    pub fn name(self) -> &'static str {
        match self {
            PageState::New => "new",
            PageState::Unchanged => "unchanged",
            PageState::Changed => "changed",
            PageState::Gone => "gone",
            PageState::Refused => "refused",
            PageState::Failed(_) => "failed",
            PageState::Withheld => "withheld",
            PageState::Alias => "alias",
        }
    }

    /// The last fetch found the page, and destinations have it.
    pub fn is_live(self) -> bool {
        matches!(self, PageState::New | PageState::Unchanged | PageState::Changed)
    }

    /// The last fetch found the page, delivered or not.
    pub fn is_found(self) -> bool {
        self.is_live() || self == PageState::Withheld
    }
}
