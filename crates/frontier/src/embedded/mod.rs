//! The frontier of one machine: a fjall store for durable state, and a schedule in memory for speed.
//!
//! The way of a URL through the keyspaces: a proposal enters `urls` and `ready`. A verdict removes it from its queue
//! and puts it into `pages`, into `later` (retry, recheck), or both. Every change is one atomic batch with the totals
//! and the offset, so after `kill -9` the store is in a state between two batches. Leases are only in memory: a leased
//! URL without a verdict is still queued on disk.
//!
//! Redirects and canonical URLs are also in `targets`: the owner of a target, and its aliases. Reservations of fetches
//! in progress are in memory ([`reservations`]).
//!
//! Duplicates, and the pages that they duplicate, are in `copies` and `near` ([`content_slots`]).
//!
//! A failed write closes the store (`shelf`); [`EmbeddedFrontier::restore`] opens it again.
//!
//! Locks, in the order they are taken: `writer` (one propose or apply at a time, including reads of the store),
//! `host_writes` (host records are written in the order they were made), the schedule's (microseconds), the ledger's
//! (including the read of an account). The locks of the other reservations are taken alone ([`alias_reservations`],
//! [`content_reservations`]).

mod again;
mod alias_reservations;
mod all_pages;
mod answer;
mod budget_reservations;
mod canonical_slots;
mod changes;
mod content_reservations;
mod content_slots;
mod contract;
mod copies;
mod copy;
mod deferred;
mod domains;
mod durable;
mod entries;
mod forget;
mod found;
mod hosts;
mod known;
mod last_links;
mod lease_host;
mod leases;
mod ledger;
mod limits;
mod memory;
mod open;
mod opening;
mod orders;
mod pages;
mod proposals;
mod queues;
mod ranks;
mod records;
mod reservations;
mod restored;
mod shelf;
mod slots;
mod snapshot;
mod spending;
mod standings;
mod store;
mod survey;
mod target_keys;
mod targets;
mod urls;
mod verdicts;
mod visits;

pub use again::Recheck;
pub use copy::{CopiedRecord, FrontierCopy};
pub use forget::Forgotten;
pub use open::EmbeddedFrontier;
pub use records::{FORMAT, QueuedUrl};
pub use reservations::{Reservation, Settled};
pub use survey::Survey;
