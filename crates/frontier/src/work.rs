//! URLs to fetch: proposals, and URLs of a lease.

use std::sync::Arc;

use super::page::{PageRecord, PageState};
use super::url_history::{Found, UrlHistory};
use seine_parse::page::{Doubt, EpochMs, Kind, WasDuplicate};
use seine_policies::focus::Lead;

/// Priority of a URL that the frontier first sees in a verdict (a page log from elsewhere).
pub(super) const PRIORITY_UNKNOWN: u8 = 128;

/// A URL proposed for fetching. `url` is normalised, http or https, with a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// 0 first, 255 last, among the due URLs of a host. Among equals, first proposed is first leased.
    pub priority: u8,
    /// The source, for the user; shared by all links of a page.
    pub found: Option<Arc<Found>>,
    /// The link, if links have scores; kept until the URL is fetched. A link with a better priority replaces it.
    pub lead: Option<Lead>,
}

impl Proposal {
    /// A seed, fetched first.
    pub fn seed(url: &str) -> Proposal {
        Proposal { url: url.to_owned(), ..Proposal::default() }
    }
}

/// The result of proposals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proposed {
    pub added: u64,
    pub known: u64,
    /// Above the host's limit of pages.
    pub over_limit: u64,
    /// On a new host of a domain at its limit.
    pub over_hosts: u64,
}

/// One URL of a lease.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// See [`Proposal::priority`].
    pub priority: u8,
    /// Attempts before this one.
    pub attempt: u16,
    /// It was put off for probable host trouble since its last real attempt.
    pub was_put_off: bool,
    /// Since when no attempt has counted, as far back as attempts are remembered. None if the last attempt counted.
    pub put_off_since: Option<EpochMs>,
    /// Since when all of its attempts ended with a redirect that had to wait. None if the last one did not.
    pub redirect_waits_since: Option<EpochMs>,
    /// The page was live at its last fetch.
    pub was_found: bool,
    /// Its page was complete once, but is not delivered now: the page is gone, or the URL is an alias.
    pub had_page: bool,
    /// Its record then, without its history; empty for other URLs. Its validators are for a conditional request.
    pub known: PageRecord,
    /// It was a duplicate of a page that is gone.
    pub is_orphan: bool,
}

impl Work {
    /// `page`: the record of the URL's last fetch.
    pub(super) fn new(url: String, kind: Kind, depth: u16, attempt: u16, page: Option<PageRecord>) -> Work {
        let had_page = page.as_ref().is_some_and(PageRecord::had_page);
        let page = page.filter(|page| page.state.is_found());
        let was_there = page.is_some();
        let mut known = PageRecord { url_history: UrlHistory::default(), ..page.unwrap_or_default() };
        // A page with an unconfirmed removal that its content caused may send the same content under its old
        // validators.
        let is_doubted = known.doubt().is_some_and(|(doubt, _)| {
            matches!(doubt, Doubt::Noindex | Doubt::Empty | Doubt::Named | Doubt::UnwantedType)
        });
        // For a truncated page a 304 says nothing, and has no links.
        if known.digest.is_none() || known.must_refetch || is_doubted {
            (known.etag, known.last_modified) = (None, None);
        }
        Work {
            url,
            kind,
            depth,
            priority: PRIORITY_UNKNOWN,
            attempt,
            was_found: was_there,
            had_page,
            known,
            ..Work::default()
        }
    }

    /// The page was live, but not delivered.
    pub fn was_withheld(&self) -> bool {
        self.known.state == PageState::Withheld
    }

    pub fn was_duplicate(&self) -> WasDuplicate {
        match self.known.likeness.as_ref().is_some_and(|likeness| likeness.of.is_some()) {
            // A destination may have lost it, so it is written although it is unchanged.
            _ if self.known.must_refetch => WasDuplicate::Unknown,
            true => WasDuplicate::Yes,
            false => WasDuplicate::default(),
        }
    }
}
