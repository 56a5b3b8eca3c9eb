//! The history of a URL: who linked to it, and the results of its attempts. For the user only; no decision depends on
//! it.

use minicbor::{Decode, Encode};

use super::trouble::Cause;
use seine_parse::page::{EpochMs, FailureReason};

/// How a URL was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum FoundBy {
    /// Given to the command that started or continued the crawl.
    #[n(0)]
    Seed,
    /// Added later by `seine seeds add`, or through the API.
    #[n(1)]
    Added,
    /// A sitemap named by robots.txt. Until 0.2.0 also one at the usual location.
    #[n(2)]
    RobotsTxt,
    #[n(3)]
    Link,
    #[n(4)]
    Sitemap,
    #[n(5)]
    Feed,
    /// The canonical URL of a document that is not HTML.
    #[n(6)]
    Canonical,
    /// Needed to show a page, directly or through a style sheet.
    #[n(7)]
    Requisite,
    /// The usual location of a sitemap, because robots.txt names none.
    #[n(8)]
    Guess,
}

impl FoundBy {
    /// `seed`, `added`, `robots_txt`, `link`, `sitemap`, `feed`, `canonical`, `requisite`, `guess`.
    pub fn name(self) -> &'static str {
        match self {
            FoundBy::Seed => "seed",
            FoundBy::Added => "added",
            FoundBy::RobotsTxt => "robots_txt",
            FoundBy::Link => "link",
            FoundBy::Sitemap => "sitemap",
            FoundBy::Feed => "feed",
            FoundBy::Canonical => "canonical",
            FoundBy::Requisite => "requisite",
            FoundBy::Guess => "guess",
        }
    }
}

/// A link to a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub way: FoundBy,
    /// The page with the link; none for seeds, and if it is no longer known.
    pub on: Option<String>,
    /// When the page was read or the seed given. Stored in seconds.
    pub at: EpochMs,
}

/// One attempt to fetch a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// When it ended. Stored in seconds.
    pub at: EpochMs,
    /// A status (0 if unknown), or the failure.
    pub outcome: Cause,
    /// The URL is charged for it. False for host trouble.
    pub counts: bool,
    /// The beginning of the content's SHA-256, if the content changed.
    pub digest: Option<[u8; 4]>,
}

/// The last attempts, oldest first, as many as fit into [`Attempts::BYTES`]: two bytes for the total number, then six
/// bytes each, or ten with a digest. Empty for one attempt, which the record itself has, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Attempts(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>);

const HAS_DIGEST: u16 = 1 << 15;
const COUNTS_NOT: u16 = 1 << 14;
/// Lower values are statuses, others are failures.
const FAILURES: u16 = 1 << 11;

impl Attempts {
    /// Limited so that, averaged over all known URLs, of which one in ten is fetched, each takes 4 bytes at most.
    pub const BYTES: usize = 42;

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Total number of attempts, including dropped ones.
    pub fn in_all(&self) -> u16 {
        self.0.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// Adds the newest and drops the oldest if necessary.
    pub(super) fn push(&mut self, attempt: Attempt) {
        let in_all = self.in_all().saturating_add(1);
        let last = self.to_vec().into_iter().chain([attempt]).map(to_bytes).collect::<Vec<_>>();
        let mut from = 0;
        while 2 + last[from..].iter().map(Vec::len).sum::<usize>() > Attempts::BYTES {
            from += 1;
        }
        self.0 = [&in_all.to_be_bytes()[..], &last[from..].concat()].concat();
    }

    /// The time of the oldest remembered attempt after which none has counted; none if the last one counted.
    pub(super) fn put_off_since(&self) -> Option<EpochMs> {
        self.to_vec().iter().rev().take_while(|attempt| !attempt.counts).last().map(|attempt| attempt.at)
    }

    /// The time of the oldest remembered attempt since when each ended with a redirect that had to wait.
    pub(super) fn redirect_waits_since(&self) -> Option<EpochMs> {
        let waited = |attempt: &&Attempt| attempt.outcome == Cause::Failure(FailureReason::HostBusy);
        self.to_vec().iter().rev().take_while(waited).last().map(|attempt| attempt.at)
    }

    /// The remembered attempts, oldest first.
    pub fn to_vec(&self) -> Vec<Attempt> {
        let mut bytes = self.0.get(2..).unwrap_or_default();
        std::iter::from_fn(|| from_bytes(&mut bytes)).collect()
    }
}

fn to_bytes(attempt: Attempt) -> Vec<u8> {
    let outcome = match attempt.outcome {
        Cause::Status(status) => status.min(FAILURES - 1),
        Cause::Failure(reason) => FAILURES + reason as u16,
    };
    let counts = if attempt.counts { 0 } else { COUNTS_NOT };
    let has_digest = if attempt.digest.is_some() { HAS_DIGEST } else { 0 };
    let digest = attempt.digest.as_ref().map_or(&[][..], |digest| &digest[..]);
    [&(outcome | counts | has_digest).to_be_bytes()[..], &seconds(attempt.at).to_be_bytes(), digest].concat()
}

fn from_bytes(bytes: &mut &[u8]) -> Option<Attempt> {
    let code = u16::from_be_bytes(*bytes.split_off(..2)?.first_chunk()?);
    let at = u32::from_be_bytes(*bytes.split_off(..4)?.first_chunk()?);
    let digest = if code & HAS_DIGEST == 0 { None } else { bytes.split_off(..4)?.first_chunk().copied() };
    let outcome = match code & !(HAS_DIGEST | COUNTS_NOT) {
        failure @ FAILURES.. => Cause::Failure(*FailureReason::ALL.get(usize::from(failure - FAILURES))?),
        status => Cause::Status(status),
    };
    Some(Attempt { at: EpochMs::from(at) * 1000, outcome, counts: code & COUNTS_NOT == 0, digest })
}

/// Seconds since 1970, until 2106.
pub(super) fn seconds(at: EpochMs) -> u32 {
    u32::try_from(at / 1000).unwrap_or(u32::MAX)
}

/// The history in a record. Only the frontier uses it; records passed through [`super::Verdicts::page`] have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct UrlHistory {
    /// Its number among all proposed URLs, which leads to its source.
    #[n(0)]
    pub proposed_as: Option<u64>,
    #[cbor(n(1), skip_if = "Attempts::is_empty")]
    pub attempts: Attempts,
    /// As [`passed_at`](super::page::PageRecord::passed_at), for the last event with a page to deliver, if that is
    /// another event.
    #[n(2)]
    pub delivered_at: Option<u64>,
}

impl UrlHistory {
    pub(super) fn is_empty(&self) -> bool {
        *self == UrlHistory::default()
    }
}
