//! Counts all records of the store for an audit. The counters, which are written in the same batches, must agree. Reads
//! every record: minutes for a hundred million URLs.

use super::disk::content_slots::ContentSlot;
use super::disk::records::{QueuedUrl, UrlState};
use super::open::EmbeddedFrontier;
use crate::deferred::deferred_under;
use crate::keys::part;
use crate::{FrontierError, PageRecord, PageState};

/// The counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    pub hosts: u64,
    /// Queued URLs according to the hosts' records.
    pub queued_by_host: u64,
    /// Pages ever admitted according to the hosts' records.
    pub admitted_by_host: u64,
    /// URLs in the queues …
    pub queued: u64,
    /// … those with a record in `pages`, and pages without a final answer so far …
    pub revisits: u64,
    pub first_time_pages: u64,
    /// … and deferred ones.
    pub deferred: u64,
    /// Known URLs by their queue state: in a queue, or done.
    pub known_queued: u64,
    pub known_done: u64,
    /// Records in `pages`, with sitemaps, by state.
    pub live: u64,
    pub gone: u64,
    pub refused: u64,
    pub failed: u64,
    pub withheld: u64,
    pub alias: u64,
    /// Live pages that are duplicates, and live pages that are the first with their content …
    pub duplicates: u64,
    pub firsts: u64,
    /// … and those of them with the content slot.
    pub content_slots: u64,
}

impl Survey {
    /// Records in `pages`.
    pub fn records(&self) -> u64 {
        self.live + self.gone + self.refused + self.failed + self.withheld + self.alias
    }

    /// Queued URLs without a final answer so far.
    pub fn first_time(&self) -> u64 {
        self.queued - self.revisits
    }
}

impl EmbeddedFrontier {
    /// Counts all records. The counts are consistent only if nothing changes meanwhile.
    pub fn survey(&self) -> Result<Survey, FrontierError> {
        let store = &*self.store_handle.store()?;
        let mut survey = Survey::default();
        store.each_host(|_, host| {
            survey.hosts += 1;
            survey.queued_by_host += host.work();
            survey.admitted_by_host += host.pages;
        })?;
        for queue in [&store.ready, &store.later] {
            for entry in queue.iter() {
                let (key, item): (_, QueuedUrl) = store.read(queue, entry)?;
                let is_held = part(&key, 1).is_some_and(|due| key.len() > 16 && deferred_under(due).is_some());
                survey.deferred += u64::from(is_held);
                survey.queued += 1;
                survey.revisits += u64::from(item.revisit);
                survey.first_time_pages += u64::from(!item.revisit && item.kind.is_delivered());
            }
        }
        for entry in store.urls.iter() {
            let value = entry.value().map_err(|source| store.failed(source))?;
            match UrlState::from_bytes(&value).ok_or_else(|| store.unreadable("urls"))? {
                UrlState::Ready(_) | UrlState::Later { .. } => survey.known_queued += 1,
                UrlState::Done => survey.known_done += 1,
            }
        }
        for entry in store.pages.iter() {
            let (_, page): (_, PageRecord) = store.read(&store.pages, entry)?;
            match page.state {
                PageState::New | PageState::Unchanged | PageState::Changed => {
                    survey.live += 1;
                    survey.duplicates += u64::from(page.duplicate_of().is_some());
                    survey.firsts += u64::from(page.likeness.as_ref().is_some_and(|likeness| likeness.of.is_none()));
                }
                PageState::Gone => survey.gone += 1,
                PageState::Refused => survey.refused += 1,
                PageState::Failed(_) => survey.failed += 1,
                PageState::Withheld => survey.withheld += 1,
                PageState::Alias => survey.alias += 1,
            }
        }
        survey.content_slots =
            store.count(store.copies.range(ContentSlot::Digest(0).key()..=ContentSlot::Digest(u64::MAX).key()))?;
        Ok(survey)
    }
}
