//! Snapshots of a host or URL, for the user.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::embedded::QueuedUrl;
use super::lease::Robots;
use super::page::PageRecord;
use super::schedule::HostRecord;
use super::spending::Spent;
use super::url_history::{Attempt, Found};
use seine_parse::page::EpochMs;

/// One host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSnapshot {
    pub record: HostRecord,
    /// The earliest time of its next lease; none: it is leased, blocked, or has nothing to do.
    pub due: Option<EpochMs>,
    pub is_leased: bool,
    /// A budget of it is used up.
    pub spent: Option<Spent>,
    pub robots: Option<Robots>,
}

/// Selects hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum WhichHosts {
    /// With queued URLs: first those being visited, then by due time.
    All,
    /// Being visited.
    Busy,
    /// In trouble.
    Troubled,
    /// Blocked by the operator.
    Blocked,
    /// With deferred URLs, the most first.
    Deferred,
}

/// An order of the operator for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostOrder {
    /// No new requests; those in progress end.
    Block,
    Unblock,
    /// Delay between requests; none: as configured. A longer delay in robots.txt applies.
    Delay(Option<Duration>),
    /// Maximum number of pages; none: as configured.
    Pages(Option<u64>),
}

/// The queue state of a known URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueState {
    /// It may be fetched as soon as its host may be visited.
    Ready {
        priority: u8,
        /// URLs of its host that come first; counted up to [`COUNTED`].
        ahead: u64,
    },
    /// It is due at this time. [`WHEN_LINKED_AGAIN`](super::WHEN_LINKED_AGAIN): its host was given up.
    Later { due: EpochMs },
    /// It has a final answer and is not rechecked.
    Done,
}

/// Maximum count of URLs before one in its queue.
pub const COUNTED: u64 = 10_000;

/// One known URL.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlSnapshot {
    pub queue_state: QueueState,
    /// It is being fetched, or its event is not validated yet.
    pub is_in_flight: bool,
    /// Its queue entry.
    pub queued: Option<QueuedUrl>,
    /// The first link to it. None: it was found before this was recorded.
    pub first_found: Option<Found>,
    /// The last link, if it is known: only for pages that this process read recently.
    pub last_found: Option<Found>,
    /// The last attempts, oldest first, and how many there were.
    pub attempts: Vec<Attempt>,
    pub attempts_in_all: u16,
    /// The record of its last fetch.
    pub page: Option<PageRecord>,
    /// Some of its aliases.
    pub aliases: Vec<String>,
    /// Some of its duplicates.
    pub duplicates: Vec<String>,
    /// The URL under which its page is delivered, if it is another.
    pub owner: Option<String>,
}
