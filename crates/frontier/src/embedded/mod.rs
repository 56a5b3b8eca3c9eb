//! The frontier of one machine: a fjall store for durable state, and a schedule in memory for speed.
//!
//! The way of a URL through the keyspaces: a proposal enters `urls` and `ready`. A verdict removes it from its queue
//! and puts it into `pages`, into `later` (retry, recheck), or both. Every change is one atomic batch with the totals
//! and the offset, so after `kill -9` the store is in a state between two batches. Leases are only in memory: a leased
//! URL without a verdict is still queued on disk.
//!
//! Redirects and canonical URLs are also in `targets`: the owner of a target, and its aliases. Reservations of fetches
//! in progress are in memory (`memory/reservations.rs`).
//!
//! Duplicates, and the pages that they duplicate, are in `copies` and `near` (`disk/content_slots.rs`).
//!
//! A failed write closes the store (`disk/reopenable_store.rs`); [`EmbeddedFrontier::restore`] opens it again.
//!
//! Imports run one way: `disk` ← `memory` ← `changes` ← the files here, which are what callers ask.
//!
//! Locks, in the order they are taken: `writer` (one propose or apply at a time, including reads of the store),
//! `host_writes` (host records are written in the order they were made), `unwritten` (results of visits to write), the
//! schedule's (microseconds), the ledger's. Politeness slots have `rest`, and in it `addresses`. The locks of the other
//! parts of [`memory`] are taken alone.

mod all_pages;
mod changes;
mod contract;
mod copy;
mod disk;
mod forget;
mod lease_host;
mod memory;
mod open;
mod orders;
mod restored;
mod shorter_delays;
mod snapshot;
mod survey;
mod verdicts;
mod waiting_redirects;

pub use changes::rechecks::Recheck;
pub use copy::{CopiedRecord, FrontierCopy};
pub use disk::records::{FORMAT, QueuedUrl};
pub use forget::Forgotten;
pub use memory::reservations::{Reservation, Settled};
pub use open::EmbeddedFrontier;
pub use shorter_delays::Delays;
pub use survey::Survey;
