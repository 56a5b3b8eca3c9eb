//! A model of an Elasticsearch server: indices with mappings and external versions, aliases, templates, bulks. It has one node and
//! answers every request at once; the time is a parameter. `tests/elastic/model.rs` compares it with the real server.

// Each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

mod bulk;
mod index;
mod mapping;
mod routes;
mod server;

pub use server::{Reply, Server};
