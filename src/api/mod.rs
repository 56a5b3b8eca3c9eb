//! The HTTP API, for the operator of a crawl and for other programs. `openapi.json` describes it, served as
//! `/api/v1/openapi.json`. This module does not know the crawl, only a [`Service`].

mod access;
mod backup;
pub mod client;
mod connection_slots;
mod live;
mod page;
mod problem;
mod rates;
mod routes;
pub mod schema;
mod seeds;
mod server;
mod service;
mod slow_body;
mod uploads;
mod work;

pub use problem::{Problem, Refusal};
pub use server::{ListenError, listen};
pub(crate) use server::{Presence, is_answered, listen_in};
pub use service::{Service, WorkDesk};
