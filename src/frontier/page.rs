//! What is known of a URL that has its answer.

use minicbor::{Decode, Encode};

use super::event_id;
use super::past::{Attempt, Past};
use super::trouble::Cause;
use crate::page::preferences::Statement;
use crate::page::{
    Before, Doubt, DuplicateOf, EpochMs, FailureReason, Kind, Likeness, PageChange, PageEvent, Relevance, TextsGiven,
};
use crate::revisit::{History, Lesson, RevisitPolicy};

/// What `page` keeps of a URL.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct PageRecord {
    #[n(0)]
    pub url: String,
    /// Sitemaps of before it was noted are here as pages.
    #[n(1)]
    pub kind: Kind,
    #[cbor(n(2), with = "event_id")]
    pub event_id: String,
    #[n(3)]
    pub state: PageState,
    /// HTTP status of the last response; 0 when there was none.
    #[n(4)]
    pub status: u16,
    /// SHA-256 of the decoded content of the last 2xx response; none when that was cut. An alias has one if it is a page itself, which
    /// names another.
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
    /// None for what never was a page, and for what was fetched before it was noted.
    #[n(10)]
    pub history: Option<History>,
    /// Where the last 2xx response came from, and with it digest and validators, if redirects led there.
    #[n(11)]
    pub final_url: Option<String>,
    /// The page asked not to be indexed, whether that is obeyed or not.
    #[cbor(n(12), skip_if = "std::ops::Not::not")]
    pub noindex: bool,
    /// To be asked for as if nothing were known of it, and its links followed though it may be as it was: some of them were
    /// not admitted when it was last read.
    #[cbor(n(13), skip_if = "std::ops::Not::not")]
    pub is_to_be_reread: bool,
    /// Where its redirects lead, normalised: whose page is delivered under this URL, or of what it is an alias. None for what
    /// does not redirect, and where redirects are followed without asking whose their target is.
    #[n(14)]
    pub target: Option<String>,
    /// See [`TextChange::given`](crate::page::TextChange::given).
    #[cbor(n(15), skip_if = "TextsGiven::is_empty")]
    pub texts: TextsGiven,
    /// What the page names as its canonical URL, normalised, where that is obeyed and is another than its own: it is delivered
    /// under this URL as long as that one has no page. An alias has it only where it is not its `target`.
    #[n(16)]
    pub canonical: Option<String>,
    /// Events of the page log up to and including that of `event_id`: who has passed so many has it. None for records of before it
    /// was noted.
    #[n(17)]
    pub passed_at: Option<u64>,
    /// What headers and markup say of the page's use, whether that is obeyed or not. None: nobody has looked.
    #[n(19)]
    pub preferences: Option<Vec<Statement>>,
    /// Who led to it, and what came before.
    #[cbor(n(18), skip_if = "Past::is_empty")]
    pub past: Past,
    /// What a page classifier said of the last 2xx response. None where none was asked.
    #[n(20)]
    pub judged: Option<JudgedBy>,
    /// Of one that is delivered, where duplicates are looked for. None: not known.
    #[n(21)]
    pub likeness: Option<Likeness>,
    /// Since when it is refused or fails, each time that it is asked for. None: it is not, or was before it was noted.
    #[n(22)]
    pub refused_since: Option<EpochMs>,
}

/// What a page classifier said.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct JudgedBy {
    /// In millionths.
    #[n(0)]
    pub relevance: u32,
    #[n(1)]
    pub is_relevant: bool,
    /// The classifier's name.
    #[n(2)]
    pub model: String,
}

impl JudgedBy {
    /// Whether it keeps the page from being delivered. `left_out_by`: whose irrelevant pages are not.
    pub fn is_unwanted(&self, left_out_by: Option<&str>) -> bool {
        !self.is_relevant && left_out_by == Some(&self.model)
    }

