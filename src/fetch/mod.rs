//! Asking: one request and its answer, read under limits. [`client`] does one exchange; names are looked up by [`Dns`].
//! Whom to ask, when, and what an answer means is the visit's (`crate::visit`).

mod address;
mod answer;
mod body;
mod capture;
pub mod client;
mod cookies;
mod counts;
mod dns;
mod error;
pub mod network;
mod plain;
mod pool;
mod sockets;
mod stages;
mod tap;
mod tapped;

pub use client::Client;
pub(crate) use cookies::Jar;
pub use counts::RequestCounts;
pub use dns::{Dns, DnsError};
pub use error::ClientError;
