//! The known URLs as a batch changes them: their hosts, queues, records and sources, with all counts of queued URLs.

use locks::Mutex;

use super::hosts::Hosts;
use super::pages::Pages;
use super::queues::Queues;
use super::sources::Sources;
use crate::deferred::deferred_under;
use crate::embedded::disk::records::{QueuedUrl, Source, UrlState};
use crate::embedded::disk::store::Store;
use crate::embedded::memory::known::Known;
use crate::embedded::memory::limits::Limits;
use crate::embedded::memory::priority_cache::PriorityCache;
use crate::keys::{Keys, Rank, UrlKey};
use crate::schedule::Totals;
use crate::{FrontierError, PageRecord, WHEN_LINKED_AGAIN};
use seine_parse::page::EpochMs;
use seine_policies::traps::is_elsewhere;

/// The parts, each with its own changes.
pub(crate) struct Urls<'a> {
    pub store: &'a Store,
    pub keys: Keys,
    pub now: EpochMs,
    pub limits: &'a Limits,
    pub priorities: &'a Mutex<PriorityCache>,
    pub totals: Totals,
    pub hosts: Hosts<'a>,
    pub queues: Queues<'a>,
    pub pages: Pages<'a>,
    pub sources: Sources<'a>,
    /// The cache of known URLs, and those to add once the batch is written.
    pub known: &'a mut Known,
    pub seen: Vec<UrlKey>,
}

impl Urls<'_> {
    /// For a new URL, or one that enters a queue again.
    pub(crate) fn next_rank(&mut self, priority: u8) -> Rank {
        let rank = Rank::new(priority, self.totals.next_sequence);
        self.totals.next_sequence += 1;
        rank
    }

    /// A URL keeps its rank while it is queued. `priority`: for a URL in no queue.
    pub(crate) fn rank_of(&mut self, state: Option<UrlState>, priority: u8) -> Rank {
        if let Some(rank) = state.and_then(UrlState::rank) {
            return rank;
        }
        let rank = self.next_rank(priority);
        if state.is_none() {
            self.sources.put(rank.sequence(), Source::default());
        }
        rank
    }

    /// Adds a URL that is in no queue to `ready`.
    pub(crate) fn enqueue_ready(
        &mut self,
        (url, origin): (UrlKey, &str),
        rank: Rank,
        item: Vec<u8>,
    ) -> Result<(), FrontierError> {
        let host = &mut self.hosts.change(url.host, origin)?.record;
        host.head = if host.ready == 0 { rank } else { host.head.min(rank) };
        host.ready += 1;
        self.totals.work += 1;
        self.queues.put_ready(url, rank, item);
        Ok(())
    }

    /// Adds a URL that is in no queue to `later`.
    pub(crate) fn enqueue_later(
        &mut self,
        (url, origin): (UrlKey, &str),
        due: EpochMs,
        rank: Rank,
        item: &QueuedUrl,
    ) -> Result<(), FrontierError> {
        let host = &mut self.hosts.change(url.host, origin)?.record;
        host.later += 1;
        host.parked += u64::from(due == WHEN_LINKED_AGAIN);
        if let Some(mark) = deferred_under(due) {
            host.deferred += 1;
            self.totals.deferred += 1;
            self.totals.deferred_elsewhere += u64::from(is_elsewhere(mark));
        }
        self.totals.work += 1;
        self.queues.put_later(url, due, rank, item);
        Ok(())
    }

    /// Removes a URL from its queue, if it is in one. It must get another state.
    pub(crate) fn dequeue(&mut self, (url, origin): (UrlKey, &str), state: UrlState) -> Result<(), FrontierError> {
        let host = &mut self.hosts.change(url.host, origin)?.record;
        match state {
            UrlState::Done => return Ok(()),
            UrlState::Ready(_) => host.ready = host.ready.saturating_sub(1),
            UrlState::Later { due, .. } => {
                host.later = host.later.saturating_sub(1);
                host.parked = host.parked.saturating_sub(u64::from(due == WHEN_LINKED_AGAIN));
                if let Some(mark) = deferred_under(due) {
                    host.deferred = host.deferred.saturating_sub(1);
                    self.totals.deferred = self.totals.deferred.saturating_sub(1);
                    let elsewhere = &mut self.totals.deferred_elsewhere;
                    *elsewhere = elsewhere.saturating_sub(u64::from(is_elsewhere(mark)));
                }
            }
        }
        self.totals.work = self.totals.work.saturating_sub(1);
        self.queues.delete_entry(url, state);
        Ok(())
    }

    /// Puts the record of a URL.
    pub(crate) fn put_page(&mut self, (url, origin): (UrlKey, &str), record: PageRecord) -> Result<(), FrontierError> {
        self.hosts.change(url.host, origin)?; // it is stored without its host's origin
        self.pages.put(url, record);
        Ok(())
    }
}
