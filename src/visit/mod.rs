//! A worker's visit to a leased host: robots.txt, delay and politeness slot, its URLs one by one with their redirects,
//! and what a response means for host and URL. Only the frontier decides when a host may be visited. This module obeys
//! it, and sends requests through [`crate::fetch`].

mod body_reader;
mod borrow;
mod control_answers;
mod event_writer;
mod faults;
mod follow;
mod host_visit;
mod leased_host;
mod lent;
pub(crate) mod loan;
mod other_hosts;
pub mod outage;
mod parking;
mod request_sender;
mod requester;
pub(crate) mod reserving;
mod robots;
pub mod rules_cache;
pub(crate) mod shorter_delays;
mod slots;
mod url_reservation;
mod visitor;
mod waits;

pub use visitor::{Services, Visitor};
