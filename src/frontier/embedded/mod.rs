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
//! Locks, in the order they are taken: `writer` (one propose or apply at a time, looks into the store included),
//! `host_writes` (so that host records reach the store in the order they were made), the schedule's (microseconds), the
//! ledger's (a look at an account in the store included).
//! That of the claims is taken alone or behind `writer`, and held for a look into the store. That of `contents` is taken alone or
//! behind all others, and held for nothing.

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

pub use again::Look;
pub use open::EmbeddedFrontier;
pub use records::{FORMAT, QueuedUrl};
pub use survey::Survey;
