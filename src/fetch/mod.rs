//! Fetching: a URL becomes a page event. [`client`] does one exchange, [`visit`] a whole fetch: robots.txt, the host's
//! turn, redirects. Only the frontier decides when a host may be visited; this module keeps to what it says.

pub mod address;
mod ask;
mod body;
mod borrow;
mod capture;
pub mod client;
mod cookies;
pub mod dns;
mod follow;
pub mod host;
mod learn;
pub mod pause;
mod plain;
mod redirect;
mod renewed;
pub mod robots;
mod sockets;
mod tap;
mod tapped;
mod transport;
pub mod visit;
pub mod weather;

pub use borrow::Parking;
pub use client::{Client, ClientError};
pub use dns::{Dns, DnsError};
pub use visit::Visitor;
pub use weather::Weather;
