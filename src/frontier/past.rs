//! What a URL went through: who led to it, and what its attempts brought. For people; nothing is decided by it.

use minicbor::{Decode, Encode};

use super::trouble::Cause;
use crate::page::{EpochMs, FailureReason};

/// How a URL comes to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Way {
    /// Given to the command that began the crawl, or went on with it.
    #[n(0)]
    Seed,
    /// Given later: by `seine seeds add`, or through the API.
    #[n(1)]
    Added,
    /// A sitemap that robots.txt names, or that lies where sitemaps do.
    #[n(2)]
    RobotsTxt,
    #[n(3)]
    Link,
    #[n(4)]
    Sitemap,
    #[n(5)]
    Feed,
    /// A document that is no HTML names it as its canonical URL.
    #[n(6)]
    Canonical,
    /// A page, or a style sheet, needs it to be shown.
    #[n(7)]
    Requisite,
}

impl Way {
    /// `seed`, `added`, `robots_txt`, `link`, `sitemap`, `feed`, `canonical`, `requisite`.
    pub fn name(self) -> &'static str {
        match self {
            Way::Seed => "seed",
            Way::Added => "added",
            Way::RobotsTxt => "robots_txt",
            Way::Link => "link",
            Way::Sitemap => "sitemap",
            Way::Feed => "feed",
            Way::Canonical => "canonical",
            Way::Requisite => "requisite",
        }
    }
}

/// That something led to a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub way: Way,
    /// The URL that has the link; none of what somebody gave, and where it is not known any more.
    pub on: Option<String>,
    /// When that was read, or given. Kept in seconds.
    pub at: EpochMs,
}

/// One attempt at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// When it ended. Kept in seconds.
    pub at: EpochMs,
    /// What came: a status, 0 where that is not known, or why none did.
    pub outcome: Cause,
    /// The URL pays for it; not what was its host's trouble.
    pub counts: bool,
    /// The beginning of the content's SHA-256, where it was another than before.
    pub digest: Option<[u8; 4]>,
}

/// The last attempts, the oldest first, as many as [`Attempts::BYTES`] hold: two bytes of how many there were in all, then six
/// or, with a digest, ten bytes each. Empty as long as there was one, which the record tells itself, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Attempts(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>);

const HAS_DIGEST: u16 = 1 << 15;
const COUNTS_NOT: u16 = 1 << 14;
/// Below it are statuses, from it on failures.
const FAILURES: u16 = 1 << 11;

impl Attempts {
    /// So that of all URLs known, of which one in ten is fetched, each takes 4 at most.
    pub const BYTES: usize = 42;

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there were, those forgotten included.
    pub fn in_all(&self) -> u16 {
        self.0.first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// Adds the newest; the oldest are forgotten for it.
    pub(super) fn push(&mut self, attempt: Attempt) {
        let in_all = self.in_all().saturating_add(1);
        let last = self.to_vec().into_iter().chain([attempt]).map(to_bytes).collect::<Vec<_>>();
        let mut from = 0;
        while 2 + last[from..].iter().map(Vec::len).sum::<usize>() > Attempts::BYTES {
            from += 1;
        }
        self.0 = [&in_all.to_be_bytes()[..], &last[from..].concat()].concat();
    }

    /// Those that are remembered, the oldest first.
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

/// Since 1970; until 2106.
pub(super) fn seconds(at: EpochMs) -> u32 {
    u32::try_from(at / 1000).unwrap_or(u32::MAX)
}

/// What a record keeps of its URL's past. The frontier's own: what [`super::Frontier::page`] gives, and is given, has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Past {
    /// Its number among all that were ever proposed, by which the frontier knows who led to it.
    #[n(0)]
    pub proposed_as: Option<u64>,
    #[cbor(n(1), skip_if = "Attempts::is_empty")]
    pub attempts: Attempts,
    /// As [`passed_at`](super::page::PageRecord::passed_at), of the last event that had a page to deliver, where that is another.
    #[n(2)]
    pub delivered_at: Option<u64>,
}

impl Past {
    pub(super) fn is_empty(&self) -> bool {
        *self == Past::default()
    }
}
