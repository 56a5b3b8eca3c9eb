//! Politeness slots of IP addresses: many hosts may share an address, which gets one request at a time, and the next one
//! after its delay.
//!
//! A host that comes too early gets a slot at the end of the queue, so that each of N hosts asks about twice, not N
//! times. A host that starts late and an answer that takes long move later slots back. A host that misses its slot goes to
//! the end of the queue.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use super::keys::HostKey;
use super::lease::{AddressLimit, PolitenessSlot};
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// A slot that is not used for this long is dropped, because its host has nothing to fetch any more.
const GIVEN_UP_AFTER_MS: u64 = 60_000;
/// While a request takes longer than expected, the next host asks again after its delay, or after this if it is longer.
const ASKS_AGAIN_MS: u64 = 10;
/// At this number of addresses, idle ones are removed, and again when the number has doubled.
const TIDY_AT: usize = 1024;

/// Recently visited addresses. After a restart, unknown addresses are not visited until `opens_at`.
#[derive(Debug)]
pub(crate) struct Addresses {
    by_ip: HashMap<IpAddr, Line>,
    tidy_at: usize,
    opens_at: EpochMs,
}

/// The queue of one address. Slots are kept in a time of the queue's own; adding `shift` (ms) gives real time.
#[derive(Debug, Default)]
struct Line {
    /// No request before this.
    free_at: EpochMs,
    /// The host of the last request.
    visitor: Option<HostKey>,
    /// A remote worker has the address until then.
    held_until: EpochMs,
    /// Number of requests in progress.
    running: usize,
    /// How long a request takes at least (ms). A shorter one counts at once, a longer one little by little: a slot that
    /// is expected too early costs one more question, one that is expected too late costs time.
    takes: u64,
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
    pub(crate) fn take_slot(&mut self, host: HostKey, ip: IpAddr, limit: AddressLimit, now: EpochMs) -> PolitenessSlot {
        if planted::is("address_ignored") {
            return PolitenessSlot::Now;
        }
        if self.by_ip.len() >= self.tidy_at {
            self.by_ip.retain(|_, line| line.is_busy(now));
            self.tidy_at = TIDY_AT.max(self.by_ip.len() * 2);
        }
        self.line(ip).take_slot(host, limit, now)
    }

    /// Implements [`super::Fetching::end_politeness_slot`].
    pub(crate) fn end_slot(&mut self, ip: IpAddr, limit: AddressLimit, began: EpochMs, now: EpochMs) {
        if let Some(line) = self.by_ip.get_mut(&ip) {
            line.end(limit, now.saturating_sub(began), now);
        }
    }

    /// Loads addresses of an earlier run that are not free yet, and the time when all others are.
    pub(crate) fn begin(&mut self, opens_at: EpochMs, busy: impl IntoIterator<Item = (IpAddr, EpochMs)>) {
        self.opens_at = opens_at;
        for (ip, free_at) in busy {
            self.line(ip).free_at = free_at.max(opens_at);
        }
    }

    /// When the next visit of an address may begin, ignoring its queue.
    pub(crate) fn free_at(&self, ip: IpAddr) -> EpochMs {
        self.by_ip.get(&ip).map_or(self.opens_at, |line| line.free_at)
    }

    /// The addresses that are not free yet, and the hosts that were visited last there.
    pub(crate) fn resting(&self, now: EpochMs) -> Vec<(IpAddr, Option<HostKey>)> {
        let rests = |line: &Line| now < line.free_at.max(line.tail + line.shift);
        self.by_ip.iter().filter(|(_, line)| rests(line)).map(|(ip, line)| (*ip, line.visitor)).collect()
    }

    /// The delay of an address is shorter now, so its next visit may begin at `at` if it would begin later. Returns the
    /// hosts in its queue, which get new slots when they ask again.
    pub(crate) fn bring_forward(&mut self, ip: IpAddr, at: EpochMs) -> Vec<HostKey> {
        self.by_ip.get_mut(&ip).map(|line| line.bring_forward(at)).unwrap_or_default()
    }

    /// The same for all addresses that were not visited since the start.
    pub(crate) fn bring_opening_forward(&mut self, at: EpochMs) {
        self.opens_at = self.opens_at.min(at);
    }

    fn line(&mut self, ip: IpAddr) -> &mut Line {
        let free_at = self.opens_at;
        self.by_ip.entry(ip).or_insert_with(|| Line { free_at, ..Line::default() })
    }

