//! The embedded frontier's memory: hosts with work by the time they may be visited, leases, and URLs in flight.
//!
//! All of it is rebuilt from the host records at the opening. Nothing here touches the disk, so its lock is held for
//! microseconds only.

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