    /// None where none was asked.
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
    /// The attempt that the record tells of itself.
    pub(super) fn last_attempt(&self) -> Attempt {
        let outcome = match self.state {
            PageState::Failed(reason) => Cause::Failure(reason),
            _ => Cause::Status(self.status),
        };
        let digest = self.digest.and_then(|digest| digest.first_chunk().copied());
        Attempt { at: self.fetched_ms, outcome, counts: true, digest }
    }

    /// What speaks against a page that is there, and since when.
    pub fn doubt(&self) -> Option<(Doubt, EpochMs)> {
        self.history.and_then(|history| history.doubt())
    }

    /// Whether robots.txt forbade the page at its last look.
    pub fn was_forbidden(&self) -> bool {
        match self.state {
            PageState::Failed(FailureReason::RobotsDenied) => true,
            // Gone without an answer.
            PageState::Gone => self.status == 0,
            state => state.is_live() && self.doubt().is_some_and(|(doubt, _)| doubt == Doubt::Forbidden),
        }
    }

    /// Its body broke off, and nothing better has come since: half a page is what is known, and delivered.
    pub fn is_half(&self) -> bool {
        self.state.is_there() && self.digest.is_none() && (200..300).contains(&self.status)
    }

    /// Since when no page came, of one that is no page now and never was as far as is known.
    pub fn no_page_since(&self) -> Option<EpochMs> {
        matches!(self.state, PageState::Refused | PageState::Failed(_))
            .then(|| self.refused_since.unwrap_or(self.fetched_ms))
    }

    /// What the next answer is compared with, of a page that is there.
    pub fn as_before(&self, policy: &RevisitPolicy, now: EpochMs) -> Before<'_> {
        Before {
            digest: self.digest.as_ref(),
            believed: policy.believed(self.doubt(), now),
            was_withheld: self.state == PageState::Withheld,
            final_url: self.final_url.as_deref(),
        }
    }

    /// Whose duplicate it is, of one that is delivered.
    pub fn duplicate_of(&self) -> Option<&DuplicateOf> {
        self.likeness.as_ref().filter(|_| self.state.is_live())?.of.as_ref()
    }

    /// Whether it is an alias for what its page names, and not for where it redirects.
    pub fn is_alias_by_name(&self) -> bool {
        self.state == PageState::Alias && self.digest.is_some()
    }

    /// Whether hints matter for when it is looked at: others told of it, or it tells of others.
    pub fn is_hinted(&self) -> bool {
        self.history.is_some_and(|history| history.told.is_some() || history.tells.is_some())
    }

    /// What the look that made this record of `before` tells of the hints of the page's host.
    pub fn lesson(&self, before: &PageRecord) -> Option<Lesson> {
        let (before, now) = (before.history?, self.history?);
        let has_changed = now.changes > before.changes;
        let change = if has_changed { PageChange::Changed } else { PageChange::Unchanged };
        // What only said that it is as it was did not see it.
        let was_seen = now.alive_ms > before.alive_ms && self.state != PageState::New;
        before.lesson(now.alive_ms, change).filter(|_| was_seen)
    }

    /// What looking at the page has told. Of before it was noted nothing is known but that it is or was there.
    pub fn history(&self) -> Option<History> {
        let was_there = self.state.is_there() || matches!(self.state, PageState::Gone | PageState::Alias);
        self.history.or_else(|| was_there.then(|| History::new(self.fetched_ms)))
    }
}

/// What the last fetch was against the one before (`new`, `unchanged`, `changed`, `gone`), that its page is withheld, or that it
/// failed for good.
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
    /// A final answer that is no page: a 4xx on first sight, or retries used up.
    #[n(4)]
    Refused,
    #[n(5)]
    Failed(#[n(0)] FailureReason),
    /// There, and not to be delivered as its URL's page ([`Withheld`](crate::page::Withheld)).
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

    /// The page was there when it was last asked for, and destinations hold it.
    pub fn is_live(self) -> bool {
        matches!(self, PageState::New | PageState::Unchanged | PageState::Changed)
    }

    /// The page was there when it was last asked for, delivered or not.
    pub fn is_there(self) -> bool {
        self.is_live() || self == PageState::Withheld
    }
}
