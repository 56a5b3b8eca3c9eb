//! What the embedded frontier promises, kept.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use super::changes::Changes;
use super::open::{EmbeddedFrontier, Owed};
use crate::budgets::Amounts;
use crate::delivery::Position;
use crate::duplicates::Content;
use crate::focus::Lead;
use crate::frontier::held::TrapsDone;
use crate::frontier::keys::split;
use crate::frontier::{
    Applied, Batch, BudgetStanding, Claim, Counts, Forgotten, Frontier, FrontierCopy, FrontierError, HostLook,
    HostOrder, HostTurn, Lease, Limits, Look, NoBudget, PageRecord, Past, Proposal, Proposed, QueuePlace, Ranked,
    Release, Remembered, Settled, Standing, Turn, UrlLook, Waiting, WhichHosts, Work,
};
use crate::page::{DuplicateOf, EpochMs, Kind, Withheld};
use crate::revisit::Trust;

impl Frontier for EmbeddedFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = Changes::new(self, now)?;
        let proposed = changes.add_proposals(work, &known)?;
        changes.commit(&mut known)?;
        Ok(proposed)
    }

    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = Changes::new(self, now)?;
        let count = changes.add_again(urls)?;
        changes.commit(&mut known)?;
        Ok(count)
    }

    fn lease(&self, now: EpochMs, max_hosts: usize, max_urls: usize) -> Result<Vec<Lease>, FrontierError> {
        self.lease_hosts(now, max_hosts, max_urls)
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError> {
        self.lease_one(origin, now)
    }

    fn lend(&self, lease: &Lease, until: EpochMs) -> Result<(), FrontierError> {
        let store = self.shelf.writable()?;
        let _in_order = self.host_writes.lock();
        let lent = self.schedule.lock().lend(lease.id, until);
        lent.map_or(Ok(()), |(host, record)| store.write_visit(host, &record, None))
    }

    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn {
        let host = self.keys.host(&lease.host.origin);
        if self.schedule.lock().is_recalled(host) {
            return Turn::Recalled;
        }
        self.addresses.lock().claim(host, ip, delay, now)
    }

    fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs) {
        self.addresses.lock().hold(ip, time, now);
    }

    fn release(&self, lease: Lease, release: Release) -> Result<(), FrontierError> {
        let keys = self.keys;
        // What is no URL is none of the lease's either.
        let parts = release.fetched.iter().filter_map(|url| split(url).ok());
        let fetched: HashSet<_> = parts.map(|(origin, path)| keys.url(keys.host(origin), path)).collect();
        let store = self.shelf.writable();
        let mut owed = self.host_writes.lock();
        let released = self.schedule.lock().release(lease.id, &fetched, &release);
        let Some((host, record)) = released else { return Ok(()) };
        match store.and_then(|store| store.write_visit(host, &record, release.robots.as_ref())) {
            // The host is given back all the same; what is to be remembered of it is written later.
            Err(error) if error.is_waiting() => {
                let robots = release.robots.or_else(|| owed.remove(&host)?.robots);
                owed.insert(host, Owed { record, robots });
                Ok(())
            }
            written => written,
        }
    }

    fn claim_target(&self, target: &str, by: &str) -> Result<Claim, FrontierError> {
        self.claim(target, by)
    }

    fn claim_place(&self, canonical: &str, by: &str) -> Result<Option<Withheld>, FrontierError> {
        self.claim_place(canonical, by)
    }

    fn claim_content(&self, content: Content, within: u8, by: &str) -> Result<Option<DuplicateOf>, FrontierError> {
        self.claim_content(content, within, by)
    }

    fn settle_claim(&self, by: &str, settled: Settled) {
        let Ok(by) = self.key_of(by) else { return };
        let mut claims = self.claims.lock();
        match settled {
            Settled::Won => claims.win(by),
            Settled::Lost => claims.end(by),
            Settled::GivenUp => {
                claims.end(by);
                claims.forget(by);
                self.contents.lock().remove(&by);
            }
        }
    }

    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let mut known = self.writer.lock();
        self.tell_of_going_back()?;
        let mut changes = Changes::new(self, now)?;
        if batch.cursor <= changes.totals.cursor {
            return Ok(Applied::default());
        }
        changes.add_brought(&batch.brought)?;
        let verdicts = changes.add_verdicts(&batch.verdicts)?;
        changes.add_hints(&batch.hints)?;
        changes.held = batch.traps.held.iter().copied().collect();
        let proposed = changes.add_proposals(&batch.proposals, &known)?;
        let added = std::mem::take(&mut changes.added);
        changes.held.clear();
        let hosts =
            batch.traps.hosts.iter().map(|host| changes.change_traps(host, &known)).collect::<Result<_, _>>()?;
        changes.learned = batch.learned.clone();
        changes.totals.judge(batch.harvest);
        changes.totals.links_seen += batch.proposals.len() as u64;
        changes.totals.cursor = batch.cursor;
        changes.commit(&mut known)?;
        // The store knows now.
        let judged = batch.verdicts.iter().filter_map(|verdict| self.key_of(&verdict.url).ok());
        let (mut claims, mut tried, mut contents) = (self.claims.lock(), self.tried.lock(), self.contents.lock());
        judged.for_each(|url| {
            contents.remove(&url);
            claims.end(url);
            claims.forget(url);
            tried.remove(&url);
        });
        let is_asked = !batch.traps.hosts.is_empty();
        let traps = if is_asked { TrapsDone { added, hosts } } else { TrapsDone::default() };
        Ok(Applied { verdicts, proposed, traps })
    }

    fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError> {
        self.lead_of(url)
    }

    fn learned(&self) -> Result<Remembered, FrontierError> {
        self.read_learned()
    }

    fn forget_learned(&self) -> Result<(), FrontierError> {
        self.drop_learned()
    }

    fn rank_again(
        &self,
        after: Option<QueuePlace>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
        now: EpochMs,
    ) -> Result<Option<QueuePlace>, FrontierError> {
        self.rank_some_again(after, at_most, rank, now)
    }

    fn cursor(&self) -> Result<Position, FrontierError> {
        Ok(self.schedule.lock().totals.cursor)
    }

    fn durable_cursor(&self) -> Result<Position, FrontierError> {
        let cursor = self.cursor()?;
        let mut durable = self.durable.lock();
        if durable.is_none_or(|durable| durable < cursor) {
            self.flush()?;
            *durable = Some(cursor);
        }
        Ok(cursor)
    }

    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        let (origin, path) = split(url)?;
        let keys = self.keys;
        let page = self.shelf.store()?.page(keys.url(keys.host(origin), path), origin)?;
        Ok(page.map(|page| PageRecord { past: Past::default(), ..page }))
    }

    fn witness(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError> {
        self.find_witness(origin, except)
    }

    fn traps(&self, origin: &str) -> Result<(u64, Option<Vec<u8>>), FrontierError> {
        self.traps_of(origin)
    }

    fn release_held(&self, of_each: usize, now: EpochMs) -> Result<u64, FrontierError> {
        self.release_of_each(of_each, now)
    }

    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError> {
        let host = self.keys.host(split(url)?.0);
        if let Some(record) = self.schedule.lock().record(host) {
            return Ok(record.trust.as_deref().copied());
        }
        Ok(self.shelf.store()?.host(host)?.and_then(|record| record.trust.as_deref().copied()))
    }

    fn counts(&self) -> Counts {
        self.schedule.lock().counts()
    }

    fn next_due(&self) -> Option<EpochMs> {
        self.schedule.lock().next_due()
    }

    fn next_due_well(&self) -> Option<EpochMs> {
        self.schedule.lock().next_due_well()
    }

    fn has_work(&self, now: EpochMs) -> bool {
        self.schedule.lock().has_work(now)
    }

    fn waiting(&self, now: EpochMs, at_most: usize) -> Waiting {
        self.schedule.lock().waiting(now, at_most)
    }

    fn look_at_host(&self, origin: &str) -> Result<Option<HostLook>, FrontierError> {
        self.look_at_one_host(origin)
    }

    fn look_at_hosts(&self, which: WhichHosts, at_most: usize) -> Vec<HostLook> {
        self.schedule.lock().look_at(which, at_most)
    }

    fn look_at_url(&self, url: &str) -> Result<Option<UrlLook>, FrontierError> {
        self.look_at_one_url(url)
    }

    fn order_host(&self, origin: &str, order: HostOrder, now: EpochMs) -> Result<(), FrontierError> {
        self.order_one_host(origin, order, now)
    }

    fn records_after(
        &self,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError> {
        self.read_records_after(after, at_most, wanted)
    }

    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let bytes = self.shelf.store()?.note_bytes(&format!("note:{name}"))?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| self.shelf.unreadable("notes"))).transpose()
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        let store = self.shelf.writable()?;
        let mut batch = store.db.batch();
        batch.insert(&store.notes, format!("note:{name}"), value);
        store.commit(batch)
    }

    fn flush(&self) -> Result<(), FrontierError> {
        self.shelf.store()?.persist()
    }

    fn reserve(&self, url: &str, kind: Kind, now: EpochMs) -> Result<Result<(), NoBudget>, FrontierError> {
        self.hold_for(url, kind, now)
    }

    fn weigh(&self, url: &str, amounts: Amounts) {
        if let Ok(url) = self.key_of(url) {
            self.ledger.lock().weigh(url, amounts);
        }
    }

    fn unreserve(&self, url: &str) {
        if let Ok(url) = self.key_of(url) {
            self.ledger.lock().drop_hold(url);
        }
    }

    fn budgets(&self, now: EpochMs) -> Vec<BudgetStanding> {
        self.standings(now)
    }

    fn recall(&self, origin: &str, recalled: bool) {
        self.schedule.lock().recall(self.keys.host(origin), recalled);
    }

    fn is_recalled(&self, origin: &str) -> bool {
        self.schedule.lock().is_recalled(self.keys.host(origin))
    }

    fn forget(&self, urls: &[String], now: EpochMs) -> Result<Forgotten, FrontierError> {
        self.forget_urls(urls, now)
    }

    fn forget_host(
        &self,
        origin: &str,
        after: Option<u64>,
        at_most: usize,
        now: EpochMs,
    ) -> Result<(Forgotten, Option<u64>), FrontierError> {
        self.forget_some_of(origin, after, at_most, now)
    }

    fn set_limits(&self, limits: Limits) {
        self.limit(limits);
    }

    fn look_again(&self, now: EpochMs, look: &dyn Fn(&PageRecord) -> Option<Look>) -> Result<u64, FrontierError> {
        self.look_at_all_again(now, look)
    }

    fn brought(&self) -> Amounts {
        self.ledger.lock().brought()
    }

    fn copy(&self) -> Result<Option<Box<dyn FrontierCopy + '_>>, FrontierError> {
        self.snapshot().map(Some)
    }

    fn standing(&self) -> Standing {
        self.shelf.standing()
    }

    fn restore(&self) -> Result<(), FrontierError> {
        self.restore_store()
    }
}
