//! Fetching: a URL becomes a page event. [`client`] does one exchange, [`visit`] a whole fetch: robots.txt, the host's
//! turn, redirects. Only the frontier decides when a host may be visited; this module keeps to what it says.

pub mod address;
mod borrow;
pub mod client;
pub mod dns;
pub mod host;
mod learn;
pub mod pause;
pub mod robots;
pub mod visit;

pub use borrow::Parking;
pub use client::{Client, ClientError};
pub use dns::{Dns, DnsError};
pub use visit::Visitor;
