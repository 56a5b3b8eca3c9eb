//! The embedded frontier: its parts, and how it is opened.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use locks::Mutex;

use super::changes::{CLOCK, Changes};
use super::disk::reopenable_store::ReopenableStore;
use super::memory::budget_reservations::stored_of_crawl;
use super::memory::durable::DurableCursor;
use super::memory::leases::Leases;
use super::memory::ledger::Ledger;
use super::memory::limits::Limits;
use super::memory::opening::Opening;
use super::memory::reservations::Reservations;
use super::memory::slots::{LastRun, Slots};
use super::memory::visits::Visits;
use super::memory::{Memory, WriterCache};
use crate::keys::HostKey;
use crate::schedule::{HostRecord, NEVER, Schedule};
use crate::{FrontierError, FrontierOptions};
use seine_parse::page::EpochMs;

/// A store for durable state, and a schedule in memory for speed.
pub struct EmbeddedFrontier {
    pub(super) store_handle: Arc<ReopenableStore>,
    /// Held while a batch of changes is collected and written.
    pub(super) writer: Mutex<WriterCache>,
    pub(super) memory: Memory,
    pub(super) slots: Slots,
    pub(super) durable: DurableCursor,
}

impl EmbeddedFrontier {
    /// Opens the frontier in the folder `dir`, or creates it. Reads one record per host, and no URL.
    pub fn open(dir: &Path, options: FrontierOptions, now: EpochMs) -> Result<EmbeddedFrontier, FrontierError> {
        let store_handle = Arc::new(ReopenableStore::open(dir, options.cache_bytes, options.reserve_bytes)?);
        let memory = remember(&store_handle, options, now)?;
        Ok(EmbeddedFrontier {
            slots: Slots::open(store_handle.clone(), memory.opening)?,
            durable: DurableCursor::new(store_handle.clone()),
            writer: Mutex::default(),
            memory,
            store_handle,
        })
    }

    /// Replaces budgets, limits, shares, scores and reserves. Other options stay. Hosts that a used-up budget has
    /// stopped are checked again. Fetches in progress were allowed by the earlier limits.
    pub fn reconfigure(&self, options: FrontierOptions) {
        self.memory.limits.set(&options);
        let FrontierOptions { budgets, revisit_share, ranks, reserve_bytes, .. } = options;
        self.store_handle.reserve(reserve_bytes);
        let mut schedule = self.memory.schedule.lock();
        let mut ledger = self.memory.reservations.budgets.ledger.lock();
        schedule.revisit_share = revisit_share;
        schedule.rank(ranks);
        if ledger.budgets != budgets {
            ledger.budgets = budgets;
            schedule.wake_resting();
        }
    }

    /// One batch of changes, written if there are any.
    pub(super) fn change<T>(
        &self,
        now: EpochMs,
        collect: impl FnOnce(&mut Changes) -> Result<T, FrontierError>,
    ) -> Result<T, FrontierError> {
        let changed = {
            let mut cache = self.writer.lock();
            let store = self.store_handle.writable()?;
            let mut changes = Changes::new(&self.memory, &store, &mut cache, now);
            collect(&mut changes).and_then(|collected| changes.commit().map(|()| collected))
        };
        self.memory.visits.write_meanwhile();
        changed
    }

    /// Reads part of a host's record; none for an unknown host.
    pub(super) fn recorded<T>(
        &self,
        host: HostKey,
        what: impl Fn(&HostRecord) -> T,
    ) -> Result<Option<T>, FrontierError> {
        if let Some(record) = self.memory.schedule.lock().record(host) {
            return Ok(Some(what(&record)));
        }
        Ok(self.store_handle.store()?.host(host)?.as_ref().map(what))
    }
}

/// Builds the parts in memory from the store. `now`: as for [`EmbeddedFrontier::open`].
fn remember(
    store_handle: &Arc<ReopenableStore>,
    options: FrontierOptions,
    now: EpochMs,
) -> Result<Memory, FrontierError> {
    let store = store_handle.store()?;
    let clock = store.note_bytes(CLOCK)?.and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or(0);
    let (totals, keys) = (store.totals()?, store.keys);
    // The delay of the last requests passes by the clock of that run.
    let at = now.max(clock);
    let opening = Opening {
        at,
        rests_from: LastRun::of(&store)?.and_then(|last| last.rests_from).map_or(at, |from| from.min(at)),
        default_delay_ms: u64::try_from(options.default_delay.as_millis()).unwrap_or(u64::MAX / 4),
        hosts: totals.next_host,
    };
    let limits = Limits::default();
    limits.set(&options);
    let mut schedule = Schedule::new(totals, keys, options.revisit_share, options.ranks);
    store.each_host(|host, record| {
        if record.work() > 0 {
            schedule.update(host, opening.after(record), &[], (NEVER, u8::MAX));
        }
    })?;
    let schedule = Arc::new(Mutex::new(schedule));
    let ledger = Ledger::new(options.budgets, opening.at, stored_of_crawl(&store, totals.live)?);
    Ok(Memory {
        keys,
        opening,
        limits,
        visits: Visits::new(store_handle.clone(), keys, schedule.clone()),
        leases: Leases::new(store_handle.clone(), keys, schedule.clone()),
        reservations: Arc::new(Reservations::new(store_handle, keys, ledger)),
        schedule,
        last_links: Mutex::default(),
        priorities: Mutex::default(),
        wakes_duplicates: options.wakes_duplicates,
        clock: AtomicU64::new(clock),
    })
}
