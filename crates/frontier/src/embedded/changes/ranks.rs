//! Link scores: the links that led to URLs, the learned model, and the priorities of queued URLs.
//!
//! Each batch contains the lessons that were learned from it, so they are stored with the validator's offset. Now and
//! then a batch contains the complete model. A URL keeps its number when its priority changes, because its source is
//! found by that number.

use std::ops::Bound;

use super::urls::Urls;
use crate::embedded::disk::records::{QueuedUrl, UrlState, to_bytes};
use crate::embedded::disk::store::Store;
use crate::keys::{Rank, UrlKey, part};
use crate::{FrontierError, Learned, Proposal, QueuePosition, Ranked, Remembered};

const MODEL: &str = "focus:model";
const LESSONS: &str = "focus:lessons:";

/// Smaller differences of priority are not worth a write.
const WORTH: u8 = 6;

impl Learned {
    /// `number`: grows from batch to batch.
    pub fn write(&self, store: &Store, batch: &mut fjall::OwnedWriteBatch, number: u64) -> Result<(), FrontierError> {
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

fn clear(store: &Store, batch: &mut fjall::OwnedWriteBatch) -> Result<(), FrontierError> {
    for entry in store.notes.prefix(LESSONS) {
        batch.remove(&store.notes, entry.key().map_err(|source| store.failed(source))?);
    }
    batch.remove(&store.notes, MODEL);
    Ok(())
}

pub(crate) fn learned(store: &Store) -> Result<Remembered, FrontierError> {
    let lessons = store.notes.prefix(LESSONS).map(|entry| Ok(entry.value()?.to_vec()));
    let lessons = lessons.collect::<Result<_, _>>().map_err(|source| store.failed(source))?;
    Ok(Remembered { model: store.note_bytes(MODEL)?, lessons })
}

/// Implements [`crate::Validation::rank_again`].
pub(crate) fn rank_again(
    urls: &mut Urls,
    after: Option<QueuePosition>,
    at_most: usize,
    rank: &dyn Fn(&Ranked) -> u8,
) -> Result<Option<QueuePosition>, FrontierError> {
    let mut queued = Vec::new();
    let from = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
    for entry in urls.store.ready.range::<QueuePosition, _>(from).take(at_most) {
        let (key, item) = urls.store.read::<QueuedUrl>(&urls.store.ready, entry)?;
        queued.push((QueuePosition::try_from(&*key).map_err(|_| urls.store.unreadable("ready"))?, item));
    }
    let last = queued.last().map(|(place, _)| *place).filter(|_| queued.len() == at_most);
    let mut of = (None, String::new());
    for (place, item) in queued {
        let (Some(host), Some(standing)) = (part(&place, 0), part(&place, 1).map(Rank)) else { continue };
        if of.0 != Some(host) {
            of = (Some(host), urls.hosts.origin_of(host)?.ok_or_else(|| urls.store.unreadable("hosts"))?);
        }
        let address = format!("{}{}", of.1, item.path);
        let priority = rank(&Ranked { url: &address, kind: item.kind, depth: item.depth, lead: &item.lead });
        let url = urls.keys.url(host, &item.path);
        if standing.priority().abs_diff(priority) >= WORTH && !urls.hosts.is_in_flight(url) {
            rerank(urls, (url, &of.1), standing, priority, &item)?;
        }
    }
    Ok(last)
}

/// A link to a known URL: if the link has a better score, the URL moves forward.
pub(crate) fn raise(urls: &mut Urls, proposal: &Proposal, (url, origin): (UrlKey, &str)) -> Result<(), FrontierError> {
    let (Some(lead), priority) = (&proposal.lead, proposal.priority) else { return Ok(()) };
    if urls.priorities.lock().is_as_good(url, priority) {
        return Ok(());
    }
    // A URL that was fetched, or is due later, does not move.
    let mut standing = 0;
    if let Some(state @ UrlState::Ready(rank)) = urls.queues.state_of(url)? {
        standing = rank.priority();
        if rank.priority() >= priority.saturating_add(WORTH)
            && !urls.hosts.is_in_flight(url)
            && let Some(item) = urls.queues.entry(url, state)?
        {
            return rerank(urls, (url, origin), rank, priority, &QueuedUrl { lead: lead.clone(), ..item });
        }
    }
    urls.priorities.lock().set(url, standing);
    Ok(())
}

fn rerank(
    urls: &mut Urls,
    (url, origin): (UrlKey, &str),
    rank: Rank,
    priority: u8,
    item: &QueuedUrl,
) -> Result<(), FrontierError> {
    urls.dequeue((url, origin), UrlState::Ready(rank))?;
    urls.enqueue_ready((url, origin), Rank::new(priority, rank.sequence()), to_bytes(item))?;
    urls.priorities.lock().set(url, priority);
    Ok(())
}
