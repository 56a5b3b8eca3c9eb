//! The embedded frontier's memory: hosts with queued URLs by due time, leases, and URLs in flight.
//!
//! It is rebuilt from the host records at every start. Nothing here accesses the disk, so its lock is held only for
//! microseconds.

mod aside;
mod crowds;
mod due;
mod fair;
mod host;
mod leases;
mod look;
mod packed;
mod queue;
mod rebuilt;
mod state;
mod totals;

pub use host::{HostRecord, NEVER};
pub use leases::HostClaim;
pub use queue::{Candidate, Claim, Found, Queue};
pub use state::Schedule;
pub use totals::Totals;
