//! A host, as the store keeps it and as the schedule has it.

use minicbor::{Decode, Encode};

use super::due::Listed;
use super::packed::Packed;
use super::queue::Queue;
use crate::frontier::keys::{Rank, UrlKey};
use crate::frontier::{Spent, Trouble};
use crate::page::EpochMs;
use crate::revisit::Trust;

/// Later than every time.
pub const NEVER: EpochMs = EpochMs::MAX;

/// What the store keeps of a host.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct HostRecord {
    /// Counts up in the order hosts are first seen; settles who is first among hosts that are due at the same time.
    #[n(0)]
    pub number: u64,
    #[n(1)]
    pub origin: Box<str>,
    #[n(2)]
    pub not_before: EpochMs,
    #[n(11)]
    pub trouble: Option<Trouble>,
    /// The host's own delay between visits (ms), as last released.
    #[n(3)]
    pub delay_ms: u64,
    /// URLs to fetch that may be fetched any time, and those that wait for a retry or a revisit.
    #[n(4)]
    pub ready: u64,
    #[n(5)]
    pub later: u64,
    /// Pages ever admitted, for the limit.
    #[n(6)]
    pub pages: u64,
    /// No URL in `ready` has a lower rank. Reading begins here, so as not to step over all that were deleted before.
    #[n(7)]
    pub head: Rank,
    /// The first due time in `later`; [`NEVER`] when it is empty.
    #[n(8)]
    pub later_first: EpochMs,
    /// Of `later`: due as soon as the host is not given up any more ([`crate::frontier::WHEN_MET_AGAIN`]).
    #[n(9)]
    pub parked: u64,
    #[n(10)]
    pub has_robots: bool,
    /// What looks have told of its hints; boxed, as most hosts have none.
    #[n(12)]
    pub trust: Option<Box<Trust>>,
    /// Its operator wants it left alone: it is not leased, and its URLs wait.
    #[cbor(n(13), skip_if = "std::ops::Not::not")]
    pub is_blocked: bool,
    /// The delay between visits that its operator wants (ms), in the place of the configured one.
    #[n(14)]
    pub ordered_delay_ms: Option<u64>,
    /// Pages that its operator admits at most, in the place of the configured limit.
    #[n(15)]
    pub ordered_pages: Option<u64>,
    /// Of `later`: held ([`crate::frontier::held`]).
    #[cbor(n(16), default, skip_if = "is_none")]
    pub held: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl HostRecord {
    /// Of a host that was never heard of.
    pub fn new(number: u64, origin: Box<str>, not_before: EpochMs) -> HostRecord {
        HostRecord { number, origin, not_before, later_first: NEVER, ..HostRecord::default() }
    }

    pub fn work(&self) -> u64 {
        self.ready + self.later
    }

    /// What leases and releases changed, which only the schedule knows at once; the rest is the store's.
    pub fn take_visits_from(&mut self, now: &HostRecord) {
        self.not_before = now.not_before;
        self.trouble = now.trouble;
        self.delay_ms = now.delay_ms;
        self.has_robots = now.has_robots;
    }

    /// See [`Counted::waits_for`].
    pub fn waits_for(&self) -> Option<Trouble> {
        self.counted().waits_for()
    }

    pub fn is_given_up(&self) -> bool {
        self.trouble.is_some_and(|trouble| trouble.given_up)
    }

    /// When the first of `later` is due, as far as the store knows.
    pub(super) fn first_later(&self) -> EpochMs {
        if self.reads_parked() { 0 } else { self.later_first }
    }

    pub(super) fn reads_parked(&self) -> bool {
        self.parked > 0 && !self.is_given_up()
    }

    pub(super) fn counted(&self) -> Counted {
        Counted {
            work: self.work(),
            ready: self.ready,
            trouble: self.trouble,
            is_blocked: self.is_blocked,
            is_held: self.held > 0,
        }
    }
}

/// What the counters count of a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub work: u64,
    pub ready: u64,
    pub trouble: Option<Trouble>,
    pub is_blocked: bool,
    pub is_held: bool,
}

impl Counted {
    /// What keeps the host's URLs waiting, besides its rest after each visit: it is in trouble, or many of its URLs fail together and
    /// it has no other left that was never asked for.
    pub fn waits_for(&self) -> Option<Trouble> {
        let is_left_with_errors = |trouble: &Trouble| trouble.errors.are_many() && !trouble.given_up && self.ready == 0;
        self.trouble.filter(|trouble| trouble.is_the_hosts() || is_left_with_errors(trouble))
    }
}

/// A host with work, or leased. There may be millions: what few hosts have is in boxes.
#[derive(Debug, Default)]
pub struct HostState {
    pub(super) record: Packed,
    /// The first due time in `later` that is not in flight. May be too early (a lease sets it right), never too late.
    pub(super) next_later: EpochMs,
    /// The host's entry in `Schedule::due`.
    pub(super) listed: Option<Listed>,
    busy: Option<Box<Busy>>,
    /// Grows with every change of the host's queues in the store: who read them before does not know of it.
    pub(super) epoch: u32,
    /// The first priority in `ready` that is not in flight. May be too good (a lease sets it right), never too bad.
    pub(super) best: u8,
}

/// Of a host that is leased, has URLs in flight, or rests because a budget is spent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Busy {
    pub in_flight_ready: usize,
    pub in_flight_later: usize,
    pub lease: Option<u64>,
    /// While a lease reads the host's queues: URLs that got a verdict meanwhile. It may have read them still.
    pub finished_meanwhile: Option<Vec<UrlKey>>,
    /// A budget of it is spent. Changed by [`super::Schedule`] alone, which counts.
    pub spent: Option<Spent>,
}

/// A million hosts are to fit into 512 MB with their names, their places in the schedule and the rest of the process.
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

    /// These URLs got a verdict. A lease that reads the queues now may have read them still.
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
