//! URLs to fetch: as they are proposed, and as they are leased.

use super::page::PageRecord;
use crate::page::{EpochMs, Kind};

/// Priority of a URL that the frontier first hears of by its verdict (a page log from elsewhere).
pub(super) const PRIORITY_UNKNOWN: u8 = 128;

/// A URL proposed for fetching. `url` is normalised, http or https, with a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// 0 first, 255 last, among the due URLs of one host. Equal ones: first proposed, first leased.
    pub priority: u8,
}

/// What became of proposals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proposed {
    pub added: u64,
    pub known: u64,
    /// Over the host's limit of pages.
    pub over_limit: u64,
}

/// One URL of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// Attempts before this one.
    pub attempt: u16,
    /// It was put off for what seemed its host's trouble since it was last tried in earnest.
    pub was_put_off: bool,
    /// From the last fetch of this URL if the page was there, for a conditional request.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// The page was there when it was last asked for.
    pub was_there: bool,
    /// [`PageRecord::live_digest`], to tell whether the page has changed.
    pub digest: Option<[u8; 32]>,
    /// See [`History::missing_since`](crate::revisit::History::missing_since).
    pub missing_since: Option<EpochMs>,
}

impl Work {
    /// `page`: what is known of the URL from its last fetch.
    pub(super) fn new(url: String, kind: Kind, depth: u16, attempt: u16, page: Option<PageRecord>) -> Work {
        let digest = page.as_ref().and_then(PageRecord::live_digest);
        let missing_since = page.as_ref().and_then(|page| page.history?.missing_since);
        let was_there = page.as_ref().is_some_and(|page| page.state.is_live());
        // Of what is not there, a server's "not modified" would say nothing.
        let live = page.filter(|_| digest.is_some());
        let (etag, last_modified) = live.map_or((None, None), |page| (page.etag, page.last_modified));
        Work { url, kind, depth, attempt, was_put_off: false, etag, last_modified, was_there, digest, missing_since }
    }
}
