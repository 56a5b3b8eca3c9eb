//! A host in trouble: since when, how often in a row, and why. Kept with the host until it answers well; its URLs wait
//! meanwhile and pay nothing for it.

use std::fmt;

use minicbor::{Decode, Encode};

use crate::page::{EpochMs, FailureReason};

/// When a URL is due that failed because its host was given up: once the host is met again, and not before.
pub const WHEN_MET_AGAIN: EpochMs = EpochMs::MAX - 1;

/// For so long a name that has no address is not asked for again because of a link to it.
const UNKNOWN_MS: u64 = 600_000;

/// What is wrong with a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Trouble {
    /// The end of the first attempt that failed, with none that went well since. Time in which nobody asked is left out.
    #[n(0)]
    pub since: EpochMs,
    /// The end of the last one.
    #[n(1)]
    pub last: EpochMs,
    /// Times in a row that the host itself failed us. 0: only one URL has so far, and it may be that URL's own failure.
    #[n(2)]
    pub failures: u32,
    /// What it failed with last.
    #[n(3)]
    pub cause: Cause,
    /// The URL ([`url_mark`]) that failed while the host was well, and began this. Failing again, it says nothing new of
    /// its host.
    #[n(5)]
    pub suspect: Option<u64>,
    /// Until when the server asked to be left alone (Retry-After); none: it did not, and its rest is our own idea.
    #[n(6)]
    pub asked_until: Option<EpochMs>,
    /// It has been in trouble for too long: its URLs fail without a visit, until a link or a seed leads to it again.
    #[n(4)]
    pub given_up: bool,
    #[cbor(n(7), default, skip_if = "Errors::is_none")]
    pub errors: Errors,
}

/// Whether many URLs of a host fail together. A part of a site may be broken for a while although its home page works: its
/// URLs are not to fail for good by that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Errors {
    /// A bit for each of the last 16 URLs that the host was asked for the first time, 1 where the server failed. The newest
    /// is the lowest.
    #[n(0)]
    pub recent: u16,
    /// Since when many fail together. Time in which nobody asked is left out.
    #[n(1)]
    pub many_since: Option<EpochMs>,
}

/// So many of the last 16 URLs are many.
const MANY: u32 = 6;

impl Errors {
    pub fn are_many(&self) -> bool {
        self.many_since.is_some()
    }

    /// The last two URLs failed that were asked for the first time.
    pub fn are_two_in_a_row(&self) -> bool {
        self.recent & 0b11 == 0b11
    }

    fn is_none(&self) -> bool {
        *self == Errors::default()
    }

    /// A URL was asked for that never was before, or not since it last went well.
    pub fn first_request(self, is_error: bool, now: EpochMs) -> Errors {
        let recent = self.recent << 1 | u16::from(is_error);
        let are_many = is_error && recent.count_ones() >= MANY;
        Errors { recent, many_since: self.many_since.or(are_many.then_some(now)) }
    }
}

/// What a host failed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(flat)]
pub enum Cause {
    #[n(0)]
    Failure(#[n(0)] FailureReason),
    /// An answer's status: 429 or 5xx.
    #[n(1)]
    Status(#[n(0)] u16),
}

impl fmt::Display for Cause {
    /// `connect`, `status 503`.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Cause::Failure(reason) => out.write_str(reason.name()),
            Cause::Status(status) => write!(out, "status {status}"),
        }
    }
}

/// What a lease showed of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answered: what troubled it is over.
    Well,
    Troubled(Trouble),
}

impl Health {
    /// What is wrong with the host, if anything is.
    pub fn trouble(self) -> Option<Trouble> {
        match self {
            Health::Well => None,
            Health::Troubled(trouble) => Some(trouble),
        }
    }
}

/// A URL as [`Trouble::suspect`] knows it. Two that share a mark cost one attempt at worst.
pub fn url_mark(url: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(url.as_bytes())
}

/// Who waits for what, for people. See [`super::Frontier::waiting`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Hosts in trouble that have work and are neither given up nor blocked, by what they failed with last.
    pub troubled: Vec<Troubled>,
    /// Hosts with work that their operator wants left alone, in trouble or not.
    pub blocked: u64,
    /// Hosts that cannot be visited yet, in trouble or not, the first to be due first. Not those that rest because a budget
    /// is spent ([`super::Frontier::budgets`]).
    pub next: Vec<WaitingHost>,
}

/// Hosts that failed alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Troubled {
    pub cause: Cause,
    pub hosts: u64,
    /// Their URLs in `work_proposed`.
    pub urls: u64,
}

/// A host with work that is not due yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingHost {
    pub origin: String,
    pub until: EpochMs,
    /// URLs in `work_proposed`, revisits included.
    pub urls: u64,
    /// None: it is well, and rests between two visits or waits for its URLs' own times.
    pub trouble: Option<Trouble>,
}

impl Trouble {
    /// What is left once the host has answered: how its URLs fared.
    pub fn over(self) -> Option<Trouble> {
        let over = Trouble { since: self.last, failures: 0, suspect: None, asked_until: None, given_up: false, ..self };
        Some(over).filter(|over| !over.errors.is_none())
    }

    /// Its name has no address, and the name servers were asked twice.
    pub fn is_unknown_name(&self) -> bool {
        self.given_up && self.cause == Cause::Failure(FailureReason::Dns)
    }

    /// The same, and they were asked by this run, not long ago: a further link to the host is no reason to ask again.
    pub fn is_known_to_be_unknown(&self, opened_at: EpochMs, now: EpochMs) -> bool {
        self.is_unknown_name() && self.last >= opened_at && now.saturating_sub(self.last) < UNKNOWN_MS
    }

    /// The host failed, or some of its URLs did that were asked for last.
    pub fn is_told(&self) -> bool {
        self.failures > 0 || self.given_up || self.suspect.is_some() || self.errors.are_many()
    }

    /// The host itself failed, and may be well again: it rests.
    pub fn is_the_hosts(&self) -> bool {
        self.failures > 0 && !self.given_up
    }

    /// Two accounts of the same trouble: it began with the earlier, and the longer row of failures knows more.
    pub(super) fn both(one: Option<Trouble>, other: Option<Trouble>) -> Option<Trouble> {
        let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
        let (more, less) = if one.failures >= other.failures { (one, other) } else { (other, one) };
        Some(Trouble {
            since: more.since.min(less.since),
            given_up: more.given_up || less.given_up,
            asked_until: more.asked_until.max(less.asked_until),
            errors: if less.errors.are_many() { less.errors } else { more.errors },
            ..more
        })
    }
}
