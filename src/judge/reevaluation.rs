//! What changed settings mean for a URL that is known: whether it is rechecked, how, and why. The crawl compares the
//! settings (`crawl/saved.rs`) and asks for each URL.

use seine_frontier::scope::Scope;
use seine_frontier::{PageRecord, PageState, Recheck};
use seine_parse::page::preferences::Statement;
use seine_parse::page::{FailureReason, Kind};

use super::withheld::standing;
use crate::config::Config;

/// The differences between the saved settings and the configuration.
pub(crate) struct ScopeChange<'a> {
    pub scope: &'a Scope,
    pub max_depth: Option<u16>,
    /// URLs may be admitted that were not.
    pub is_wider: bool,
    /// Pages of this depth or more may have links that were too deep.
    pub deeper_from: Option<u16>,
    /// URLs that were refused or removed may be admitted now.
    pub may_return: bool,
    /// robots.txt is obeyed now and was not, …
    pub robots_count: bool,
    /// … or the other way round.
    pub robots_are_free: bool,
    /// Sitemaps are read now, and were not.
    pub sitemaps_return: bool,
    /// Canonical URLs are obeyed now, and were not recorded before.
    pub canonical_counts: bool,
    /// Links of irrelevant pages are followed now.
    pub is_softer: bool,
}

const MSG_LEAVE: &str = "scope or depth has changed: known pages outside it leave the destinations";
const MSG_REFETCH: &str =
    "scope, depth or a limit has changed: known pages are refetched for links that are followed now";
const MSG_ALL_LINKS: &str = "links of all pages are followed now: pages that are not relevant are refetched for their \
    links";
const MSG_ALLOWED_AGAIN: &str = "URLs that were forbidden and are allowed now are tried again";
const MSG_CANONICAL: &str = "canonical URLs are obeyed now: known pages are refetched when they are due";
const MSG_PURPOSE: &str = "purpose or page classifier has changed: the pages that this may affect are rechecked";
const MSG_ROBOTS: &str = "robots.txt is obeyed now: known pages are rechecked";

impl ScopeChange<'_> {
    /// The recheck that a page needs, and why. `by_purpose`: the recheck that [`for_purposes`] wants.
    pub(crate) fn recheck_of(&self, page: &PageRecord, by_purpose: Option<Recheck>) -> Option<(&'static str, Recheck)> {
        let (is_there, depth) = (page.state.is_found(), page.depth);
        // An alias whose page names a canonical URL has links of its own.
        let is_read = is_there || (page.state == PageState::Alias && page.had_page());
        let is_kept = self.scope.keeps(&page.url, page.kind, depth, self.max_depth);
        // It is gone without an answer: robots.txt forbids it.
        let was_forbidden = page.state == PageState::Gone && page.status == 0;
        let may_return = self.may_return || (self.sitemaps_return && page.kind == Kind::Sitemap);
        Some(match page.state {
            _ if is_there && !is_kept => (MSG_LEAVE, Recheck::First),
            _ if !is_kept => return None,
            _ if is_read && (self.is_wider || self.deeper_from.is_some_and(|limit| depth >= limit)) => {
                (MSG_REFETCH, Recheck::Refetch)
            }
            _ if by_purpose == Some(Recheck::Refetch) => (MSG_PURPOSE, Recheck::Refetch),
            _ if is_there && self.is_softer && page.must_refetch => (MSG_ALL_LINKS, Recheck::Refetch),
            _ if is_there && self.robots_count => (MSG_ROBOTS, Recheck::First),
            _ if by_purpose == Some(Recheck::First) => (MSG_PURPOSE, Recheck::First),
            _ if is_there && self.canonical_counts => (MSG_CANONICAL, Recheck::RefetchInTime),
            _ if was_forbidden && (may_return || self.robots_are_free) => (MSG_ALLOWED_AGAIN, Recheck::First),
            PageState::Failed(FailureReason::OutOfScope) if may_return => (MSG_ALLOWED_AGAIN, Recheck::TryAgain),
            PageState::Failed(FailureReason::RobotsDenied) if self.robots_are_free => {
                (MSG_ALLOWED_AGAIN, Recheck::TryAgain)
            }
            _ => return None,
        })
    }
}

/// The recheck of a live page when the purposes, the licences or the page classifier changed. `said`: all statements
/// about its use that are known. `has_tdm`: the tdmrep.json of its host was fetched. If statements are unknown, the page
/// is refetched.
pub(crate) fn for_purposes(page: &PageRecord, said: &[Statement], has_tdm: bool, config: &Config) -> Option<Recheck> {
    if !page.kind.is_delivered() || !page.state.is_found() {
        return None;
    }
    let purposes = &config.scope.purposes;
    let is_withheld = standing(page, said, config).is_some();
    let classifier = config.left_out_by();
    let is_to_be_judged = classifier.is_some() && page.judged.as_ref().is_some_and(|it| classifier != Some(&it.model));
    match page.state == PageState::Withheld {
        true => (!is_withheld).then_some(Recheck::First),
        false if is_withheld || is_to_be_judged => Some(Recheck::First),
        false if page.preferences.is_none() && !purposes.declared.is_empty() => Some(Recheck::Refetch),
        false => (purposes.want_tdm_file() && !has_tdm).then_some(Recheck::First),
    }
}

/// `redirects: follow`: a redirect target that was never requested by itself is fetched under its own URL.
pub(crate) fn for_followed_redirects(page: &PageRecord) -> Option<Recheck> {
    page.is_only_a_target().then_some(Recheck::First)
}

/// A destination begins or stops to skip duplicates: each one is refetched, and its new event removes it there or delivers it.
pub(crate) fn for_skipped_duplicates(page: &PageRecord) -> Option<Recheck> {
    page.duplicate_of().map(|_| Recheck::Refetch)
}

/// The accepted media types changed. A record does not have the type of its page. So if a type is not accepted any more,
/// every live page is refetched when it is due.
pub(crate) fn for_media_types(page: &PageRecord, is_narrower: bool, is_wider: bool) -> Option<Recheck> {
    match page.state {
        PageState::Failed(FailureReason::UnwantedType) if is_wider => Some(Recheck::TryAgain),
        state => (is_narrower && state.is_found()).then_some(Recheck::RefetchInTime),
    }
}
