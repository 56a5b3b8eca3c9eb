//! Host trouble: since when, how often in a row, and why. Stored with the host until it answers well. Its URLs wait
//! meanwhile and are not charged.

use std::fmt;

use minicbor::{Decode, Encode};

use seine_parse::page::{EpochMs, FailureReason};
use seine_parse::walls::WallKind;

/// The due time of URLs that failed because their host was given up: when a link or a seed leads to the host again, or
/// when it is tried again ([`Trouble::tried_again_at`]).
pub const WHEN_LINKED_AGAIN: EpochMs = EpochMs::MAX - 1;

/// A link does not cause another lookup of a name without address for this long.
const UNKNOWN_MS: u64 = 600_000;

/// A host that was given up is not tried again sooner than this after its last failure.
const TRIED_AGAIN_MS: u64 = 24 * 3_600_000;

/// The trouble of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Trouble {
    /// The end of the first failed attempt without a success since. Time without requests is left out.
    #[n(0)]
    pub since: EpochMs,
    /// The end of the last failed attempt.
    #[n(1)]
    pub last: EpochMs,
    /// Failures of the host in a row. 0: only one URL has failed, which may be its own failure.
    #[n(2)]
    pub failures: u32,
    /// The last failure.
    #[n(3)]
    pub cause: Cause,
    /// The URL ([`url_mark`]) that failed while the host was healthy, and began this. If it fails again, that says
    /// nothing new about its host.
    #[n(5)]
    pub suspect: Option<u64>,
    /// End of the pause that the server asked for (Retry-After); none: it asked for none, and the back-off is our own.
    #[n(6)]
    pub asked_until: Option<EpochMs>,
    /// It has failed for too long: its URLs fail without a request, until a link or a seed leads to it again, or until
    /// it is tried again.
    #[n(4)]
    pub given_up: bool,
    #[cbor(n(7), default, skip_if = "Errors::is_none")]
    pub errors: Errors,
}

/// Whether many URLs of a host fail together. A part of a site may be broken for a while although its home page works.
/// Its URLs should not fail for good because of that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Errors {
    /// One bit for each of the last 16 URLs that were requested for the first time, newest lowest; 1: the server
    /// failed.
    #[n(0)]
    pub recent: u16,
    /// Since when many fail together. Time without requests is left out.
    #[n(1)]
    pub many_since: Option<EpochMs>,
}

/// This many of the last 16 URLs are many.
const MANY: u32 = 6;

impl Errors {
    pub(crate) fn are_many(&self) -> bool {
        self.many_since.is_some()
    }

    /// The last two URLs requested for the first time failed.
    pub fn are_two_in_a_row(&self) -> bool {
        self.recent & 0b11 == 0b11
    }

    fn is_none(&self) -> bool {
        *self == Errors::default()
    }

    /// A URL was requested for the first time, or for the first time since its last success.
    pub fn first_request(self, is_error: bool, now: EpochMs) -> Errors {
        let recent = self.recent << 1 | u16::from(is_error);
        let are_many = is_error && recent.count_ones() >= MANY;
        Errors { recent, many_since: self.many_since.or(are_many.then_some(now)) }
    }
}

/// A failure of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(flat)]
pub enum Cause {
    #[n(0)]
    Failure(#[n(0)] FailureReason),
    /// The status of a response: 429 or 5xx.
    #[n(1)]
    Status(#[n(0)] u16),
    /// A wall stood before the page.
    #[n(2)]
    Wall(#[n(0)] WallKind),
}

impl fmt::Display for Cause {
    /// `connect`, `status 503`, `wall cloudflare`.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Cause::Failure(reason) => out.write_str(reason.name()),
            Cause::Status(status) => write!(out, "status {status}"),
            Cause::Wall(kind) => write!(out, "wall {}", kind.name()),
        }
    }
}

/// The result of a lease for its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answered, so its trouble is over.
    Well,
    Troubled(Trouble),
}

impl Health {
    /// The trouble of the host, if any.
    pub fn trouble(self) -> Option<Trouble> {
        match self {
            Health::Well => None,
            Health::Troubled(trouble) => Some(trouble),
        }
    }
}

/// A URL as in [`Trouble::suspect`]. If two share a mark, that costs one attempt at most.
pub fn url_mark(url: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(url.as_bytes())
}

/// The hosts that wait, and why, for the user. See [`super::Scheduler::waiting`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Hosts in trouble with queued URLs, neither given up nor blocked, by their last failure.
    pub troubled: Vec<Troubled>,
    /// Blocked hosts with queued URLs, in trouble or not.
    pub blocked: u64,
    /// Hosts in trouble that are visited now, by name, then hosts that are not due yet, in trouble or not, first due
    /// first. Without hosts stopped by a budget ([`super::EmbeddedFrontier::budgets`]).
    pub next: Vec<WaitingHost>,
}

/// Hosts with the same failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Troubled {
    pub cause: Cause,
    pub hosts: u64,
    /// Their URLs in `work_proposed`.
    pub urls: u64,
}

/// A host with queued URLs that is in trouble, or not due yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingHost {
    pub origin: String,
    /// The time of the question if the host is visited now.
    pub until: EpochMs,
    /// URLs in `work_proposed`, with rechecks.
    pub urls: u64,
    /// None: it is healthy, and waits for its delay or for its URLs' due times.
    pub trouble: Option<Trouble>,
}

impl Trouble {
    /// Ends the trouble, because the host has answered. The statistics of its URLs remain.
    pub fn over(self) -> Option<Trouble> {
        let over = Trouble { since: self.last, failures: 0, suspect: None, asked_until: None, given_up: false, ..self };
        Some(over).filter(|over| !over.errors.is_none())
    }

    /// When one URL of a host that was given up is requested again: after as long as the host had failed by then, so
    /// the intervals double. 0 if it was not given up.
    pub fn tried_again_at(&self) -> EpochMs {
        if self.given_up {
            self.last.saturating_add(self.last.saturating_sub(self.since).max(TRIED_AGAIN_MS))
        } else {
            0
        }
    }

    /// It was given up, and one of its URLs may be requested again now.
    pub fn is_tried_again(&self, now: EpochMs) -> bool {
        self.given_up && self.tried_again_at() <= now
    }

    /// Its name has no address, confirmed by a second lookup.
    pub fn is_unknown_name(&self) -> bool {
        self.given_up && self.cause == Cause::Failure(FailureReason::Dns)
    }

    /// The same, confirmed by this run and recently, so another link is no reason to look it up again.
    pub fn is_known_to_be_unknown(&self, opened_at: EpochMs, now: EpochMs) -> bool {
        self.is_unknown_name() && self.last >= opened_at && now.saturating_sub(self.last) < UNKNOWN_MS
    }

    /// Whether the host or some of its latest URLs failed.
    pub fn is_troubled(&self) -> bool {
        self.failures > 0 || self.given_up || self.suspect.is_some() || self.errors.are_many()
    }

    /// The host itself failed, and may recover: it backs off.
    pub fn is_the_hosts(&self) -> bool {
        self.failures > 0 && !self.given_up
    }

    /// Joins two accounts of the same trouble: the earlier start, and the longer row of failures.
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
