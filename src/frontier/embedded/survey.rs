//! Everything the store holds, counted from its records, for an audit: what the counters, which are kept in the same
//! batches, must say too. Reads every record: minutes for a hundred million URLs.

use fjall::Keyspace;

use super::EmbeddedFrontier;
use super::records::{self, QueuedUrl, UrlState};
use super::store::Store;
use crate::frontier::{FrontierError, PageState};
use crate::page::Kind;

/// Counted records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    pub hosts: u64,
    /// URLs that the hosts' records say are queued.
    pub queued_by_host: u64,
    /// Pages that the hosts' records say were ever admitted.
    pub admitted_by_host: u64,
    /// URLs in the queues …
    pub queued: u64,
    /// … of which so many have a record in `pages`, and the rest, pages or sitemaps, never had a final answer.
    pub revisits: u64,
    pub first_time_pages: u64,
    /// Known URLs, by where they are said to be: in a queue, or done.
    pub places_queued: u64,
    pub places_done: u64,
    /// Records in `pages`, sitemaps included, by state.
    pub live: u64,
    pub gone: u64,
    pub refused: u64,
    pub failed: u64,
}

impl Survey {
    /// Records in `pages`.
    pub fn records(&self) -> u64 {
        self.live + self.gone + self.refused + self.failed
    }

    /// Queued URLs that never had a final answer.
    pub fn first_time(&self) -> u64 {
        self.queued - self.revisits
    }
}

impl EmbeddedFrontier {
    /// Counts all records. Nothing may change meanwhile for the counts to belong together.
    pub fn survey(&self) -> Result<Survey, FrontierError> {
        let store = &*self.shelf.store()?;
        let mut survey = Survey::default();
        each(store, &store.hosts, "hosts", |value| {
            let host = records::decode_host(value)?;
            survey.hosts += 1;
            survey.queued_by_host += host.ready + host.later;
            survey.admitted_by_host += host.pages;
            Some(())
        })?;
        for (keyspace, name) in [(&store.ready, "ready"), (&store.later, "later")] {
            each(store, keyspace, name, |value| {
                let item = QueuedUrl::decode(value)?;
                survey.queued += 1;
                survey.revisits += u64::from(item.revisit);
                survey.first_time_pages += u64::from(!item.revisit && item.kind == Kind::Page);
                Some(())
            })?;
        }
        each(store, &store.urls, "urls", |value| {
            match UrlState::decode(value)? {
                UrlState::Ready(_) | UrlState::Later { .. } => survey.places_queued += 1,
                UrlState::Done => survey.places_done += 1,
            }
            Some(())
        })?;
        each(store, &store.pages, "pages", |value| {
            match records::decode_page(value, "")?.state {
                PageState::New | PageState::Unchanged | PageState::Changed => survey.live += 1,
                PageState::Gone => survey.gone += 1,
                PageState::Refused => survey.refused += 1,
                PageState::Failed(_) => survey.failed += 1,
            }
            Some(())
        })?;
        Ok(survey)
    }
}

/// Every value of a keyspace; none from `count` for one that says nothing we know.
fn each(
    store: &Store,
    keyspace: &Keyspace,
    name: &'static str,
    mut count: impl FnMut(&[u8]) -> Option<()>,
) -> Result<(), FrontierError> {
    for entry in keyspace.iter() {
        let (_, value) = entry.into_inner().map_err(|source| store.failed(source))?;
        count(&value).ok_or_else(|| store.unreadable(name))?;
    }
    Ok(())
}
