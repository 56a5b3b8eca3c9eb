//! A model of an Elasticsearch server, held against the real one by `tests/elastic/model.rs`: indices with mappings and external
//! versions, aliases, templates, bulks. One node; every request is answered at once, at a time that is handed in.

// Each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

mod bulk;
mod index;
mod mapping;
mod routes;
mod server;

pub use server::{Reply, Server};
