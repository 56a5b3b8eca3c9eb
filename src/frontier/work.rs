//! URLs to fetch: as they are proposed, and as they are leased.

use std::sync::Arc;

use super::page::{PageRecord, PageState};
use super::past::{Found, Past};
use crate::focus::Lead;
use crate::page::{Doubt, Kind, WasDuplicate};

/// Priority of a URL that the frontier first hears of by its verdict (a page log from elsewhere).
pub(super) const PRIORITY_UNKNOWN: u8 = 128;

/// A URL proposed for fetching. `url` is normalised, http or https, with a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    pub url: String,
    pub kind: Kind,
    pub depth: u16,
    /// 0 first, 255 last, among the due URLs of one host. Equal ones: first proposed, first leased.
    pub priority: u8,
    /// Who led to it, for people; one for all the links of a page.
    pub found: Option<Arc<Found>>,
    /// The link, where links are ranked: kept until the URL is fetched. One that makes a better priority takes the place of the one
    /// that is kept.
    pub lead: Option<Lead>,
}

impl Proposal {
    /// Of a page that somebody gave: the first to be fetched.
    pub fn seed(url: &str) -> Proposal {
        Proposal { url: url.to_owned(), ..Proposal::default() }
    }
}

/// What became of proposals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proposed {
    pub added: u64,
    pub known: u64,
    /// Over the host's limit of pages.
    pub over_limit: u64,
    /// On a new host of a domain that has as many as it may have.
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
    /// It was put off for what seemed its host's trouble since it was last tried in earnest.
    pub was_put_off: bool,
    /// The page was there when it was last asked for.
    pub was_there: bool,
    /// What is known of it then, but for its past; blank of any other. Its validators are those for a conditional request.
    pub known: PageRecord,
    /// It was a duplicate of one that is not there any more.
    pub is_orphan: bool,
}

impl Work {
    /// `page`: what is known of the URL from its last fetch.
    pub(super) fn new(url: String, kind: Kind, depth: u16, attempt: u16, page: Option<PageRecord>) -> Work {
        let page = page.filter(|page| page.state.is_there());
        let was_there = page.is_some();
        let mut known = PageRecord { past: Past::default(), ..page.unwrap_or_default() };
        // What is doubted for what it says may say the same under the page's old validators.
        let is_doubted = matches!(known.doubt(), Some((Doubt::Noindex | Doubt::Empty | Doubt::Named, _)));
        // Of what did not come whole, a server's "not modified" would say nothing, and it brings no links.
        if known.digest.is_none() || known.is_to_be_reread || is_doubted {
            (known.etag, known.last_modified) = (None, None);
        }
        Work { url, kind, depth, priority: PRIORITY_UNKNOWN, attempt, was_there, known, ..Work::default() }
    }

    /// The page was there, but was not delivered.
    pub fn was_withheld(&self) -> bool {
        self.known.state == PageState::Withheld
    }

    pub fn was_duplicate(&self) -> WasDuplicate {
        match self.known.likeness.as_ref().is_some_and(|likeness| likeness.of.is_some()) {
            // A destination may have lost it: it is written, although it is as it was.
            _ if self.known.is_to_be_reread => WasDuplicate::Unknown,
            true => WasDuplicate::Yes,
            false => WasDuplicate::default(),
        }
    }
}
