//! Implements the trait [`Frontier`].

use std::net::IpAddr;
use std::time::Duration;

use super::held::note;
use super::open::EmbeddedFrontier;
use super::ranks;
use crate::held::{HELD, TrapsDone};
use crate::keys::{HostKey, split};
use crate::{
    Applied, Batch, BudgetStanding, Claim, Counts, Forgotten, Frontier, FrontierCopy, FrontierError, FrontierOptions,
    HostLook, HostOrder, HostTurn, Lease, LookAt, NoBudget, PageRecord, Past, Proposal, Proposed, QueuePlace, Ranked,
    Release, Remembered, Settled, Standing, Turn, Unjudged, UrlLook, WHEN_MET_AGAIN, Waiting, WhichHosts, Work,
};
use seine_delivery::Position;
use seine_parse::page::{DuplicateOf, EpochMs, Kind, Withheld};
use seine_policies::budgets::Amounts;
use seine_policies::duplicates::Content;
use seine_policies::focus::Lead;
use seine_policies::revisit::Trust;
use seine_system::clock;

/// Records of a host that are searched for a witness.
const LOOKED_AT: usize = 256;

impl Frontier for EmbeddedFrontier {
    fn propose(&self, work: &[Proposal], now: EpochMs) -> Result<Proposed, FrontierError> {
        self.change(now, |changes, known| Ok(changes.add_proposals(work, &[], known)?.0))
    }

    fn try_again(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        self.change(now, |changes, _| urls.iter().map(|url| changes.try_again(url).map(u64::from)).sum())
    }

    fn lease_sparing(
        &self,
        now: EpochMs,
        max_hosts: usize,
        max_urls: usize,
        spared: usize,
    ) -> Result<Vec<Lease>, FrontierError> {
        self.lease_hosts(now, max_hosts, max_urls, spared)
    }

    fn lease_host(&self, origin: &str, now: EpochMs) -> Result<HostTurn, FrontierError> {
        self.lease_one(origin, now)
    }

    fn lend(&self, lease: &Lease, until: EpochMs) -> Result<bool, FrontierError> {
        self.lend_until(lease, until)
    }

