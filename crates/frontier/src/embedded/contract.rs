//! Implements the traits of the contract.

use std::net::IpAddr;
use std::time::Duration;

use super::changes::deferred::note;
use super::changes::proposals::add_proposals;
use super::changes::ranks;
use super::changes::rechecks;
use super::open::EmbeddedFrontier;
use super::verdicts::add_batch;
use crate::deferred::StoredTraps;
use crate::keys::{KeyedUrl, split};
use crate::{
    AddressLimit, Applied, Batch, ChooseRecheck, Counts, Fetching, FrontierError, HostLeases, Lease, LeaseAnswer,
    LeaseLimits, NoBudget, Notes, PageRecord, PolitenessSlot, Proposal, Proposed, QueuePosition, Ranked, Release,
    Remembered, Reservation, Scheduler, Unjudged, UrlHistory, Validation, Verdicts, Waiting, Work,
};
use seine_delivery::Offset;
use seine_parse::page::{EpochMs, Kind};
use seine_policies::focus::Lead;
use seine_policies::revisit::Trust;
use seine_system::clock;

/// Records of a host that are searched for a control page.
const MAX_READ: usize = 256;

impl HostLeases for EmbeddedFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        self.change(now, |changes| Ok(add_proposals(&mut changes.urls, work, &[])?.0))
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<LeaseAnswer, FrontierError> {
        self.lease_one(origin, now)
    }

    fn give_back(&self, lease: Lease, release: Release) {
        self.memory.visits.take_back(lease, release);
    }

    fn write_visits(&self) -> Result<(), FrontierError> {
        self.memory.visits.write_in_turn()
    }
}

impl Scheduler for EmbeddedFrontier {
    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        self.change(now, |changes| {
            urls.iter().map(|url| rechecks::try_again(&mut changes.urls, url).map(u64::from)).sum()
        })
    }

    fn lease(&self, now: EpochMs, limits: LeaseLimits) -> Result<Vec<Lease>, FrontierError> {
        if self.memory.visits.are_too_many() {
            return Ok(Vec::new());
        }
        self.memory.leases.lease(now, limits)
    }

    fn next_due(&self) -> Option<EpochMs> {
        self.memory.schedule.lock().next_due()
    }

    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting {
        self.memory.schedule.lock().waiting(now, at_most)
    }
}

impl Fetching for EmbeddedFrontier {
    fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError> {
        self.memory.visits.lend(lease, until)
    }

    fn take_politeness_slot(&self, lease: &Lease, ip: IpAddr, limit: AddressLimit, now: EpochMs) -> PolitenessSlot {
        let host = self.memory.keys.host(&lease.host.origin);
        if self.memory.schedule.lock().is_recalled(host) {
            return PolitenessSlot::Recalled;
        }
        self.slots.take(host, ip, limit, now)
    }

    fn end_politeness_slot(&self, ip: IpAddr, limit: AddressLimit, began: EpochMs, now: EpochMs) {
        self.slots.end(ip, limit, began, now);
    }

    fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs) {
        self.slots.hold(ip, time, now);
    }

    fn is_recalled(&self, origin: &str) -> bool {
        let host = self.memory.keys.host(origin);
        let is_recalled = self.memory.schedule.lock().is_recalled(host);
        // The schedule does not have a host without queued URLs.
        is_recalled || self.recorded(host, |record| record.is_blocked).is_ok_and(|blocked| blocked == Some(true))
    }

    /// The latest live page among the host's first pages.
    fn control_page(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError> {
        let store = &*self.store_handle.store()?;
        let mut last: Option<(EpochMs, PageRecord)> = None;
        for entry in store.pages.prefix(self.memory.keys.host(origin).to_be_bytes()).take(MAX_READ) {
            let (_, record): (_, PageRecord) = store.read(&store.pages, entry)?;
            let record = record.with_origin(origin);
            match answered_ms(&record).filter(|_| record.url != except) {
                Some(answered) if last.as_ref().is_none_or(|(latest, _)| answered > *latest) => {
                    last = Some((answered, record));
                }
                _ => {}
            }
        }
        Ok(last.map(|(_, page)| Work::new(page.url.clone(), page.kind, page.depth, 0, Some(page))))
    }

    fn recheck(&self, of: Option<&str>, now: EpochMs, recheck: ChooseRecheck) -> Result<u64, FrontierError> {
        self.recheck_all(of, now, recheck)
    }

    fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<Reservation, NoBudget>, FrontierError> {
        self.memory.reservations.reserve(url, kind, now)
    }
}

