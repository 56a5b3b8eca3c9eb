//! Politeness slots of addresses over a restart. After a kill, the next process must not visit an address too soon, for
//! any of its hosts.
//!
//! Most slots are no longer than the default delay. They are not stored: at a start, every address waits once for the
//! larger default delay of the last run and this one. Longer slots (a delay ordered by the operator, a host lent to a
//! remote worker) are stored before the request. A request may have been in progress until the kill, so its delay
//! counts from the opening. If a run sends no request, its successor goes on with the wait of that run: otherwise a crawl
//! that is restarted more often than its delay would never fetch.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;

use super::opening::Opening;
use crate::addresses::Addresses;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::embedded::disk::store::Store;
use crate::keys::HostKey;
use crate::{AddressLimit, FrontierError, PolitenessSlot};
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// The default delay of the last run (ms), and the end of the wait at its start. Before its first request also: since when
/// no request was sent.
const REST: &str = "slots";
/// Prefix of an address's key. The value: until when it is taken at least, and the delay after a request (ms).
const SLOT: &str = "slot:";
/// No request is in progress for that long.
const LONGEST_REQUEST_MS: u64 = 24 * 3_600_000;
/// Delays are in milliseconds, so a delay that starts late in one would end up to 1 ms early.
const ROUNDING_MS: u64 = 1;

/// The last run's note under [`REST`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastRun {
    default_delay_ms: u64,
    opens_at: EpochMs,
    /// It sent no request, and no run did since then.
    pub rests_from: Option<EpochMs>,
}

/// The slots of this run that the next start must know.
struct Rest {
    /// When addresses open that this run did not visit.
    opens_at: EpochMs,
    /// Slots of earlier runs that have ended, to be deleted.
    over: Vec<fjall::Slice>,
    is_kept: bool,
}

/// The politeness slots. Locks: `rest`, and in it `addresses`.
pub(crate) struct Slots {
    store_handle: Arc<ReopenableStore>,
    default_delay_ms: u64,
    is_last_delay_longer: bool,
    addresses: Mutex<Addresses>,
    rest: Mutex<Rest>,
}

impl Slots {
    /// Writes only that no request was sent yet, and opens on a full disk without that.
    pub(crate) fn open(store_handle: Arc<ReopenableStore>, opening: Opening) -> Result<Slots, FrontierError> {
        let store = store_handle.store()?;
        let (mut busy, mut over) = (Vec::new(), Vec::new());
        for entry in store.notes.prefix(SLOT) {
            let (key, value) = entry.into_inner().map_err(|source| store.failed(source))?;
            match stored_slot(&key, &value, opening) {
                Some(slot) => busy.push(slot),
                None => over.push(key),
            }
        }
        let (rest_ms, from) = (opening.default_delay_ms, opening.rests_from);
        // In a folder without any visits no address must wait.
        let (longest, opens_at) = match (opening.hosts, LastRun::of(&store)?) {
            (0, _) => (rest_ms, 0),
            (_, None) => (rest_ms, from.saturating_add(with_rounding(rest_ms))),
            (_, Some(last)) => {
                let longest = rest_ms.max(last.default_delay_ms);
                (longest, last.opens_at.max(from.saturating_add(with_rounding(longest))))
            }
        };
        let mut addresses = Addresses::default();
        if !planted::is("addresses_forgotten") {
            addresses.begin(opens_at, busy);
        }
        if opening.hosts > 0 && longest > 0 {
            // On a full disk the next start waits for the whole delay again.
            let mut batch = store.db.batch();
            batch.insert(&store.notes, REST, format!("{longest} {opens_at} {from}"));
            let _ = store.commit(batch);
        }
        drop(store);
        let (addresses, rest) = (Mutex::new(addresses), Mutex::new(Rest { opens_at, over, is_kept: false }));
        Ok(Slots { store_handle, default_delay_ms: rest_ms, is_last_delay_longer: longest > rest_ms, addresses, rest })
    }

    /// Implements [`crate::Fetching::take_politeness_slot`] for a host that is not recalled.
    pub(crate) fn take(&self, host: HostKey, ip: IpAddr, limit: AddressLimit, now: EpochMs) -> PolitenessSlot {
        let slot = self.addresses.lock().take_slot(host, ip, limit, now);
        if slot == PolitenessSlot::Now {
            self.keep(ip, limit.delay, limit.delay);
        }
        slot
    }

    /// Implements [`crate::Fetching::end_politeness_slot`].
    pub(crate) fn end(&self, ip: IpAddr, limit: AddressLimit, began: EpochMs, now: EpochMs) {
        self.addresses.lock().end_slot(ip, limit, began, now);
    }

    /// Implements [`crate::Fetching::hold_address`].
    pub(crate) fn hold(&self, ip: IpAddr, time: Duration, now: EpochMs) {
        self.addresses.lock().hold(ip, time, now);
        self.keep(ip, time, Duration::ZERO);
    }

