//! URLs that a page leads to: links, sitemaps and requisites.

use std::sync::Arc;

use seine_delivery::Entry;
use seine_frontier::scope::REQUISITE_STEPS;
use seine_frontier::{Found, FoundBy, PageRecord, Proposal};
use seine_parse::Derived;
use seine_parse::page::{Kind, PageEvent, Withheld};
use seine_policies::focus::{Lead, PRIORITY_NEUTRAL};

use super::Validator;
use super::history::found_on;

/// The priority is the depth, so seeds come first; deeper URLs share the last priority.
const LAST_PRIORITY: u16 = 250;

/// The priority of a link without a score.
pub(crate) fn by_depth(depth: u16) -> u8 {
    depth.min(LAST_PRIORITY) as u8
}

impl Validator {
    /// `canonical`: the canonical URL, if it counts; for content other than HTML it is the only link. `lead`: the link
    /// that led to the page, if it is known.
    pub(super) fn propose_links(
        &self,
        entry: &Entry,
        derived: &Derived,
        (canonical, lead): (Option<&str>, Option<Lead>),
        proposals: &mut Vec<Proposal>,
    ) {
        let event = &*entry.event;
        self.propose_requisites(event, derived, proposals);
        let depth = event.depth.saturating_add(1);
        if event.kind == Kind::Requisite && !self.scope.now().admits(&event.url) {
            return; // a page embedded from elsewhere
        }
        if self.config.max_depth.is_some_and(|deepest| depth > deepest) || self.is_passed_over(event, derived) {
            return;
        }
        let ranking = self.focus.as_ref().map(|focus| focus.ranking(entry, derived, lead.as_ref()));
        let scope = self.scope.now();
        let (followed, refused): (Vec<_>, Vec<_>) =
            derived.links.iter().filter(|link| !link.nofollow).partition(|link| scope.admits(&link.url));
        self.scope.refused.add(&refused, &event.url, event.ended_ms);
        let named = canonical.filter(|_| !derived.is_html);
        let found = found_on(event, derived);
        let urls = followed.iter().map(|link| (link.url.as_str(), &found));
        let by_name = Arc::new(Found { way: FoundBy::Canonical, ..Found::clone(&found) });
        for (url, found) in urls.chain(named.map(|url| (url, &by_name))) {
            let (lead, priority) = match ranking.as_ref().map(|ranking| ranking.of(url)) {
                Some(Some((lead, priority))) => (Some(lead), priority),
                // Its score is too low.
                Some(None) => continue,
                None => (None, by_depth(depth)),
            };
            let found = Some(found.clone());
            proposals.push(Proposal { url: url.to_owned(), kind: Kind::Page, depth, priority, found, lead });
        }
        let priority = if ranking.is_some() { PRIORITY_NEUTRAL } else { 0 };
        for sitemap in derived.sitemaps.iter().filter(|url| scope.admits(url)) {
            // A nested sitemap is one level deeper, so circles of sitemaps end.
            let (url, found) = (sitemap.clone(), Some(found.clone()));
            proposals.push(Proposal { url, kind: Kind::Sitemap, depth, priority, found, lead: None });
        }
    }

    /// A redirect led to a page that is delivered under another URL, or this URL is the target of such a redirect. With
    /// a maximum depth, the depth of the other URL may fall. It does not become a seed.
    pub(super) fn propose_owner(&self, entry: &Entry, derived: &Derived, record: &PageRecord, to: &mut Vec<Proposal>) {
        let event = &*entry.event;
        let Some(Withheld::Alias { of, .. }) = &event.withheld else { return };
        // A page that names a canonical URL has links of its own.
        if self.config.max_depth.is_none() || record.digest.is_some() {
            return;
        }
        let depth = event.depth.max(1);
        let (url, priority, found) = (of.clone(), by_depth(depth), Some(found_on(event, derived)));
        to.push(Proposal { url, kind: Kind::Page, depth, priority, found, lead: None });
    }

    /// Hard focus: links of irrelevant pages are not followed. Sitemaps and feeds are not pages.
    pub(super) fn is_passed_over(&self, event: &PageEvent, derived: &Derived) -> bool {
        self.config.focus.hard && derived.is_html && event.kind == Kind::Page && !event.relevance.is_relevant
    }

    /// Requisites are fetched with the page's priority, at any depth, from any host.
    fn propose_requisites(&self, event: &PageEvent, derived: &Derived, proposals: &mut Vec<Proposal>) {
        let steps = if event.kind == Kind::Requisite { event.depth + 1 } else { 1 };
        if steps > REQUISITE_STEPS || derived.requisites.is_empty() {
            return;
        }
        let (kind, priority) = (Kind::Requisite, by_depth(event.depth));
        let found = Some(Arc::new(Found { way: FoundBy::Requisite, on: Some(event.url.clone()), at: event.ended_ms }));
        let scope = self.scope.now();
        for url in derived.requisites.iter().filter(|url| scope.admits_requisite(url)) {
            let (url, found) = (url.clone(), found.clone());
            proposals.push(Proposal { url, kind, depth: steps, priority, found, lead: None });
        }
    }
}
