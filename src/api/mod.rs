//! The HTTP API: what a crawl's operator, and other programs, may look at and steer. `openapi.json` describes it; it is served as
//! `/api/v1/openapi.json`. Knows no crawl: whoever serves it is a [`Service`].

mod access;
mod backup;
pub mod client;
mod connection;
mod live;
mod page;
mod places;
mod problem;
mod rates;
mod routes;
pub mod said;
mod seeds;
mod server;
mod service;
mod slow_body;
mod uploads;
mod work;

pub use problem::{Problem, Refusal};
pub use server::{ListenError, Port, Presence, Socket, is_answered, listen, listen_in};
pub use service::{Service, WorkDesk};
