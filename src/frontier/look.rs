//! What the frontier knows of one host or one URL, for people.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::embedded::QueuedUrl;
use super::lease::Robots;
use super::page::PageRecord;
use super::past::{Attempt, Found};
use super::schedule::HostRecord;
use super::spending::Spent;
use crate::page::EpochMs;

/// One host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLook {
    pub record: HostRecord,
    /// When it is leased next at the earliest; none: it is leased now, blocked, or has nothing to do.
    pub due: Option<EpochMs>,
    pub is_leased: bool,
    /// A budget of it is spent.
    pub spent: Option<Spent>,
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

/// One URL that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlLook {
    pub place: Place,
    /// It is being asked for, or its answer is not validated yet.
    pub is_in_flight: bool,
    /// What its queue keeps of it.
    pub queued: Option<QueuedUrl>,
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
