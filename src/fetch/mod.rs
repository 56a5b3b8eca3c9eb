//! Requests: one request and its response, within limits. [`client`] sends a request; [`Dns`] resolves names.
//! `crate::visit` decides what to request, when, and what a response means.

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
mod patience;
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
