//! The embedded frontier: its parts, how it is opened, and the effect of a restart on hosts.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locks::Mutex;

use super::budget_reservations::stored_of_crawl;
use super::changes::Changes;
use super::found::LastLinks;
use super::known::Known;
use super::ledger::Ledger;
use super::ranks::Standings;
use super::reservations::Reservations;
use super::shelf::Shelf;
use super::slots::Rest;
use super::visits::Owed;
use crate::addresses::Addresses;
use crate::keys::{HostKey, Keys, UrlKey};
use crate::schedule::{HostRecord, NEVER, Schedule};
use crate::{Attempts, FrontierError, FrontierOptions};
use seine_delivery::Offset;
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// A store for durable state, and a schedule in memory for speed.
pub struct EmbeddedFrontier {
    pub(super) shelf: Arc<Shelf>,
    pub(super) keys: Keys,
    /// The maximum value if there is no limit.
    pub(super) max_pages_per_host: AtomicU64,
    pub(super) max_hosts_per_domain: AtomicU64,
    /// When this run began. No host is visited before; see [`FrontierOptions::default_delay`].
    pub(super) opened_at: EpochMs,
    pub(super) default_delay_ms: u64,
    /// Hosts with this number and above were first seen by this process.
    pub(super) hosts_at_opening: u64,
    pub(super) writer: Mutex<Known>,
    pub(super) last_links: Mutex<LastLinks>,
    /// Priorities of URLs, if links have scores.
    pub(super) standings: Mutex<Standings>,
    /// Attempts of leased URLs, so that their verdicts need not read the queues.
    pub(super) tried: Mutex<HashMap<UrlKey, Attempts>>,
    pub(super) host_writes: Mutex<()>,
    pub(super) owed: Mutex<HashMap<HostKey, Owed>>,
    pub(super) schedule: Mutex<Schedule>,
    pub(super) addresses: Mutex<Addresses>,
    pub(super) rest: Mutex<Rest>,
    pub(super) reservations: Arc<Reservations>,
    /// See [`FrontierOptions::wakes_duplicates`].
    pub(super) wakes_duplicates: bool,
    pub(super) durable: Mutex<Option<Offset>>,
    /// The store was reopened with less than it had; the validator must be told.
    pub(super) went_back: AtomicBool,
    /// The latest time passed in, stored over restarts.
    pub(super) clock: AtomicU64,
}

/// Its key: [`crate::CLOCK_NOTE`] as stored by [`crate::Notes::note`].
pub(super) const CLOCK: &str = "note:clock";

impl EmbeddedFrontier {
    /// Opens the frontier in the folder `dir`, or creates it. Reads one record per host, and no URL.
    pub fn open(dir: &Path, options: FrontierOptions, now: EpochMs) -> Result<EmbeddedFrontier, FrontierError> {
        let shelf = Arc::new(Shelf::open(dir, options.cache_bytes, options.reserve_bytes)?);
        let (totals, keys, clock, crawl) = {
            let store = shelf.store()?;
            let clock = store.note_bytes(CLOCK)?.and_then(|text| String::from_utf8(text).ok()?.parse().ok());
            let totals = store.totals()?;
            (totals, store.keys, clock.unwrap_or(0), stored_of_crawl(&store, totals.live)?)
        };
        let run = now.max(clock);
        let ledger = Ledger::new(options.budgets, run, crawl);
        let frontier = EmbeddedFrontier {
            reservations: Arc::new(Reservations::new(&shelf, keys, ledger)),
            shelf,
            keys,
            max_pages_per_host: AtomicU64::new(options.max_pages_per_host.unwrap_or(u64::MAX)),
            max_hosts_per_domain: AtomicU64::new(options.max_hosts_per_domain.unwrap_or(u64::MAX)),
            // The delay of the last requests passes by the clock of that run.
            opened_at: run,
            default_delay_ms: u64::try_from(options.default_delay.as_millis()).unwrap_or(u64::MAX / 4),
            hosts_at_opening: totals.next_host,
            writer: Mutex::default(),
            last_links: Mutex::default(),
            standings: Mutex::default(),
            tried: Mutex::default(),
            host_writes: Mutex::default(),
            owed: Mutex::default(),
            schedule: Mutex::new(Schedule::new(totals, keys, options.revisit_share, options.ranks)),
            addresses: Mutex::default(),
            rest: Mutex::default(),
            wakes_duplicates: options.wakes_duplicates,
            durable: Mutex::default(),
            went_back: AtomicBool::new(false),
            clock: AtomicU64::new(clock),
        };
        frontier.schedule_hosts()?;
        frontier.open_slots()?;
        Ok(frontier)
    }

    /// Replaces budgets, limits, shares, scores and reserves. Other options stay. Hosts that a used-up budget has
    /// stopped are checked again. Fetches in progress were allowed by the earlier limits.
    pub fn reconfigure(&self, options: FrontierOptions) {
        let FrontierOptions { budgets, max_pages_per_host, max_hosts_per_domain, .. } = options;
        let FrontierOptions { revisit_share, ranks, reserve_bytes, .. } = options;
        self.max_hosts_per_domain.store(max_hosts_per_domain.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.max_pages_per_host.store(max_pages_per_host.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.shelf.reserve(reserve_bytes);
        let mut schedule = self.schedule.lock();
        let mut ledger = self.reservations.budgets.ledger.lock();
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
        collect: impl FnOnce(&mut Changes, &Known) -> Result<T, FrontierError>,
    ) -> Result<T, FrontierError> {
        let changed = {
            let mut known = self.writer.lock();
            let mut changes = Changes::new(self, now)?;
            collect(&mut changes, &known).and_then(|collected| changes.commit(&mut known).map(|()| collected))
        };
        self.write_owed_meanwhile();
        changed
    }

    /// Reads part of a host's record; none for an unknown host.
    pub(super) fn recorded<T>(
        &self,
        host: HostKey,
        what: impl Fn(&HostRecord) -> T,
    ) -> Result<Option<T>, FrontierError> {
        if let Some(record) = self.schedule.lock().record(host) {
            return Ok(Some(what(&record)));
        }
        Ok(self.shelf.store()?.host(host)?.as_ref().map(what))
    }

    fn schedule_hosts(&self) -> Result<(), FrontierError> {
        let mut schedule = self.schedule.lock();
        self.shelf.store()?.each_host(|host, record| {
            if record.work() > 0 {
                schedule.update(host, self.after_opening(record), &[], (NEVER, u8::MAX));
            }
        })
    }

    /// Applies the restart rule to a host: it may have been visited until the last process was killed, so its delay
    /// starts when this process started.
    pub(super) fn after_opening(&self, mut host: HostRecord) -> HostRecord {
        if host.number < self.hosts_at_opening && !planted::is("rest_forgotten") {
            // An order applies from the first request, which the record may not have yet.
            let delay = self.default_delay_ms.max(host.delay_ms).max(host.ordered_delay_ms.unwrap_or(0));
            // A back-off of an earlier run is over, because a user who starts the crawl again wants to know. A pause
            // that the server asked for stays.
            if let Some(trouble) = host.trouble.filter(|trouble| trouble.last < self.opened_at && !trouble.given_up) {
                host.not_before = trouble.asked_until.unwrap_or(0);
            }
            host.not_before = host.not_before.max(self.opened_at.saturating_add(delay));
        }
        host
    }
}
