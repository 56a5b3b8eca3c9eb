//! Holding URLs back, and letting go of them ([`crate::frontier::held`]). Held, a URL is in `later`, at a time that never comes.

use super::changes::Changes;
use super::known::Known;
use super::open::EmbeddedFrontier;
use super::records::{QueuedUrl, UrlState, to_bytes};
use crate::frontier::held::{HELD, HostTrapsChange, HostTrapsDone, LAST_OF_ALL, due_of};
use crate::frontier::keys::{HostKey, Rank, UrlKey, later_key, part, ready_key, split};
use crate::frontier::{FrontierError, Proposal, WHEN_MET_AGAIN};
use crate::page::{EpochMs, Kind};
use crate::traps::{Sweep, Swept, Turn};

/// Queued URLs that one batch looks through.
const SWEPT: usize = 512;

impl EmbeddedFrontier {
    /// Pages of a host that were ever admitted, and what is kept of its traps.
    pub(super) fn traps_of(&self, origin: &str) -> Result<(u64, Option<Vec<u8>>), FrontierError> {
        let host = self.keys.host(split(&format!("{origin}/"))?.0);
        let in_schedule = self.schedule.lock().record(host).map(|record| record.pages);
        let store = self.shelf.store()?;
        let pages = match in_schedule {
            Some(pages) => pages,
            None => store.host(host)?.map_or(0, |record| record.pages),
        };
        Ok((pages, store.get(&store.notes, &note(host))?.map(|bytes| bytes.to_vec())))
    }

    pub(super) fn release_of_each(&self, of_each: usize, now: EpochMs) -> Result<u64, FrontierError> {
        let hosts: Vec<HostKey> = self.schedule.lock().held.iter().copied().collect();
        let mut released = 0;
        for host in hosts {
            let mut known = self.writer.lock();
            let mut changes = Changes::new(self, now)?;
            let Some(origin) = changes.origin_of(host)? else { continue };
            released += changes.release(host, &origin, HELD..WHEN_MET_AGAIN, of_each)?;
            changes.commit(&mut known)?;
        }
        Ok(released as u64)
    }
}

/// Under which a host's traps are in `notes`.
fn note(host: HostKey) -> Vec<u8> {
    [b"traps:", host.to_be_bytes().as_slice()].concat()
}

impl Changes<'_> {
    pub fn change_traps(&mut self, change: &HostTrapsChange, known: &Known) -> Result<HostTrapsDone, FrontierError> {
        let origin = change.origin.as_str();
        let host = self.frontier.keys.host(split(&format!("{origin}/"))?.0);
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
        if let Some(sweep) = &change.sweep {
            done.swept_to = self.sweep(host, origin, sweep, known)?;
        }
        Ok(done)
    }

    /// What was queued before its pattern cooled down is held, too. Returns where to go on; none: there is no more.
    fn sweep(
        &mut self,
        host: HostKey,
        origin: &str,
        sweep: &Sweep,
        known: &Known,
    ) -> Result<Option<u64>, FrontierError> {
        let mut read = Vec::new();
        for entry in
            self.store.ready.range(ready_key(host, Rank(sweep.from))..=ready_key(host, Rank(u64::MAX))).take(SWEPT)
        {
            let (key, item): (_, QueuedUrl) = self.store.read(&self.store.ready, entry)?;
            read.push((part(&key, 1).ok_or_else(|| self.store.unreadable("ready"))?, item));
        }
        let next = read.last().filter(|_| read.len() == SWEPT).and_then(|(rank, _)| rank.checked_add(1));
        let mut renamed = Vec::new();
        for (rank, item) in read {
            let (url, rank) = (self.frontier.keys.url(host, &item.path), Rank(rank));
            let is_new = item.kind == Kind::Page && item.depth > 0 && item.attempt == 0 && !item.revisit;
            if !is_new || self.state_of(url)? != Some(UrlState::Ready(rank)) || self.is_in_flight(url) {
                continue;
            }
            let (mark, to) = match sweep.judge(&item.path) {
                Swept::Turn(Turn::InOrder) => continue,
                Swept::Turn(Turn::Waits(mark)) => (Some(mark), rank),
                Swept::Turn(Turn::Last(mark)) if self.is_fed(host, origin, rank, sweep)? => (Some(mark), rank),
                Swept::Turn(Turn::Last(_)) if rank.priority() == LAST_OF_ALL => continue,
                Swept::Turn(Turn::Last(_)) => (None, Rank::new(LAST_OF_ALL, rank.sequence())),
                Swept::Renamed(mark, path) => {
                    let (url, priority) = (format!("{origin}{path}"), rank.priority());
                    let lead = Some(item.lead.clone()).filter(|lead| !lead.is_unknown());
                    renamed.push(Proposal { url, kind: item.kind, depth: item.depth, priority, found: None, lead });
                    (Some(mark), rank)
                }
            };
            self.move_to(url, origin, UrlState::Ready(rank), (mark, to), &item)?;
        }
        self.add_proposals(&renamed, known)?;
        Ok(next)
    }

    /// Whether a page of the same host led to the URL that is cool itself.
    fn is_fed(&self, host: HostKey, origin: &str, rank: Rank, sweep: &Sweep) -> Result<bool, FrontierError> {
        let on = self.store.source(rank.sequence())?.and_then(|source| source.on()).filter(|on| on.host == host);
        let page = on.map(|on| self.store.page(on, origin)).transpose()?.flatten();
        Ok(page.is_some_and(|page| sweep.is_cool(page.url.strip_prefix(origin).unwrap_or_default())))
    }

    /// Up to `at_most` of the host's URLs that are held at these times may be asked for. Returns how many there were.
    fn release(
        &mut self,
        host: HostKey,
        origin: &str,
        due: std::ops::Range<EpochMs>,
        at_most: usize,
    ) -> Result<usize, FrontierError> {
        let mut read = Vec::new();
        let range = later_key(host, due.start, Rank(0))..later_key(host, due.end, Rank(0));
        for entry in self.store.later.range(range).take(at_most) {
            let (key, item): (_, QueuedUrl) = self.store.read(&self.store.later, entry)?;
            let (due, rank) = part(&key, 1).zip(part(&key, 2)).ok_or_else(|| self.store.unreadable("later"))?;
            read.push((due, Rank(rank), item));
        }
        let count = read.len();
        for (due, rank, item) in read {
            let (url, state) = (self.frontier.keys.url(host, &item.path), UrlState::Later { due, rank });
            if self.state_of(url)? == Some(state) {
                self.move_to(url, origin, state, (None, rank), &item)?;
            }
        }
        Ok(count)
    }

    /// To another place, with a rank; with a mark, to be held under it.
    fn move_to(
        &mut self,
        url: UrlKey,
        origin: &str,
        from: UrlState,
        (mark, rank): (Option<u32>, Rank),
        item: &QueuedUrl,
    ) -> Result<(), FrontierError> {
        // A lease that has read the queue still does not take it.
        self.host(url.host, origin)?.finished.push(url);
        self.dequeue(url, from);
        match mark {
            Some(mark) => self.enqueue_later(url, due_of(mark), rank, item),
            None => self.enqueue_ready(url, rank, to_bytes(item)),
        }
        Ok(())
    }
}
