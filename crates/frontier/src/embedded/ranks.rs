//! Link scores: the links that led to URLs, the learned model, and the priorities of queued URLs.
//!
//! What is learned is written with the batch that it was learned from, and so with the validator's offset: a complete
//! model now and then, and the lessons since. A URL keeps its number when its priority changes, because its source is
//! found by that number.

use std::ops::Bound;

use super::changes::Changes;
use super::records::{QueuedUrl, UrlState, to_bytes};
use super::store::Store;
use crate::keys::{Rank, UrlKey, part};
use crate::{FrontierError, Learned, Proposal, QueuePosition, Ranked, Remembered};

const MODEL: &str = "focus:model";
const LESSONS: &str = "focus:lessons:";

/// Smaller differences of priority are not worth a write.
const WORTH: u8 = 6;

impl Learned {
    /// `number`: grows from batch to batch.
    pub(super) fn write(
        &self,
        store: &Store,
        batch: &mut fjall::OwnedWriteBatch,
        number: u64,
    ) -> Result<(), FrontierError> {
        match self {
            Learned::Nothing => {}
            Learned::Lessons(lessons) => {
                batch.insert(&store.notes, [LESSONS.as_bytes(), &number.to_be_bytes()].concat(), lessons.as_slice());
            }
            Learned::Model(model) => {
                clear(store, batch)?;
                batch.insert(&store.notes, MODEL, model.as_slice());
            }
        }
        Ok(())
    }
}

pub(super) fn clear(store: &Store, batch: &mut fjall::OwnedWriteBatch) -> Result<(), FrontierError> {
    for entry in store.notes.prefix(LESSONS) {
        batch.remove(&store.notes, entry.key().map_err(|source| store.failed(source))?);
    }
    batch.remove(&store.notes, MODEL);
    Ok(())
}

pub(super) fn learned(store: &Store) -> Result<Remembered, FrontierError> {
    let lessons = store.notes.prefix(LESSONS).map(|entry| Ok(entry.value()?.to_vec()));
    let lessons = lessons.collect::<Result<_, _>>().map_err(|source| store.failed(source))?;
    Ok(Remembered { model: store.note_bytes(MODEL)?, lessons })
}

impl Changes<'_> {
    /// Implements [`crate::Validation::rank_again`].
    pub(super) fn rank_again(
        &mut self,
        after: Option<QueuePosition>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
    ) -> Result<Option<QueuePosition>, FrontierError> {
        let mut queued = Vec::new();
        let from = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        for entry in self.store.ready.range::<QueuePosition, _>(from).take(at_most) {
            let (key, item) = self.store.read::<QueuedUrl>(&self.store.ready, entry)?;
            queued.push((QueuePosition::try_from(&*key).map_err(|_| self.store.unreadable("ready"))?, item));
        }
        let last = queued.last().map(|(place, _)| *place).filter(|_| queued.len() == at_most);
        let mut of = (None, String::new());
        for (place, item) in queued {
            let (Some(host), Some(standing)) = (part(&place, 0), part(&place, 1).map(Rank)) else { continue };
            if of.0 != Some(host) {
                of = (Some(host), self.origin_of(host)?.ok_or_else(|| self.store.unreadable("hosts"))?);
            }
            let address = format!("{}{}", of.1, item.path);
            let priority = rank(&Ranked { url: &address, kind: item.kind, depth: item.depth, lead: &item.lead });
            let url = self.memory.keys.url(host, &item.path);
            if standing.priority().abs_diff(priority) >= WORTH && !self.is_in_flight(url) {
                self.host(host, &of.1)?;
                self.rerank(url, standing, priority, &item);
            }
        }
        Ok(last)
    }

    /// A link to a known URL: if the link has a better score, the URL moves forward.
    pub(super) fn raise(&mut self, proposal: &Proposal, url: UrlKey, origin: &str) -> Result<(), FrontierError> {
        let (Some(lead), priority) = (&proposal.lead, proposal.priority) else { return Ok(()) };
        if self.memory.standings.lock().is_as_good(url, priority) {
            return Ok(());
        }
        // A URL that was fetched, or is due later, does not move.
        let mut standing = 0;
        if let Some(state @ UrlState::Ready(rank)) = self.state_of(url)? {
            standing = rank.priority();
            if rank.priority() >= priority.saturating_add(WORTH)
                && !self.is_in_flight(url)
                && let Some(item) = self.queued(url, state)?
            {
                self.host(url.host, origin)?;
                self.rerank(url, rank, priority, &QueuedUrl { lead: lead.clone(), ..item });
                return Ok(());
            }
        }
        self.memory.standings.lock().set(url, standing);
        Ok(())
    }

    /// Its host is among the changes.
    fn rerank(&mut self, url: UrlKey, rank: Rank, priority: u8, item: &QueuedUrl) {
        self.dequeue(url, UrlState::Ready(rank));
        self.enqueue_ready(url, Rank::new(priority, rank.sequence()), to_bytes(item));
        self.memory.standings.lock().set(url, priority);
    }
}
