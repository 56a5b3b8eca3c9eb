//! Puts URLs into queues and takes them out.

use super::changes::{Changes, put};
use super::records::{self, QueuedUrl, UrlState};
use crate::deferred::deferred_under;
use crate::keys::{Rank, UrlKey, later_key, ready_key};
use crate::{FrontierError, WHEN_MET_AGAIN};
use seine_parse::page::EpochMs;

impl Changes<'_> {
    pub fn next_rank(&mut self, priority: u8) -> Rank {
        let rank = Rank::new(priority, self.totals.next_sequence);
        self.totals.next_sequence += 1;
        rank
    }

    pub fn enqueue_ready(&mut self, url: UrlKey, rank: Rank, item: Vec<u8>) {
        self.states.insert(url, Some(UrlState::Ready(rank)));
        self.ready.insert((url.host, rank), Some(item));
        self.totals.work += 1;
        if let Some(host) = self.hosts.get_mut(&url.host) {
            host.record.head = if host.record.ready == 0 { rank } else { host.record.head.min(rank) };
            host.record.ready += 1;
        }
    }

    pub fn enqueue_later(&mut self, url: UrlKey, due: EpochMs, rank: Rank, item: &QueuedUrl) {
        self.states.insert(url, Some(UrlState::Later { due, rank }));
        self.later.insert((url.host, due, rank), Some(records::to_bytes(item)));
        self.totals.work += 1;
        if let Some(host) = self.hosts.get_mut(&url.host) {
            host.record.later += 1;
            host.record.parked += u64::from(due == WHEN_MET_AGAIN);
            let deferred = u64::from(deferred_under(due).is_some());
            host.record.deferred += deferred;
            self.totals.deferred += deferred;
        }
    }

    /// Removes a URL from its queue, if it is in one.
    pub fn dequeue(&mut self, url: UrlKey, state: UrlState) {
        let Some(host) = self.hosts.get_mut(&url.host) else { return };
        match state {
            UrlState::Done => return,
            UrlState::Ready(rank) => {
                self.ready.insert((url.host, rank), None);
                host.record.ready = host.record.ready.saturating_sub(1);
            }
            UrlState::Later { due, rank } => {
                self.later.insert((url.host, due, rank), None);
                host.record.later = host.record.later.saturating_sub(1);
                host.record.parked = host.record.parked.saturating_sub(u64::from(due == WHEN_MET_AGAIN));
                let deferred = u64::from(deferred_under(due).is_some());
                host.record.deferred = host.record.deferred.saturating_sub(deferred);
                self.totals.deferred = self.totals.deferred.saturating_sub(deferred);
            }
        }
        self.totals.work = self.totals.work.saturating_sub(1);
    }

    /// The queue entry of a URL, including this batch.
    pub fn queued(&self, url: UrlKey, state: UrlState) -> Result<Option<QueuedUrl>, FrontierError> {
        let change = match state {
            UrlState::Done => return Ok(None),
            UrlState::Ready(rank) => self.ready.get(&(url.host, rank)),
            UrlState::Later { due, rank } => self.later.get(&(url.host, due, rank)),
        };
        match change {
            Some(change) => Ok(change.as_deref().and_then(records::from_bytes)),
            None => self.store.queued(url, state),
        }
    }

    pub fn write_queues(&mut self, batch: &mut fjall::OwnedWriteBatch) {
        let store = &self.store;
        let ranks = self.memory.schedule.lock().ranks();
        for ((host, rank), item) in std::mem::take(&mut self.ready) {
            if item.is_some() && ranks {
                // In order of priority.
                self.best_added.entry(host).or_insert(rank.priority());
            }
            put(batch, &store.ready, ready_key(host, rank), item);
        }
        for ((host, due, rank), item) in &self.later {
            put(batch, &store.later, later_key(*host, *due, *rank), item.as_deref());
        }
    }
}