    /// The addresses that are not free yet, and the hosts that were visited last there.
    pub(crate) fn resting(&self, now: EpochMs) -> Vec<(IpAddr, Option<HostKey>)> {
        self.addresses.lock().resting(now)
    }

    /// Whether the wait since the start is that of an earlier run with a longer delay.
    pub(crate) fn rests_by_longer_delay(&self) -> bool {
        self.is_last_delay_longer
    }

    /// See [`Addresses::bring_forward`]. If that cannot be written, a restart waits longer.
    pub(crate) fn bring_forward(&self, ip: IpAddr, at: EpochMs, delay: Duration) -> Vec<HostKey> {
        let _rest = self.rest.lock();
        let (waiting, until) = {
            let mut addresses = self.addresses.lock();
            (addresses.bring_forward(ip, at), addresses.free_at(ip))
        };
        let key = format!("{SLOT}{ip}");
        let written = self.store_handle.writable().and_then(|store| {
            if store.note_bytes(&key)?.is_none() {
                return Ok(());
            }
            let mut batch = store.db.batch();
            batch.insert(&store.notes, key.as_str(), format!("{until} {}", delay.as_millis()));
            store.commit(batch)
        });
        if let Err(error) = written {
            tracing::debug!(%ip, %error, "the politeness slot of an address could not be written");
        }
        waiting
    }

    /// The same for the addresses that this run did not visit yet.
    pub(crate) fn bring_opening_forward(&self, at: EpochMs) {
        let mut rest = self.rest.lock();
        self.addresses.lock().bring_opening_forward(at);
        (rest.opens_at, rest.is_kept) = (rest.opens_at.min(at), false);
    }

    /// Stores a slot that the wait at the next start would not cover. With the first slot it also stores the length of
    /// that wait. If the store cannot be written, fetching pauses.
    /// `delay`: after the request in progress.
    fn keep(&self, ip: IpAddr, time: Duration, delay: Duration) {
        let is_covered = time.as_millis() <= u128::from(with_rounding(self.default_delay_ms));
        // Held until it is written, so that no request starts before.
        let mut rest = self.rest.lock();
        if is_covered && rest.is_kept {
            return;
        }
        let until = self.addresses.lock().free_at(ip);
        let written = self.store_handle.writable().and_then(|store| {
            let mut batch = store.db.batch();
            if !rest.is_kept {
                batch.insert(&store.notes, REST, format!("{} {}", self.default_delay_ms, rest.opens_at));
                rest.over.iter().for_each(|key| batch.remove(&store.notes, key.clone()));
            }
            if !is_covered {
                batch.insert(&store.notes, format!("{SLOT}{ip}"), format!("{until} {}", delay.as_millis()));
            }
            store.commit(batch)
        });
        match written {
            Ok(()) => {
                rest.over.clear();
                rest.is_kept = true;
            }
            Err(error) => tracing::debug!(%ip, %error, "the politeness slot of an address could not be written"),
        }
    }
}

impl LastRun {
    pub(crate) fn of(store: &Store) -> Result<Option<LastRun>, FrontierError> {
        let note = store.note_bytes(REST)?.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(note.as_deref().and_then(LastRun::from_note))
    }

    fn from_note(note: &str) -> Option<LastRun> {
        let mut numbers = note.split(' ').map(|number| number.parse::<u64>().ok());
        let (default_delay_ms, opens_at) = (numbers.next()??, numbers.next()??);
        Some(LastRun { default_delay_ms, opens_at, rests_from: numbers.next().flatten() })
    }
}

/// A stored slot that is still taken at the opening.
fn stored_slot(key: &[u8], slot: &[u8], opening: Opening) -> Option<(IpAddr, EpochMs)> {
    let ip = std::str::from_utf8(&key[SLOT.len()..]).ok()?.parse().ok()?;
    Some((ip, taken_until(std::str::from_utf8(slot).ok()?, opening)?))
}

/// Until when a stored slot is still taken at the opening. 0.1.0 stored no delay.
fn taken_until(slot: &str, opening: Opening) -> Option<EpochMs> {
    let (until, delay) = slot.split_once(' ').unwrap_or((slot, "0"));
    let (until, delay) = (until.parse::<EpochMs>().ok()?, delay.parse::<u64>().ok()?);
    let was_running = delay > 0 && opening.rests_from < until.saturating_add(LONGEST_REQUEST_MS);
    let rested = if was_running { opening.rests_from.saturating_add(delay) } else { 0 };
    Some(until.max(rested)).filter(|until| *until > opening.at)
}

pub(crate) fn with_rounding(delay: u64) -> u64 {
    if delay == 0 { 0 } else { delay.saturating_add(ROUNDING_MS) }
}
