//! URLs to fetch: as they are proposed, and as they are leased.

use std::sync::Arc;

use super::page::{JudgedBy, PageRecord, PageState};
use super::past::Found;
use crate::focus::Lead;
use crate::page::preferences::Statement;
use crate::page::{EpochMs, Kind, Likeness, TextsGiven, WasDuplicate};

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
}

/// One URL of a lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// From the last fetch of this URL if the page was there, for a conditional request …
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// … to the URL that gave them: this one, if redirects led there.
    pub final_url: Option<String>,
    /// The page was there when it was last asked for …
    pub was_there: bool,
    /// … but was not delivered.
    pub was_withheld: bool,
    /// See [`PageRecord::noindex`].
    pub noindex: bool,
    /// See [`PageRecord::preferences`].
    pub preferences: Vec<Statement>,
    /// See [`PageRecord::canonical`].
    pub canonical: Option<String>,
    /// [`PageRecord::digest`], to tell whether the page has changed.
    pub digest: Option<[u8; 32]>,
    /// See [`History::missing_since`](crate::revisit::History::missing_since).
    pub missing_since: Option<EpochMs>,
    /// See [`PageRecord::texts`].
    pub texts: TextsGiven,
    /// See [`PageRecord::likeness`].
    pub likeness: Option<Likeness>,
    /// See [`PageRecord::judged`].
    pub judged: Option<JudgedBy>,
    pub was_duplicate: WasDuplicate,
    /// It was a duplicate of one that is not there any more.
    pub is_orphan: bool,
}

impl Work {
    /// `page`: what is known of the URL from its last fetch.
    pub(super) fn new(url: String, kind: Kind, depth: u16, attempt: u16, page: Option<PageRecord>) -> Work {
        let page = page.filter(|page| page.state.is_there());
        let was_there = page.is_some();
        let mut work = Work { url, kind, depth, priority: PRIORITY_UNKNOWN, attempt, was_there, ..Work::default() };
        if let Some(page) = page {
            work.was_withheld = page.state == PageState::Withheld;
            work.digest = page.digest;
            work.missing_since = page.history.and_then(|history| history.missing_since);
            work.texts = page.texts;
            work.preferences = page.preferences.unwrap_or_default();
            if page.likeness.as_ref().is_some_and(|likeness| likeness.of.is_some()) {
                work.was_duplicate = if page.is_to_be_reread { WasDuplicate::Unknown } else { WasDuplicate::Yes };
            }
            (work.likeness, work.judged) = (page.likeness, page.judged);
            (work.final_url, work.noindex, work.canonical) = (page.final_url, page.noindex, page.canonical);
            // Of what did not come whole, a server's "not modified" would say nothing, and it brings no links.
            if page.digest.is_some() && !page.is_to_be_reread {
                (work.etag, work.last_modified) = (page.etag, page.last_modified);
            }
        }
        work
    }
}
