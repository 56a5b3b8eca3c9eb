//! The frontier of one machine: a fjall store for what must last, a schedule in memory for what must be quick.
//!
//! A URL's way through the keyspaces: a proposal enters `urls` and `ready`; a verdict takes it out of its queue and puts it
//! into `pages`, into `later` (retry, revisit), or both. Every change is one atomic batch with the totals and the cursor, so
//! after `kill -9` the store is that of a moment between two batches. Leases are in memory only: what was leased and got no
//! verdict is still queued on disk.
//!
//! What redirects, or names a canonical URL, is in `targets`, too: under which URL a target's page is delivered, and which others are
//! its aliases. What workers are just asking for, and were told since, is claimed in memory (`claims`).
//!
//! What others may be duplicates of is in `copies` and `near`, with who is one ([`copies`]).
//!
//! A write that fails takes the store away (`shelf`); [`super::Frontier::restore`] closes it and opens it again.
//!
//! Locks, in the order they are taken: `writer` (one propose or apply at a time, reads of the store included), `host_writes`
//! (one writer of host records at a time, its commit included; see [`visits`]), `owed`, the schedule's, the ledger's. The last
//! three are held for microseconds: whoever leases, gives back or asks for figures takes no others, and waits for no disk.
//! `claiming` (reads of the store included) is taken alone, before that of the claims. Those of the claims and of `contents` are
//! taken behind all others, and held for microseconds.

mod again;
mod changes;
mod contract;
mod copies;
mod copy;
mod domains;
mod forget;
mod found;
mod held;
mod known;
mod lease;
mod ledger;
mod look;
mod open;
mod proposals;
mod queues;
mod ranks;
mod records;
mod restored;
mod shelf;
mod slots;
mod spending;
mod stand_ins;
mod store;
mod survey;
mod targets;
mod verdicts;
mod visits;

pub use again::Look;
pub use open::EmbeddedFrontier;
pub use records::{FORMAT, QueuedUrl};
pub use survey::Survey;