    fn claim_address(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn {
        self.claim_slot(lease, ip, delay, now)
    }

    fn hold_address(&self, ip: IpAddr, time: Duration, now: EpochMs) {
        self.hold_slot(ip, time, now);
    }

    fn give_back(&self, lease: Lease, release: Release) {
        self.take_back(lease, release);
    }

    fn write_visits(&self) -> Result<(), FrontierError> {
        self.write_owed_in_turn()
    }

    fn claim_target(&self, target: &str, by: &str) -> Result<Claim, FrontierError> {
        self.claim(target, by)
    }

    fn claim_place(
        &self,
        canonical: &str,
        by: &str,
        leaves_after: Option<Duration>,
    ) -> Result<Option<Withheld>, FrontierError> {
        self.claim_place(canonical, by, leaves_after)
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

    fn unjudged(&self) -> Unjudged {
        Unjudged(self.schedule.lock().unjudged())
    }

    fn fetch_again(&self, Unjudged(urls): &Unjudged) -> u64 {
        self.give_up_verdicts(urls)
    }

    fn apply(&self, batch: &Batch, now: EpochMs) -> Result<Applied, FrontierError> {
        let applied = self.change(now, |changes, known| {
            self.tell_of_going_back()?;
            if batch.cursor <= changes.totals.cursor {
                return Ok(None);
            }
            changes.add_brought(&batch.verdicts)?;
            let verdicts = changes.add_verdicts(&batch.verdicts)?;
            batch.hints.iter().try_for_each(|hint| changes.add_hint(hint))?;
            let (proposed, added) = changes.add_proposals(&batch.proposals, &batch.traps.held, known)?;
            let hosts = batch.traps.hosts.iter().map(|host| changes.change_traps(host, known));
            let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
            changes.learned = batch.learned.clone();
            changes.totals.judge(batch.harvest);
            changes.totals.links_seen += batch.proposals.len() as u64;
            changes.totals.cursor = batch.cursor;
            let traps = if hosts.is_empty() { TrapsDone::default() } else { TrapsDone { added, hosts } };
            Ok(Some(Applied { verdicts, proposed, traps }))
        })?;
        let Some(applied) = applied else { return Ok(Applied::default()) };
        self.forget_told(batch.verdicts.iter().filter_map(|verdict| self.key_of(&verdict.url).ok()));
        Ok(applied)
    }

    fn lead(&self, url: &str) -> Result<Option<Lead>, FrontierError> {
        let url = self.key_of(url)?;
        let store = self.shelf.store()?;
        let Some(state) = store.state_of(url)? else { return Ok(None) };
        Ok(store.queued(url, state)?.map(|item| item.lead))
    }

    fn learned(&self) -> Result<Remembered, FrontierError> {
        ranks::learned(&*self.shelf.store()?)
    }

    fn forget_learned(&self) -> Result<(), FrontierError> {
        let store = self.shelf.writable()?;
        let mut batch = store.db.batch();
        ranks::clear(&store, &mut batch)?;
        store.commit(batch)
    }

    fn rank_again(
        &self,
        after: Option<QueuePlace>,
        at_most: usize,
        rank: &dyn Fn(&Ranked) -> u8,
        now: EpochMs,
    ) -> Result<Option<QueuePlace>, FrontierError> {
        self.change(now, |changes, _| changes.rank_again(after, at_most, rank))
    }

    fn cursor(&self) -> Result<Position, FrontierError> {
        Ok(self.schedule.lock().totals.cursor)
    }

    fn durable_cursor(&self) -> Result<Position, FrontierError> {
        let cursor = self.cursor()?;
        let mut durable = self.durable.lock();
        if durable.is_none_or(|durable| durable < cursor) {
            self.shelf.store()?.persist()?;
            *durable = Some(cursor);
        }
        Ok(cursor)
    }

    fn page(&self, url: &str) -> Result<Option<PageRecord>, FrontierError> {
        let (key, origin, _) = self.keys.of(url)?;
        let page = self.shelf.store()?.page(key, origin)?;
        Ok(page.map(|page| PageRecord { past: Past::default(), ..page }))
    }

    /// The latest live page among the host's first pages.
    fn witness(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError> {
        let store = &*self.shelf.store()?;
        let mut last: Option<(EpochMs, PageRecord)> = None;
        for entry in store.pages.prefix(self.keys.host(origin).to_be_bytes()).take(LOOKED_AT) {
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

    fn traps(&self, origin: &str) -> Result<(u64, Option<Vec<u8>>), FrontierError> {
        let host = self.keys.host(split(&format!("{origin}/"))?.0);
        let pages = self.recorded(host, |record| record.pages)?.unwrap_or(0);
        let store = self.shelf.store()?;
        Ok((pages, store.get(&store.notes, &note(host))?.map(|bytes| bytes.to_vec())))
    }

    fn release_held(&self, of_each: usize, now: EpochMs) -> Result<u64, FrontierError> {
        let hosts: Vec<HostKey> = self.schedule.lock().held.iter().copied().collect();
        let mut released = 0;
        for host in hosts {
            released += self.change(now, |changes, _| match changes.origin_of(host)? {
                Some(origin) => changes.release(host, &origin, HELD..WHEN_MET_AGAIN, of_each),
                None => Ok(0),
            })?;
        }
        Ok(released as u64)
    }

    fn trust(&self, url: &str) -> Result<Option<Trust>, FrontierError> {
        let host = self.keys.host(split(url)?.0);
        Ok(self.recorded(host, |record| record.trust.as_deref().copied())?.flatten())
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
        let host = self.keys.host(origin);
        let store = &*self.shelf.store()?;
        let robots = self.owed_robots(host).map_or_else(|| store.robots_of(host), |robots| Ok(Some(robots)))?;
        if let Some(look) = self.schedule.lock().look(host) {
            return Ok(Some(HostLook { robots, ..look }));
        }
        let record = store.host(host)?;
        Ok(record.map(|record| HostLook { record, due: None, is_leased: false, spent: None, robots }))
    }

    fn origins_named(&self, name: &str) -> Result<Vec<String>, FrontierError> {
        self.hosts_named(name)
    }

    fn hosts_of_domain(&self, origin: &str) -> Result<u64, FrontierError> {
        self.hosts_of(origin)
    }

    fn look_at_hosts(&self, which: WhichHosts, at_most: usize) -> Vec<HostLook> {
        self.schedule.lock().look_at(which, at_most)
    }

    fn look_at_url(&self, url: &str) -> Result<Option<UrlLook>, FrontierError> {
        self.look_at_one_url(url)
    }

    fn order_host(&self, origin: &str, order: HostOrder, now: EpochMs) -> Result<(), FrontierError> {
        split(&format!("{origin}/"))?;
        self.change(now, |changes, _| {
            let record = &mut changes.host(self.keys.host(origin), origin)?.record;
            match order {
                HostOrder::Block => record.is_blocked = true,
                HostOrder::Unblock => record.is_blocked = false,
                HostOrder::Delay(delay) => {
                    record.ordered_delay_ms =
                        delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX / 4));
                }
                HostOrder::Pages(pages) => record.ordered_pages = pages,
            }
            Ok(())
        })?;
        self.flush()
    }

    fn records_after(
        &self,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError> {
        self.read_records_after(None, after, at_most, wanted)
    }

    fn note(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let store = self.shelf.store()?;
        let bytes = store.note_bytes(&format!("note:{name}"))?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| store.unreadable("notes"))).transpose()
    }

    fn set_note(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        let store = self.shelf.writable()?;
        let mut batch = store.db.batch();
        batch.insert(&store.notes, format!("note:{name}"), value);
        store.commit(batch)
    }

    fn flush(&self) -> Result<(), FrontierError> {
        self.write_all_owed()?;
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
        let keys = urls.iter().map(|url| self.key_of(url)).collect::<Result<Vec<_>, _>>()?;
        self.forget_all(&keys, now)
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

    fn reconfigure(&self, options: FrontierOptions) {
        self.take_options(options);
    }

    fn look_again(&self, of: Option<&str>, now: EpochMs, look: LookAt) -> Result<u64, FrontierError> {
        self.look_at_all_again(of, now, look)
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

/// When a page was live, if its last fetch found it.
fn answered_ms(page: &PageRecord) -> Option<EpochMs> {
    let alive = page.history().filter(|_| page.kind.is_delivered() && page.state.is_live())?.alive_ms;
    // An attempt gets its id before its request.
    (clock::time_of(&page.event_id)? <= alive).then_some(alive)
}
