//! Politeness slots of addresses over a restart. A process that is killed must not make the next one visit an address too soon,
//! whichever of its hosts it was visited for.
//!
//! Most slots are as long as the default delay, or shorter. They are not written: at the opening every address rests for that
//! long once, by the larger of the delays of the last run and of this one. Longer slots (a delay that the operator ordered for
//! a host, a host that is lent to a client) are written before the visit begins.

use std::net::IpAddr;
use std::time::Duration;

use super::open::EmbeddedFrontier;
use crate::frontier::{FrontierError, Lease, Turn};
use crate::page::EpochMs;

/// What the last run let addresses rest for (ms), and until when its own opening did.
const REST: &str = "slots";
/// Before an address: until when it is taken.
const SLOT: &str = "slot:";
/// Delays are in whole milliseconds, and what began late in one would end early by up to that much.
const ROUNDING_MS: u64 = 1;

/// What the next opening is to know of this run's slots.
#[derive(Default)]
pub(super) struct Rest {
    note: String,
    /// Slots of earlier runs that are over: to be removed.
    over: Vec<fjall::Slice>,
    is_kept: bool,
}

impl EmbeddedFrontier {
    /// To be called once, at the opening. Writes nothing: a frontier opens on a full disk, too, and the note of the run before
    /// is right until the first visit of this one.
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
        // Of a folder in which nothing was visited yet, none has to rest.
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

    /// The contract is that of [`crate::frontier::Frontier::claim_address`].
    pub(super) fn claim_slot(&self, lease: &Lease, ip: IpAddr, delay: Duration, now: EpochMs) -> Turn {
        let host = self.keys.host(&lease.host.origin);
        if self.schedule.lock().is_recalled(host) {
            return Turn::Recalled;
        }
        let turn = self.addresses.lock().claim(host, ip, delay, now);
        if turn == Turn::Now {
            self.keep_slot(ip, delay);
        }
        turn
    }

    /// The contract is that of [`crate::frontier::Frontier::hold_address`].
    pub(super) fn hold_slot(&self, ip: IpAddr, time: Duration, now: EpochMs) {
        self.addresses.lock().hold(ip, time, now);
        self.keep_slot(ip, time);
    }

    /// Writes a slot that the rest at the next opening would not cover, and with the first slot how long that rest is.
    /// A store that takes no writes has fetching pause.
    fn keep_slot(&self, ip: IpAddr, time: Duration) {
        let is_covered = time.as_millis() <= u128::from(with_rounding(self.default_delay_ms));
        // Held until it is written: no visit begins before.
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
            Err(error) => tracing::debug!(%ip, %error, "an address's politeness slot is not written"),
        }
    }
}

fn with_rounding(delay: u64) -> u64 {
    if delay == 0 { 0 } else { delay.saturating_add(ROUNDING_MS) }
}
