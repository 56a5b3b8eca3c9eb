//! Defers URLs and releases them ([`crate::held`]). A deferred URL is in `later`, with a due time that never
//! comes.

use std::ops::Range;

use super::changes::Changes;
use super::known::Known;
use super::records::{QueuedUrl, UrlState, from_bytes, to_bytes};
use crate::deferred::{DEFERRED, Drain, HostTrapsChange, HostTrapsDone, LAST_OF_ALL, deferred_under, due_of};
use crate::keys::{HostKey, Rank, UrlKey, later_key, part, ready_key, split};
use crate::{FrontierError, Proposal, WHEN_MET_AGAIN};
use seine_parse::page::{EpochMs, Kind};
use seine_policies::traps::{FetchOrder, HostTraps, MIRROR, MIRRORED, Swept, is_elsewhere};

/// Queued URLs examined per batch, and deferred URLs of a mirror.
const SWEPT: usize = 512;
const COMPARED: usize = 4096;

/// A deferred URL.
struct DeferredUrl {
    due: EpochMs,
    rank: Rank,
    item: QueuedUrl,
}

/// The key of a host's trap statistics in `notes`.
pub(super) fn note(host: HostKey) -> Vec<u8> {
    [b"traps:", host.to_be_bytes().as_slice()].concat()
}

