//! What a page leads to: links, sitemaps, and what it needs to be shown.

use std::sync::Arc;

use super::Validator;
use super::told::found_on;
use crate::frontier::scope::REQUISITE_STEPS;
use crate::frontier::{Found, Proposal, Way};
use crate::page::{Kind, PageEvent};
use crate::parse::Derived;

/// Seeds come before what they link to, and so on; deeper ones share the last place.
const LAST_PRIORITY: u16 = 250;

impl Validator {
    /// `canonical`: what counts of what the page names so; of what is no HTML it is the only link.
    pub(super) fn propose_links(
        &self,
        event: &PageEvent,
        derived: &Derived,
        canonical: Option<&str>,
        proposals: &mut Vec<Proposal>,
    ) {
        self.propose_requisites(event, derived, proposals);
        let depth = event.depth.saturating_add(1);
        if event.kind == Kind::Requisite && !self.scope.now().admits(&event.url) {
            return; // a page embedded from elsewhere
        }
        if self.config.max_depth.is_some_and(|deepest| depth > deepest) {
            return;
        }
        let priority = depth.min(LAST_PRIORITY) as u8;
        let scope = self.scope.now();
        let (followed, refused): (Vec<_>, Vec<_>) =
            derived.links.iter().filter(|link| !link.nofollow).partition(|link| scope.admits(&link.url));
        self.scope.refused.add(&refused, &event.url, event.ended_ms);
        let named = canonical.filter(|_| !derived.is_html);
        let found = found_on(event, derived);
        let urls = followed.iter().map(|link| (link.url.as_str(), &found));
        let by_name = Arc::new(Found { way: Way::Canonical, ..Found::clone(&found) });
        for (url, found) in urls.chain(named.map(|url| (url, &by_name))) {
            let found = Some(found.clone());
            proposals.push(Proposal { url: url.to_owned(), kind: Kind::Page, depth, priority, found });
        }
        for sitemap in derived.sitemaps.iter().filter(|url| scope.admits(url)) {
            // A sitemap index is as deep as what it points at: that keeps circles of them finite.
            let (url, found) = (sitemap.clone(), Some(found.clone()));
            proposals.push(Proposal { url, kind: Kind::Sitemap, depth, priority: 0, found });
        }
    }

    /// What a page needs comes with it: as early, however deep it is, and wherever it lies.
    fn propose_requisites(&self, event: &PageEvent, derived: &Derived, proposals: &mut Vec<Proposal>) {
        let steps = if event.kind == Kind::Requisite { event.depth + 1 } else { 1 };
        if steps > REQUISITE_STEPS || derived.requisites.is_empty() {
            return;
        }
        let (kind, priority) = (Kind::Requisite, event.depth.min(LAST_PRIORITY) as u8);
        let found = Some(Arc::new(Found { way: Way::Requisite, on: Some(event.url.clone()), at: event.ended_ms }));
        let scope = self.scope.now();
        for url in derived.requisites.iter().filter(|url| scope.admits_requisite(url)) {
            proposals.push(Proposal { url: url.clone(), kind, depth: steps, priority, found: found.clone() });
        }
    }
}
