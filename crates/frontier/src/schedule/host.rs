//! A host in the schedule.

use super::due::Listed;
use super::packed::Packed;
use super::queue::Queue;
use super::record::{HostRecord, NEVER};
use crate::Spent;
use crate::keys::UrlKey;
use seine_parse::page::EpochMs;

/// A host with queued URLs, or leased. There may be millions, so rare fields are boxed.
#[derive(Debug, Default)]
pub(super) struct HostState {
    pub(super) record: Packed,
    /// The first due time in `later` that is not in flight. May be too early (a lease corrects it), never too late.
    pub(super) next_later: EpochMs,
    /// The host's entry in `Schedule::due`.
    pub(super) listed: Option<Listed>,
    busy: Option<Box<Busy>>,
    /// Grows with every change of the host's queues in the store, so that an outdated read is noticed.
    pub(super) epoch: u32,
    /// The best priority in `ready` that is not in flight. May be too good (a lease corrects it), never too bad.
    pub(super) best: u8,
}

/// For a host that is leased, has URLs in flight, or waits because of a used-up budget.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Busy {
    pub in_flight_ready: usize,
    pub in_flight_later: usize,
    pub lease: Option<u64>,
    /// URLs that got a verdict while a lease reads the host's queues; the lease may have read them still.
    pub finished_meanwhile: Option<Vec<UrlKey>>,
    /// A used-up budget. Only [`super::Schedule`] changes it, because it counts them.
    pub spent: Option<Spent>,
}

/// A million hosts must fit into 512 MB with their names, their schedule entries and the rest of the process.
const _: () = assert!(size_of::<HostState>() <= 128);

static IDLE: Busy = Busy { in_flight_ready: 0, in_flight_later: 0, lease: None, finished_meanwhile: None, spent: None };

impl HostState {
    pub(super) fn new(record: HostRecord) -> HostState {
        let (next_later, best) = (record.first_later(), record.head.priority());
        HostState { record: record.into(), next_later, best, ..HostState::default() }
    }

    pub(super) fn busy(&self) -> &Busy {
        self.busy.as_deref().unwrap_or(&IDLE)
    }

    pub(super) fn busy_mut(&mut self) -> &mut Busy {
        self.busy.get_or_insert_default()
    }

    /// These URLs got a verdict. A lease that is reading the queues may have read them still.
    pub(super) fn finish(&mut self, urls: &[UrlKey]) {
        if let Some(meanwhile) = self.busy.as_mut().and_then(|busy| busy.finished_meanwhile.as_mut()) {
            meanwhile.extend_from_slice(urls);
        }
    }

    /// Frees what is not needed any more.
    pub(super) fn tidy(&mut self) {
        self.busy.take_if(|busy| **busy == IDLE);
    }

    pub(super) fn has_ready(&self) -> bool {
        self.record.ready > self.busy().in_flight_ready as u64
    }

    pub(super) fn due(&self) -> Option<EpochMs> {
        let rested = self.record.not_before.max(self.busy().spent.map_or(0, |spent| spent.until));
        if self.busy().lease.is_some() || self.record.is_blocked() {
            None
        } else if self.has_ready() {
            Some(rested)
        } else if self.next_later != NEVER {
            Some(rested.max(self.next_later))
        } else {
            None
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let Busy { in_flight_ready, in_flight_later, lease, .. } = self.busy();
        self.record.work() == 0 && lease.is_none() && in_flight_ready + in_flight_later == 0
    }

    pub(super) fn took_off(&mut self, queue: Queue) {
        match queue {
            Queue::Ready => self.busy_mut().in_flight_ready += 1,
            Queue::Later(_) => self.busy_mut().in_flight_later += 1,
        }
    }

    pub(super) fn landed(&mut self, queue: Queue) {
        match queue {
            Queue::Ready => self.busy_mut().in_flight_ready -= 1,
            Queue::Later(_) => self.busy_mut().in_flight_later -= 1,
        }
    }
}
