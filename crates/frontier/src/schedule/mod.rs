//! The embedded frontier's memory: hosts with queued URLs by due time, leases, and URLs in flight.
//!
//! It is rebuilt from the host records at every start. Nothing here accesses the disk, so its lock is held only for
//! microseconds.

mod aside;
mod domain_queues;
mod due;
mod fair;
mod host;
mod leases;
mod packed;
mod queue;
mod rebuilt;
mod record;
mod rests;
mod snapshot;
mod state;
mod totals;

pub use leases::BLOCKED_REST_MS;
pub(crate) use leases::HostChoice;
pub(crate) use queue::{Candidate, ChosenHost, Found, Queue};
pub use record::HostRecord;
pub(crate) use record::NEVER;
pub(crate) use state::Schedule;
pub(crate) use totals::Totals;
