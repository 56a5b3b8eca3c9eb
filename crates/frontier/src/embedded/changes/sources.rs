//! The pages that linked to a URL. The first link is stored, once for all new URLs of a page. The last link is kept in
//! memory for a while.
//!
//! New URLs of a page are numbered consecutively when they are proposed. So one [`Source`] in `sources`, under the
//! number of the first, serves all of them: a URL's source is the last one at or before its number.
//!
//! The last link would need a write per link, and nine of ten links lead to known URLs. So it is kept only in memory,
//! for the latest pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use fjall::OwnedWriteBatch;

use crate::embedded::disk::records::{self, Source};
use crate::embedded::disk::store::Store;
use crate::embedded::memory::last_links::LastLinks;
use crate::keys::{Keys, UrlKey};
use crate::url_history::seconds;
use crate::{Found, FrontierError, Proposal};

/// The links of a batch, page by page.
#[derive(Debug, Default)]
struct Met {
    /// With the start of its links in `urls`.
    pages: Vec<(Source, usize)>,
    urls: Vec<UrlKey>,
    /// The source given by the last page's proposals.
    last: Option<Arc<Found>>,
    /// The number of the next new URL of the last page, if its source still applies.
    next: Option<u64>,
}

/// Sources by the number of the first URL of each, and the links of the batch.
pub(crate) struct Sources<'a> {
    store: &'a Store,
    by_number: BTreeMap<u64, Source>,
    met: Met,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(store: &'a Store) -> Sources<'a> {
        Sources { store, by_number: BTreeMap::new(), met: Met::default() }
    }

    /// Reserves memory for this many links.
    pub(crate) fn expect(&mut self, links: usize) {
        self.met.urls.reserve(links);
    }

    /// Records a link to `url`.
    pub(crate) fn meet(&mut self, url: UrlKey, proposal: &Proposal) {
        let Some(found) = &proposal.found else { return };
        if !self.met.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, found) || last == found) {
            self.met.pages.push((source(self.store.keys, found), self.met.urls.len()));
            self.met.last = Some(found.clone());
            self.met.next = None;
        }
        self.met.urls.push(url);
    }

    /// Records the source of a new URL with this number. Must follow [`Sources::meet`] for the same URL.
    pub(crate) fn note(&mut self, proposal: &Proposal, number: u64) {
        if proposal.found.is_none() {
            self.by_number.insert(number, Source::default());
        } else if self.met.next != Some(number) {
            let source = self.met.pages.last().map(|(source, _)| source.clone()).unwrap_or_default();
            self.by_number.insert(number, source);
        }
        self.met.next = Some(number + 1).filter(|_| proposal.found.is_some());
    }

    pub(crate) fn put(&mut self, number: u64, source: Source) {
        self.by_number.insert(number, source);
    }

    /// Copies the source of one number to another.
    pub(crate) fn pass(&mut self, from: Option<u64>, to: u64) -> Result<(), FrontierError> {
        if from != Some(to) {
            let source = from.map(|from| self.store.source(from)).transpose()?.flatten();
            self.by_number.insert(to, source.unwrap_or_default());
        }
        Ok(())
    }

    pub(crate) fn write(&self, batch: &mut OwnedWriteBatch) {
        for (number, source) in &self.by_number {
            batch.insert(&self.store.sources, number.to_be_bytes(), records::to_bytes(source));
        }
    }

    /// Updates the last links when the batch is written.
    pub(crate) fn remember(self, links: &mut LastLinks) {
        let Met { pages, urls, .. } = self.met;
        let ends = pages.iter().skip(1).map(|(_, start)| *start).chain([urls.len()]);
        for ((source, start), end) in pages.iter().zip(ends) {
            links.add(source, &urls[*start..end]);
        }
    }
}

fn source(keys: Keys, found: &Found) -> Source {
    let on = found.on.as_deref().and_then(|on| keys.key_of(on).ok());
    Source { way: Some(found.way), at_s: seconds(found.at), host: on.map(|on| on.host), path: on.map(|on| on.path) }
}