impl Verdicts for EmbeddedFrontier {
    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let applied = self.change(now, |changes| {
            self.durable.check_rolled_back()?;
            if batch.cursor <= changes.urls.totals.cursor {
                return Ok(None);
            }
            add_batch(changes, batch).map(Some)
        })?;
        let Some(applied) = applied else { return Ok(Applied::default()) };
        let judged: Vec<_> =
            batch.verdicts.iter().filter_map(|verdict| self.memory.keys.key_of(&verdict.url).ok()).collect();
        self.forget_decisions(&judged);
        Ok(applied)
    }

    fn cursor(&self) -> Result<Offset, FrontierError> {
        Ok(self.memory.schedule.lock().totals.cursor)
    }

    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        let KeyedUrl { key, origin, .. } = self.memory.keys.of(url)?;
        let page = self.store_handle.store()?.page(key, origin)?;
        Ok(page.map(|page| PageRecord { url_history: UrlHistory::default(), ..page }))
    }

    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError> {
        let host = self.memory.keys.host(split(url)?.0);
        Ok(self.recorded(host, |record| record.trust.as_deref().copied())?.flatten())
    }

    fn counts(&self) -> Counts {
        self.memory.schedule.lock().counts()
    }
}

impl Validation for EmbeddedFrontier {
    fn durable_cursor(&self) -> Result<Offset, FrontierError> {
        let cursor = self.cursor()?;
        self.durable.reach(cursor)?;
        Ok(cursor)
    }

    fn unjudged(&self) -> Unjudged {
        Unjudged(self.memory.schedule.lock().unjudged())
    }

    fn fetch_again(&self, Unjudged(urls): &Unjudged) -> u64 {
        let lost = self.memory.schedule.lock().fetch_again(urls);
        self.memory.reservations.give_up(&lost);
        lost.len() as u64
    }

    fn traps(&self, origin: &str) -> Result<StoredTraps, FrontierError> {
        let host = self.memory.keys.host(split(&format!("{origin}/"))?.0);
        let pages = self.recorded(host, |record| record.pages)?.unwrap_or(0);
        let store = self.store_handle.store()?;
        Ok(StoredTraps { pages, statistics: store.get(&store.notes, &note(host))?.map(|bytes| bytes.to_vec()) })
    }

    fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError> {
        let url = self.memory.keys.key_of(url)?;
        let store = self.store_handle.store()?;
        let Some(state) = store.state_of(url)? else { return Ok(None) };
        Ok(store.queued(url, state)?.map(|item| item.lead))
    }

    fn learned(&self) -> Result<Remembered, FrontierError> {
        ranks::learned(&*self.store_handle.store()?)
    }

    fn rank_again(
        &self,
        after: Option<QueuePosition>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
        now: EpochMs,
    ) -> Result<Option<QueuePosition>, FrontierError> {
        self.change(now, |changes| ranks::rank_again(&mut changes.urls, after, at_most, rank))
    }
}

impl Notes for EmbeddedFrontier {
    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let store = self.store_handle.store()?;
        let bytes = store.note_bytes(&format!("note:{name}"))?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| store.unreadable("notes"))).transpose()
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        let store = self.store_handle.writable()?;
        let mut batch = store.db.batch();
        batch.insert(&store.notes, format!("note:{name}"), value);
        store.commit(batch)
    }
}

/// When a page was live, if its last fetch found it.
fn answered_ms(page: &PageRecord) -> Option<EpochMs> {
    let alive = page.history().filter(|_| page.kind.is_delivered() && page.state.is_live())?.alive_ms;
    // An attempt gets its id before its request.
    (clock::time_of(&page.event_id)? <= alive).then_some(alive)
}
