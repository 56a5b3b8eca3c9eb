//! What the frontier knows of one host or one URL, for people.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lease::Robots;
use super::page::PageRecord;
use super::past::{Attempt, Found};
use super::spending::Spent;
use super::trouble::{Cause, Trouble};
use crate::focus::Lead;
use crate::page::{EpochMs, Kind};

/// One host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLook {
    pub origin: String,
    /// URLs that may be fetched any time, those in flight included …
    pub ready: u64,
    /// … and those that wait for a time of their own.
    pub later: u64,
    /// Pages ever admitted.
    pub pages: u64,
    /// It rests until then.
    pub not_before: EpochMs,
    /// When it is leased next at the earliest; none: it is leased now, blocked, or has nothing to do.
    pub due: Option<EpochMs>,
    pub is_leased: bool,
    /// Its operator wants it left alone.
    pub is_blocked: bool,
    /// The delay between visits that its operator wants.
    pub ordered_delay: Option<Duration>,
    /// Pages that its operator admits at most.
    pub ordered_pages: Option<u64>,
    /// Of `later`: held ([`super::held`]).
    pub held: u64,
    /// A budget of it is spent.
    pub spent: Option<Spent>,
    /// None while it is well.
    pub trouble: Option<Trouble>,
    pub robots: Option<Robots>,
}

/// Which hosts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum WhichHosts {
    /// With work: those being visited, then by when they are due.
    All,
    /// Being visited.
    Busy,
    /// In trouble.
    Troubled,
    /// Left alone by their operator's order.
    Blocked,
    /// With URLs that are held, the most first.
    Held,
}

/// What its operator wants of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostOrder {
    /// It is left alone: what is in flight ends, nothing more is asked for.
    Block,
    Unblock,
    /// The delay between visits; none: the configured one again. What robots.txt asks for holds if it is longer.
    Delay(Option<Duration>),
    /// Pages that are admitted at most; none: as configured again.
    Pages(Option<u64>),
}

/// Where a known URL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It may be fetched as soon as its host can be visited.
    Ready {
        priority: u8,
        /// URLs of its host before it; counted up to [`COUNTED`].
        ahead: u64,
    },
    /// It waits for a time of its own, [`WHEN_MET_AGAIN`](super::WHEN_MET_AGAIN): for a host that was given up.
    Later { due: EpochMs },
    /// It has its answer and is not looked at again.
    Done,
}

/// URLs before one in its queue are counted so far.
pub const COUNTED: u64 = 10_000;

/// What a queue keeps of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedLook {
    pub kind: Kind,
    /// Links from a seed.
    pub depth: u16,
    /// Attempts so far that it paid for.
    pub attempts: u16,
    /// What the last attempt failed with.
    pub cause: Option<Cause>,
    /// The link that led to it, where links are ranked.
    pub lead: Lead,
}

/// One URL that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlLook {
    pub place: Place,
    /// It is being asked for, or its answer is not validated yet.
    pub is_in_flight: bool,
    pub queued: Option<QueuedLook>,
    /// Who led to it first. None: before that was noted.
    pub first_found: Option<Found>,
    /// Who did last, as far as it is remembered: of the last pages that this process read.
    pub last_found: Option<Found>,
    /// The last attempts, the oldest first, and how many there were.
    pub attempts: Vec<Attempt>,
    pub attempts_in_all: u16,
    /// What is known from its last look.
    pub page: Option<PageRecord>,
    /// URLs that lead to it and are its aliases, some of them.
    pub aliases: Vec<String>,
    /// URLs that are duplicates of it, some of them.
    pub duplicates: Vec<String>,
    /// Under which URL its page is delivered, if it is another's.
    pub owner: Option<String>,
}
