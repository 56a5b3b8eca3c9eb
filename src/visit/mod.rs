//! A worker's visit to a leased host: robots.txt, delay and politeness slot, its URLs one by one with their redirects,
//! and what a response means for host and URL. Only the frontier decides when a host may be visited. This module obeys
//! it, and sends requests through [`crate::fetch`].

mod borrow;
mod faults;
mod follow;
mod host;
mod journal;
mod lease;
mod lent;
pub(crate) mod loan;
pub mod outage;
mod parking;
mod request;
mod requests;
pub(crate) mod reserving;
mod robots;
pub mod rules;
mod slots;
mod text;
mod url_reservation;
mod visitor;
mod waits;
mod witnesses;

pub use visitor::{Services, Visitor};
