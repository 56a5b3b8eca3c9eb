//! Politeness slots of IP addresses: many hosts may share an address, which must be visited no more often than its
//! delay allows.
//!
//! A host that comes too early gets a slot at the end of the queue, so that each of N hosts asks about twice, not N
//! times. A host that starts late moves later slots back. A host that misses its slot goes to the end of the queue.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::keys::HostKey;
use super::lease::PolitenessSlot;
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// A slot that is not used for this long is dropped, because its host has nothing to fetch any more.
const GIVEN_UP_AFTER_MS: u64 = 60_000;
/// At this number of addresses, idle ones are removed, and again when the number has doubled.
const TIDY_AT: usize = 1024;

/// Recently visited addresses. After a restart, unknown addresses are not visited until `opens_at`.
#[derive(Debug)]
pub struct Addresses {
    by_ip: HashMap<IpAddr, Line>,
    tidy_at: usize,
    opens_at: EpochMs,
}

/// The queue of one address. Slots are kept in a time of the queue's own; adding `shift` (ms) gives real time.
#[derive(Debug, Default)]
struct Line {
    free_at: EpochMs,
    shift: u64,
    /// End of the last slot, in the queue's time.
    tail: u64,
    by_time: BTreeMap<u64, HostKey>,
    by_host: HashMap<HostKey, u64>,
}

impl Default for Addresses {
    fn default() -> Self {
        Addresses { by_ip: HashMap::new(), tidy_at: TIDY_AT, opens_at: 0 }
    }
}

impl Addresses {
    /// Implements [`super::Fetching::take_politeness_slot`].
    pub fn take_slot(&mut self, host: HostKey, ip: IpAddr, delay: Duration, now: EpochMs) -> PolitenessSlot {
        if planted::is("address_ignored") {
            return PolitenessSlot::Now;
        }
        if self.by_ip.len() >= self.tidy_at {
            self.by_ip.retain(|_, line| line.is_busy(now));
            self.tidy_at = TIDY_AT.max(self.by_ip.len() * 2);
        }
        let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX / 4);
        self.line(ip).take_slot(host, delay, now)
    }

    /// Loads addresses of an earlier run that are not free yet, and the time when all others are.
    pub fn begin(&mut self, opens_at: EpochMs, busy: impl IntoIterator<Item = (IpAddr, EpochMs)>) {
        self.opens_at = opens_at;
        for (ip, free_at) in busy {
            self.line(ip).free_at = free_at.max(opens_at);
        }
    }

    /// When the next visit of an address may begin, ignoring its queue.
    pub fn free_at(&self, ip: IpAddr) -> EpochMs {
        self.by_ip.get(&ip).map_or(self.opens_at, |line| line.free_at)
    }

    fn line(&mut self, ip: IpAddr) -> &mut Line {
        let free_at = self.opens_at;
        self.by_ip.entry(ip).or_insert_with(|| Line { free_at, ..Line::default() })
    }

    /// No slot of another host before this time. Implements [`super::Fetching::hold_address`].
    pub fn hold(&mut self, ip: IpAddr, time: Duration, now: EpochMs) {
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4);
        let line = self.line(ip);
        if line.free_at < now + time {
            line.start(time, now);
        }
    }
}

impl Line {
    fn take_slot(&mut self, host: HostKey, delay: u64, now: EpochMs) -> PolitenessSlot {
        self.give_up_old_slots(now);
        match self.by_host.get(&host).copied() {
            Some(slot) if now < slot + self.shift => return PolitenessSlot::At(slot + self.shift),
            Some(slot) => {
                self.by_time.remove(&slot);
                self.by_host.remove(&host);
            }
            None if self.tail + self.shift > now => return self.join(host, delay, now),
            None => {}
        }
        if now < self.free_at {
            return self.join(host, delay, now);
        }
        self.start(delay, now);
        PolitenessSlot::Now
    }

    fn start(&mut self, delay: u64, now: EpochMs) {
        self.free_at = now + delay;
        if self.by_time.is_empty() {
            (self.shift, self.tail) = (0, self.free_at);
            return;
        }
        let next = self.by_time.range(now.saturating_sub(self.shift) + 1..).next().map(|(slot, _)| slot + self.shift);
        let late = next.map_or(0, |next| self.free_at.saturating_sub(next));
        self.shift += late;
        self.tail = self.tail.max(self.free_at.saturating_sub(self.shift));
    }

    fn join(&mut self, host: HostKey, delay: u64, now: EpochMs) -> PolitenessSlot {
        let at = (self.tail + self.shift).max(self.free_at).max(now + 1);
        let slot = at - self.shift;
        self.tail = slot + delay.max(1);
        self.by_time.insert(slot, host);
        self.by_host.insert(host, slot);
        PolitenessSlot::At(at)
    }

    fn give_up_old_slots(&mut self, now: EpochMs) {
        while let Some((&slot, &host)) = self.by_time.first_key_value() {
            if slot + self.shift + GIVEN_UP_AFTER_MS > now {
                return;
            }
            self.by_time.remove(&slot);
            self.by_host.remove(&host);
        }
    }

    fn is_busy(&self, now: EpochMs) -> bool {
        let last = self.by_time.last_key_value().map_or(0, |(slot, _)| slot + self.shift + GIVEN_UP_AFTER_MS);
        now < self.free_at.max(last).max(self.tail + self.shift)
    }
}
