//! A worker's visit to a leased host: robots.txt, the host's turn and its address's, its URLs one after the other with their
//! redirects, and what an answer means for host and URL. Only the frontier decides when a host may be visited; this module
//! keeps to what it says, and asks through [`crate::fetch`].

mod asks;
mod borrow;
pub(crate) mod claim;
pub mod doubt;
mod faults;
mod follow;
mod host;
mod lease;
mod lent;
pub(crate) mod loan;
mod names;
pub mod outage;
mod parking;
mod place;
mod redirect;
mod request;
pub mod retry;
mod robots;
pub mod rules;
pub(crate) mod sketch;
mod text;
mod visitor;
mod waits;

pub use outage::Outage;
pub use parking::Parking;
pub use visitor::Visitor;
pub use waits::Waits;
