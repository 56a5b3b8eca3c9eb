#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
//! Seine: a streaming crawl service.
//!
//! ARCHITECTURE.md lists the modules in the order in which a page passes them, and says which may import which. The
//! first line of each module says what it does.

pub mod api;
pub mod archive;
pub(crate) mod backup;
pub mod cli;
pub mod config;
pub mod crawl;
pub mod demo;
pub mod fetch;
pub mod judge;
pub mod shutdown;
pub mod signals;
pub mod sinks;
pub mod supervisor;
pub mod telemetry;
pub mod validate;
pub mod visit;
pub(crate) mod work;