impl Changes<'_> {
    pub fn change_traps(&mut self, change: &HostTrapsChange, known: &Known) -> Result<HostTrapsDone, FrontierError> {
        let origin = change.origin.as_str();
        let host = self.memory.keys.host(split(&format!("{origin}/"))?.0);
        let mut done = HostTrapsDone::default();
        if let Some(record) = &change.record {
            self.traps.push((note(host), record.clone()));
        }
        for (mark, at_most) in &change.release {
            let due = due_of(*mark);
            if self.release(host, origin, due..due + 1, *at_most)? < *at_most {
                done.empty.push(*mark);
            }
        }
        if let Some((from, traps)) = &change.sweep {
            done.swept_to = self.sweep((host, origin), *from, traps, known)?;
        }
        done.drained = self.drain(host, origin, &change.drain)?;
        Ok(done)
    }

    /// Also defers URLs that were queued before their pattern was deferred. Returns where to continue; none: at the
    /// end.
    fn sweep(
        &mut self,
        (host, origin): (HostKey, &str),
        from: u64,
        traps: &HostTraps,
        known: &Known,
    ) -> Result<Option<u64>, FrontierError> {
        let mut read = Vec::new();
        for entry in self.store.ready.range(ready_key(host, Rank(from))..=ready_key(host, Rank(u64::MAX))).take(SWEPT) {
            let (key, item): (_, QueuedUrl) = self.store.read(&self.store.ready, entry)?;
            read.push((part(&key, 1).ok_or_else(|| self.store.unreadable("ready"))?, item));
        }
        let next = read.last().filter(|_| read.len() == SWEPT).and_then(|(rank, _)| rank.checked_add(1));
        let mut renamed = Vec::new();
        for (rank, item) in read {
            let (url, rank) = (self.memory.keys.url(host, &item.path), Rank(rank));
            let is_new = item.kind == Kind::Page && item.depth > 0 && item.attempt == 0 && !item.revisit;
            if !is_new || self.state_of(url)? != Some(UrlState::Ready(rank)) || self.is_in_flight(url) {
                continue;
            }
            let (mark, to) = match traps.judge(&item.path) {
                Swept::Order(FetchOrder::InOrder) => continue,
                Swept::Order(FetchOrder::Deferred(mark)) => (Some(mark), rank),
                Swept::Order(FetchOrder::Last) => {
                    match self.order_by_source((host, origin), (rank, &item.path), traps)? {
                        FetchOrder::Deferred(mark) => (Some(mark), rank),
                        FetchOrder::Last if rank.priority() < LAST_OF_ALL => {
                            (None, Rank::new(LAST_OF_ALL, rank.sequence()))
                        }
                        FetchOrder::Last | FetchOrder::InOrder => continue,
                    }
                }
                Swept::Renamed(mark, path) => {
                    let (url, priority) = (format!("{origin}{path}"), rank.priority());
                    let lead = Some(item.lead.clone()).filter(|lead| !lead.is_unknown());
                    renamed.push(Proposal { url, kind: item.kind, depth: item.depth, priority, found: None, lead });
                    (Some(mark), rank)
                }
            };
            self.move_to(url, origin, UrlState::Ready(rank), (mark, to), &item)?;
        }
        self.add_proposals(&renamed, &[], known)?;
        Ok(next)
    }

    /// How a URL of a deferred pattern is queued, decided by the page that first linked to it.
    fn order_by_source(
        &self,
        (host, origin): (HostKey, &str),
        (rank, path): (Rank, &str),
        traps: &HostTraps,
    ) -> Result<FetchOrder, FrontierError> {
        let on = self.store.source(rank.sequence())?.and_then(|source| source.on()).filter(|on| on.host == host);
        let page = on.map(|on| self.store.page(on, origin)).transpose()?.flatten();
        let on = page.as_ref().and_then(|page| page.url.strip_prefix(origin));
        Ok(on.map_or(FetchOrder::InOrder, |on| traps.judge_on(path, on)))
    }

    /// If a host has nothing else, releases some deferred URLs. Returns how many it had and how many were released.
    fn drain(&mut self, host: HostKey, origin: &str, drain: &Drain) -> Result<Option<(u64, usize)>, FrontierError> {
        let record = &self.host(host, origin)?.record;
        let deferred = record.deferred;
        if record.ready > 0 || deferred == 0 {
            return Ok(None);
        }
        if let Some((other, traps)) = &drain.mirror {
            self.drain_mirror(host, origin, (other, traps))?;
        }
        let mut marks = Vec::new();
        let mut from = DEFERRED;
        while let Some(first) = self.deferred_from(host, from..WHEN_MET_AGAIN, 1)?.pop() {
            marks.extend(deferred_under(first.due).filter(|mark| *mark != MIRROR && !is_elsewhere(*mark)));
            from = first.due + 1;
        }
        if marks.iter().any(|mark| drain.leading.contains(mark)) {
            marks.retain(|mark| drain.leading.contains(mark));
        }
        let mut released = 0;
        for (number, mark) in marks.iter().enumerate() {
            let (due, left) = (due_of(*mark), drain.at_most - released);
            released += self.release(host, origin, due..due + 1, left.div_ceil(marks.len() - number))?;
        }
        Ok(Some((deferred, released)))
    }

    /// Deferred URLs of a mirror that the other host has too stay deferred. The others are deferred by their pattern,
    /// or not at all.
    fn drain_mirror(
        &mut self,
        host: HostKey,
        origin: &str,
        (other, traps): (&str, &HostTraps),
    ) -> Result<(), FrontierError> {
        let other = self.memory.keys.host(split(&format!("{other}/"))?.0);
        let due = due_of(MIRROR);
        for DeferredUrl { due, rank, item } in self.deferred_from(host, due..due + 1, COMPARED)? {
            let there = self.memory.keys.url(other, &item.path);
            let mark = match self.state_of(there)? {
                Some(_) => Some(MIRRORED),
                None => traps.cool_mark(&item.path),
            };
            let url = self.memory.keys.url(host, &item.path);
            self.move_to(url, origin, UrlState::Later { due, rank }, (mark, rank), &item)?;
        }
        Ok(())
    }

    /// Up to `at_most` of the host's deferred URLs with these due times, including this batch.
    fn deferred_from(
        &self,
        host: HostKey,
        due: Range<EpochMs>,
        at_most: usize,
    ) -> Result<Vec<DeferredUrl>, FrontierError> {
        let mut deferred = Vec::new();
        let range = later_key(host, due.start, Rank(0))..later_key(host, due.end, Rank(0));
        for entry in self.store.later.range(range) {
            let (key, item) = self.store.read(&self.store.later, entry)?;
            let (due, rank) = part(&key, 1).zip(part(&key, 2)).ok_or_else(|| self.store.unreadable("later"))?;
            if deferred.len() == at_most {
                break;
            }
            // This entry was changed by the batch.
            if !self.later.contains_key(&(host, due, Rank(rank))) {
                deferred.push(DeferredUrl { due, rank: Rank(rank), item });
            }
        }
        let added = self.later.range((host, due.start, Rank(0))..(host, due.end, Rank(0)));
        let added = added.filter_map(|((_, due, rank), item)| {
            Some(DeferredUrl { due: *due, rank: *rank, item: from_bytes(item.as_ref()?)? })
        });
        deferred.extend(added);
        deferred.sort_by_key(|deferred| (deferred.due, deferred.rank));
        deferred.truncate(at_most);
        Ok(deferred)
    }

    /// Releases up to `at_most` of the host's deferred URLs with these due times. Returns how many.
    pub(super) fn release(
        &mut self,
        host: HostKey,
        origin: &str,
        due: Range<EpochMs>,
        at_most: usize,
    ) -> Result<usize, FrontierError> {
        if self.host(host, origin)?.record.deferred == 0 {
            return Ok(0); // without a look at what was released before: the store passes all of it
        }
        let deferred = self.deferred_from(host, due, at_most)?;
        let count = deferred.len();
        for DeferredUrl { due, rank, item } in deferred {
            let url = self.memory.keys.url(host, &item.path);
            self.move_to(url, origin, UrlState::Later { due, rank }, (None, rank), &item)?;
        }
        Ok(count)
    }

    /// Moves a URL to another queue with a rank; with a mark, defers it.
    fn move_to(
        &mut self,
        url: UrlKey,
        origin: &str,
        from: UrlState,
        (mark, rank): (Option<u32>, Rank),
        item: &QueuedUrl,
    ) -> Result<(), FrontierError> {
        // A lease that has already read the queue does not take it.
        self.host(url.host, origin)?.finished.push(url);
        self.dequeue(url, from);
        match mark {
            Some(mark) => self.enqueue_later(url, due_of(mark), rank, item),
            None => self.enqueue_ready(url, rank, to_bytes(item)),
        }
        Ok(())
    }
}
