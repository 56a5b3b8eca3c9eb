//! A delay becomes shorter by an order, a reload, or a new configuration at a start. Hosts and addresses that already
//! rest by the longer delay then come earlier. The new delay counts from now, which is never before their last request.

use std::time::Duration;

use super::memory::slots::with_rounding;
use super::open::EmbeddedFrontier;
use crate::addresses::in_ms;
use crate::keys::HostKey;
use crate::schedule::HostRecord;
use crate::{FrontierError, Robots};
use seine_parse::page::EpochMs;

/// The delays between requests.
pub struct Delays<'a> {
    /// To a host, by its record and its robots.txt.
    pub of_host: &'a dyn Fn(&HostRecord, Option<&Robots>) -> Duration,
    /// To an address, by the delay that the operator ordered for its last visitor.
    pub of_address: &'a dyn Fn(Option<Duration>) -> Duration,
}

impl EmbeddedFrontier {
    /// Lets resting hosts and addresses come as early as these delays allow: one host (`origin`) and its address, or
    /// all. Returns the number of hosts that come earlier.
    pub fn bring_forward(&self, origin: Option<&str>, delays: &Delays, now: EpochMs) -> Result<u64, FrontierError> {
        let only = origin.map(|origin| self.memory.keys.host(origin));
        let mut hosts = match only {
            Some(host) => vec![host],
            None => self.memory.schedule.lock().resting(now),
        };
        hosts.extend(self.bring_addresses_forward(only, delays, now)?);
        let mut brought = 0;
        for host in hosts {
            let Some(record) = self.memory.schedule.lock().record(host) else { continue };
            let robots = if record.has_robots { self.robots_of(host)? } else { None };
            let at = after(now, (delays.of_host)(&record, robots.as_ref()));
            brought += u64::from(self.memory.visits.bring_forward(host, at, now));
        }
        self.memory.visits.write_in_turn()?;
        Ok(brought)
    }

    /// Whether an earlier run had a longer delay, by which hosts rest since the start.
    pub fn rests_by_longer_delay(&self) -> bool {
        self.slots.rests_by_longer_delay()
    }

    /// Returns the hosts that waited for these addresses.
    fn bring_addresses_forward(
        &self,
        only: Option<HostKey>,
        delays: &Delays,
        now: EpochMs,
    ) -> Result<Vec<HostKey>, FrontierError> {
        let mut waiting = Vec::new();
        for (ip, visitor) in self.slots.resting(now) {
            if only.is_some() && visitor != only {
                continue;
            }
            let ordered = visitor.map(|host| self.recorded(host, |record| record.ordered_delay_ms)).transpose()?;
            let delay = (delays.of_address)(ordered.flatten().flatten().map(Duration::from_millis));
            waiting.extend(self.slots.bring_forward(ip, after(now, delay), delay));
        }
        if only.is_none() {
            self.slots.bring_opening_forward(after(now, (delays.of_address)(None)));
        }
        Ok(waiting)
    }
}

fn after(now: EpochMs, delay: Duration) -> EpochMs {
    now.saturating_add(with_rounding(in_ms(delay)))
}
