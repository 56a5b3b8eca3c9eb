//! Politeness slots of addresses over a restart. After a kill, the next process must not visit an address too soon, for
//! any of its hosts.
//!
//! Most slots are no longer than the default delay. They are not stored: at a start, every address waits once for the
//! larger default delay of the last run and this one. Longer slots (a delay ordered by the operator, a host lent to a
//! remote worker) are stored before the request.

use std::net::IpAddr;
use std::time::Duration;

use super::open::EmbeddedFrontier;
use crate::{FrontierError, Lease, PolitenessSlot};
use seine_parse::page::EpochMs;

/// The default delay of the last run (ms), and the end of the wait at its start.
const REST: &str = "slots";
/// Prefix of an address's key. The value: until when it is taken.
const SLOT: &str = "slot:";
/// Delays are in milliseconds, so a delay that starts late in one would end up to 1 ms early.
const ROUNDING_MS: u64 = 1;

/// What the next start must know about the slots of this run.
#[derive(Default)]
pub(super) struct Rest {
    note: String,
    /// Slots of earlier runs that have ended, to be deleted.
    over: Vec<fjall::Slice>,
    is_kept: bool,
}

impl EmbeddedFrontier {
    /// Called once at the start. Writes nothing, because a frontier also opens on a full disk. The note of the last run
    /// is right until the first request of this one.
    pub(super) fn open_slots(&self) -> Result<(), FrontierError> {
        let store = self.shelf.store()?;
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
                .zip(text(&value).and_then(|until| until.parse::<EpochMs>().ok()));
            match slot.filter(|(_, until)| *until > self.opened_at) {
                Some(slot) => busy.push(slot),
                None => over.push(key),
            }
        }
        let rest = self.default_delay_ms;
        // In a folder without any visits no address must wait.
        let opens_at = match (self.hosts_at_opening, last) {
            (0, _) => 0,
            (_, None) => self.opened_at.saturating_add(with_rounding(rest)),
            (_, Some((before, until))) => until.max(self.opened_at.saturating_add(with_rounding(rest.max(before)))),
        };
        self.addresses.lock().begin(opens_at, busy);
        let note = format!("{rest} {opens_at}");
        let is_kept = text.as_deref() == Some(note.as_str()) && over.is_empty();
        *self.rest.lock() = Rest { note, over, is_kept };
        Ok(())
    }

    /// Implements [`crate::Fetching::take_politeness_slot`].
    pub(super) fn take_slot(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> PolitenessSlot {
        let host = self.keys.host(&lease.host.origin);
        if self.schedule.lock().is_recalled(host) {
            return PolitenessSlot::Recalled;
        }
        let slot = self.addresses.lock().take_slot(host, ip, delay, now);
        if slot == PolitenessSlot::Now {
            self.keep_slot(ip, delay);
        }
        slot
    }

    /// Implements [`crate::Fetching::hold_address`].
    pub(super) fn hold_slot(&self, ip: IpAddr, time: Duration, now: EpochMs) {
        self.addresses.lock().hold(ip, time, now);
        self.keep_slot(ip, time);
    }

    /// Stores a slot that the wait at the next start would not cover. With the first slot it also stores the length of
    /// that wait. If the store cannot be written, fetching pauses.
    fn keep_slot(&self, ip: IpAddr, time: Duration) {
        let is_covered = time.as_millis() <= u128::from(with_rounding(self.default_delay_ms));
        // Held until it is written, so that no request starts before.
        let mut rest = self.rest.lock();
        if is_covered && rest.is_kept {
            return;
        }
        let until = self.addresses.lock().free_at(ip);
        let written = self.shelf.writable().and_then(|store| {
            let mut batch = store.db.batch();
            if !rest.is_kept {
                batch.insert(&store.notes, REST, rest.note.as_str());
                rest.over.iter().for_each(|key| batch.remove(&store.notes, key.clone()));
            }
            if !is_covered {
                batch.insert(&store.notes, format!("{SLOT}{ip}"), until.to_string());
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

fn with_rounding(delay: u64) -> u64 {
    if delay == 0 { 0 } else { delay.saturating_add(ROUNDING_MS) }
}
