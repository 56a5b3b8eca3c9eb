//! URLs whose page is delivered under another URL, and where redirects and canonical URLs lead.

use super::{Seen, Validator};
use crate::frontier::{PageRecord, PageState};
use crate::page::{PageChange, PageEvent, Withheld};
use crate::parse::{self, Derived};
use crate::planted;
use crate::revisit::History;
use crate::visit::claim::{Says, canonical_of};

/// Where its redirects led, as a link to there would be, or of what it is an alias; none when they led nowhere, or back.
pub(super) fn reached(event: &PageEvent) -> Option<String> {
    match &event.withheld {
        Some(Withheld::Alias { target, .. }) => Some(target.clone()),
        _ => parse::url::parse(&event.final_url).filter(|reached| *reached != event.url),
    }
}

impl Validator {
    /// What counts of what an event's page names as its canonical URL. `there`: what is known of it, if it was there.
    pub(super) fn canonical(&self, event: &PageEvent, derived: &Derived, there: Option<&PageRecord>) -> Option<String> {
        let now = Says { canonical: derived.canonical.as_deref(), noindex: derived.robots.noindex };
        let before = there
            .map_or_else(Says::default, |there| Says { canonical: there.canonical.as_deref(), noindex: there.noindex });
        canonical_of(event, &now, &before, &self.scope.now(), &self.config)
    }

    /// The record of a URL whose page, that of `target`, is another's. That it leads elsewhere now is a change.
    pub(super) fn alias(&self, Seen { event, derived, before, .. }: Seen, target: &str) -> PageRecord {
        let now = event.ended_ms;
        let history = match before.filter(|before| before.state == PageState::Alias) {
            Some(before) => before.history().map(|history| {
                let is_same = before.target.as_deref() == Some(target);
                history.seen(now, if is_same { PageChange::Unchanged } else { PageChange::Changed }, None)
            }),
            None => Some(History::new(now)),
        };
        let named = self.canonical(event, derived, before.filter(|before| before.state.is_there()));
        PageRecord {
            url: event.url.clone(),
            kind: event.kind,
            event_id: event.id.clone(),
            state: PageState::Alias,
            status: event.response().map_or(0, |response| response.status),
            digest: digest(event, derived, before),
            fetched_ms: now,
            depth: event.depth,
            history,
            target: Some(target.to_owned()),
            canonical: named.filter(|named| named != target),
            ..PageRecord::default()
        }
    }
}

/// Of one that is a page itself, and names another; what redirects has none, nor has what was not asked for.
fn digest(event: &PageEvent, derived: &Derived, before: Option<&PageRecord>) -> Option<[u8; 32]> {
    match event.response()? {
        response if response.is_success() => Some(derived.digest),
        response if response.status == 304 => before?.digest,
        _ => None,
    }
}

/// Whether what a page links to may be news.
pub(super) fn is_to_be_read(record: &PageRecord, before: Option<&PageRecord>) -> bool {
    before.is_some_and(|before| before.is_to_be_reread)
        || match record.state {
            PageState::Changed if planted::is("new_links_lost") => false,
            PageState::New | PageState::Changed | PageState::Withheld => true,
            PageState::Alias => record.digest.is_some() && record.digest != before.and_then(|before| before.digest),
            _ => false,
        }
}