    /// No slot of another host before this time; replaces an earlier hold. Implements [`super::Fetching::hold_address`].
    pub(crate) fn hold(&mut self, ip: IpAddr, time: Duration, now: EpochMs) {
        let line = self.line(ip);
        let before = std::mem::replace(&mut line.held_until, now + in_ms(time));
        if line.held_until < before {
            // The slots behind the hold would be too late. Their hosts get new ones when they ask again.
            line.by_time.clear();
            line.by_host.clear();
        }
        if line.free_at < line.held_until || line.free_at == before {
            line.opens_at(line.held_until, now);
        }
    }
}

impl Line {
    fn take_slot(&mut self, host: HostKey, limit: AddressLimit, now: EpochMs) -> PolitenessSlot {
        self.give_up_old_slots(now);
        let delay = in_ms(limit.delay);
        let is_full = delay > 0 && self.running >= limit.at_once;
        match self.by_host.get(&host).copied() {
            Some(slot) if now < slot + self.shift => return PolitenessSlot::At(slot + self.shift),
            Some(slot) => {
                self.by_time.remove(&slot);
                self.by_host.remove(&host);
                if is_full && now >= self.free_at {
                    return self.stay_first(host, delay, now);
                }
            }
            None if self.tail + self.shift > now => return self.join(host, delay, now),
            None if is_full => self.opens_at(self.free_at.max(now + delay.max(ASKS_AGAIN_MS)), now),
            None => {}
        }
        if now < self.free_at {
            return self.join(host, delay, now);
        }
        let expected = if limit.at_once == 1 { self.takes } else { 0 };
        if delay > 0 {
            self.running += 1;
        }
        self.visitor = Some(host);
        self.opens_at(self.held_until.max(now + expected + delay), now);
        PolitenessSlot::Now
    }

    fn bring_forward(&mut self, at: EpochMs) -> Vec<HostKey> {
        self.free_at = self.free_at.min(at.max(self.held_until));
        (self.shift, self.tail) = (0, self.free_at);
        self.by_time.clear();
        self.by_host.drain().map(|(host, _)| host).collect()
    }

    /// A request has ended that took so many milliseconds.
    fn end(&mut self, limit: AddressLimit, took: u64, now: EpochMs) {
        let delay = in_ms(limit.delay);
        if delay == 0 {
            return; // not counted
        }
        self.running = self.running.saturating_sub(1);
        if limit.at_once == 1 {
            self.takes = if took < self.takes { took } else { self.takes + (took - self.takes) / 8 };
            self.opens_at(self.held_until.max(now + delay), now);
        }
    }

    /// No request before `free_at`. Later slots move back if the next one is too early.
    fn opens_at(&mut self, free_at: EpochMs, now: EpochMs) {
        self.free_at = free_at;
        self.keep_slots_from(free_at, now);
    }

    fn keep_slots_from(&mut self, from: EpochMs, now: EpochMs) {
        if self.by_time.is_empty() {
            (self.shift, self.tail) = (0, from);
            return;
        }
        let next = self.by_time.range(now.saturating_sub(self.shift) + 1..).next().map(|(slot, _)| slot + self.shift);
        let late = next.map_or(0, |next| from.saturating_sub(next));
        self.shift += late;
        self.tail = self.tail.max(from.saturating_sub(self.shift));
    }

    fn join(&mut self, host: HostKey, delay: u64, now: EpochMs) -> PolitenessSlot {
        let at = (self.tail + self.shift).max(self.free_at).max(now + 1);
        self.tail = at - self.shift + delay.max(1) + self.takes;
        self.insert(host, at)
    }

    /// The host came at its slot, but the request in progress takes longer than expected.
    fn stay_first(&mut self, host: HostKey, delay: u64, now: EpochMs) -> PolitenessSlot {
        let at = now + delay.max(ASKS_AGAIN_MS);
        self.keep_slots_from(at + delay, now);
        self.insert(host, at)
    }

    fn insert(&mut self, host: HostKey, at: EpochMs) -> PolitenessSlot {
        let mut slot = at.saturating_sub(self.shift);
        while self.by_time.contains_key(&slot) {
            slot += 1;
        }
        self.by_time.insert(slot, host);
        self.by_host.insert(host, slot);
        PolitenessSlot::At(slot + self.shift)
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
        self.running > 0 || now < self.free_at.max(last).max(self.tail + self.shift)
    }
}

pub(crate) fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4)
}
