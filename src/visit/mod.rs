//! A worker's visit to a leased host: robots.txt, delay and politeness slot, its URLs one by one with their redirects,
//! and what a response means for host and URL. Only the frontier decides when a host may be visited. This module obeys
//! it, and sends requests through [`crate::fetch`].

mod borrow;
mod faults;
mod follow;
mod leased_host;
mod event_writer;
mod visit;
mod lent;
pub(crate) mod loan;
pub mod outage;
mod parking;
mod requester;
mod request_sender;
pub(crate) mod reserving;
mod robots;
pub mod rules_cache;
mod slots;
mod body_reader;
mod url_reservation;
mod visitor;
mod waits;
mod control_answers;

pub use visitor::{Services, Visitor};
