//! Politeness slots of addresses over a restart. After a kill, the next process must not visit an address too soon, for
//! any of its hosts.
//!
//! Most slots are no longer than the default delay. They are not stored: at a start, every address waits once for the
//! larger default delay of the last run and this one. Longer slots (a delay ordered by the operator, a host lent to a
//! remote worker) are stored before the request. A request may have been in progress until the kill, so its delay
//! counts from the opening.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;

use super::opening::Opening;
use crate::addresses::Addresses;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::keys::HostKey;
use crate::{AddressLimit, FrontierError, PolitenessSlot};
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// The default delay of the last run (ms), and the end of the wait at its start.
const REST: &str = "slots";
/// Prefix of an address's key. The value: until when it is taken at least, and the delay after a request (ms).
const SLOT: &str = "slot:";
/// No request is in progress for that long.
const LONGEST_REQUEST_MS: u64 = 24 * 3_600_000;
/// Delays are in milliseconds, so a delay that starts late in one would end up to 1 ms early.
const ROUNDING_MS: u64 = 1;

/// The slots of this run that the next start must know.
struct Rest {
    note: String,
    /// Slots of earlier runs that have ended, to be deleted.
    over: Vec<fjall::Slice>,
    is_kept: bool,
}

/// The politeness slots. Locks: `rest`, and in it `addresses`.
pub(crate) struct Slots {
    store_handle: Arc<ReopenableStore>,
    default_delay_ms: u64,
    addresses: Mutex<Addresses>,
    rest: Mutex<Rest>,
}

impl Slots {
    /// Writes nothing, because a frontier also opens on a full disk. The note of the last run is right until the first
    /// request of this one.
    pub(crate) fn open(store_handle: Arc<ReopenableStore>, opening: Opening) -> Result<Slots, FrontierError> {
        let store = store_handle.store()?;
        let text = store.note_bytes(REST)?.and_then(|bytes| String::from_utf8(bytes).ok());
        let last = text.as_deref().and_then(|text| {
            let (rest, until) = text.split_once(' ')?;
            Some((rest.parse::<u64>().ok()?, until.parse::<EpochMs>().ok()?))
        });
        let (mut busy, mut over) = (Vec::new(), Vec::new());
        for entry in store.notes.prefix(SLOT) {
            let (key, value) = entry.into_inner().map_err(|source| store.failed(source))?;
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            let slot = text(&key[SLOT.len()..])
                .and_then(|ip| ip.parse::<IpAddr>().ok())
                .zip(text(&value).and_then(|slot| taken_until(&slot, opening.at)));
            match slot {
                Some(slot) => busy.push(slot),
                None => over.push(key),
            }
        }
        let rest = opening.default_delay_ms;
        // In a folder without any visits no address must wait.
        let opens_at = match (opening.hosts, last) {
            (0, _) => 0,
            (_, None) => opening.at.saturating_add(with_rounding(rest)),
            (_, Some((before, until))) => until.max(opening.at.saturating_add(with_rounding(rest.max(before)))),
        };
        let mut addresses = Addresses::default();
        if !planted::is("addresses_forgotten") {
            addresses.begin(opens_at, busy);
        }
        let note = format!("{rest} {opens_at}");
        let is_kept = text.as_deref() == Some(note.as_str()) && over.is_empty();
        drop(store);
        let rest = Mutex::new(Rest { note, over, is_kept });
        Ok(Slots { store_handle, default_delay_ms: opening.default_delay_ms, addresses: Mutex::new(addresses), rest })
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
                batch.insert(&store.notes, REST, rest.note.as_str());
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

/// Until when a stored slot is still taken at the opening. 0.1.0 stored no delay.
fn taken_until(slot: &str, opened_at: EpochMs) -> Option<EpochMs> {
    let (until, delay) = slot.split_once(' ').unwrap_or((slot, "0"));
    let (until, delay) = (until.parse::<EpochMs>().ok()?, delay.parse::<u64>().ok()?);
    let was_running = delay > 0 && opened_at < until.saturating_add(LONGEST_REQUEST_MS);
    let rested = if was_running { opened_at.saturating_add(delay) } else { 0 };
    Some(until.max(rested)).filter(|until| *until > opened_at)
}

fn with_rounding(delay: u64) -> u64 {
    if delay == 0 { 0 } else { delay.saturating_add(ROUNDING_MS) }
}
