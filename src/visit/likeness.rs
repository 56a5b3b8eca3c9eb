//! Whose duplicate a page is (`duplicates.enabled`).

use super::visitor::Visitor;
use crate::duplicates::Content;
use crate::frontier::{FrontierError, Work};
use crate::page::{Kind, Likeness, PageChange, PageEvent};
use crate::parse::simhash::Simhash;

/// What is known of an answer's content.
pub(super) struct Seen<'a> {
    pub digest: &'a [u8; 32],
    /// Length without its codings.
    pub length: u64,
    /// Read where it is news.
    pub simhash: Option<Simhash>,
}

impl Visitor {
    pub(super) fn looks_for_near_copies(&self) -> bool {
        self.config.frontier.duplicates.is_some_and(|within| within > 0)
    }

    /// Whether a page's main text is to be read for its near copies. `is_as_it_was`: by its digest.
    pub(super) fn wants_likeness(&self, work: &Work, is_as_it_was: bool) -> bool {
        self.config.frontier.duplicates.is_some_and(|within| within > 0 && !(is_as_it_was && is_known(work, within)))
    }

    /// Whether what is known of a page is not enough, so that it must come whole: a 304 would bring no text, and a page that was a
    /// duplicate and is none any more is to be delivered.
    pub(super) fn must_be_compared(&self, work: &Work) -> bool {
        let must_be = |within| work.was_there && (work.is_orphan || !is_known(work, within));
        work.kind == Kind::Page && self.config.frontier.duplicates.is_some_and(must_be)
    }

    /// None where duplicates are not looked for, and of what is no page, empty, or was cut: all that begin alike would be the same.
    pub(super) fn likeness(
        &self,
        event: &PageEvent,
        work: &Work,
        seen: &Seen,
    ) -> Result<Option<Likeness>, FrontierError> {
        let is_there = event.kind == Kind::Page && event.withheld.is_none();
        let change = event.change.filter(|change| is_there && *change != PageChange::Gone);
        let (Some(within), Some(change), Some(response)) = (self.config.frontier.duplicates, change, event.response())
        else {
            return Ok(None);
        };
        if response.status == 304 {
            return Ok(work.likeness.clone().filter(|_| !work.is_orphan));
        }
        if response.truncated.is_some() || seen.length == 0 {
            return Ok(None);
        }
        let known = work.likeness.as_ref().filter(|_| change == PageChange::Unchanged && is_known(work, within));
        if let Some(first) = known.filter(|known| known.of.is_none()) {
            return Ok(Some(first.clone()));
        }
        let simhash = match known {
            Some(known) => known.simhash,
            None => seen.simhash.filter(|_| within > 0).and_then(Simhash::telling),
        };
        let of = self.frontier.claim_content(Content::new(seen.digest, simhash), within, &event.url)?;
        if let Some(of) = of.as_ref().filter(|_| change != PageChange::Unchanged) {
            self.metrics.duplicates.with_label_values(&[of.kind()]).inc();
        }
        Ok(Some(Likeness { simhash, of, within }))
    }
}

/// It was judged by the same distance.
fn is_known(work: &Work, within: u8) -> bool {
    work.likeness.as_ref().is_some_and(|known| known.within == within)
}
