#![forbid(unsafe_code)]
//! Seine: a streaming crawl service.
//!
//! ARCHITECTURE.md lists the modules in the order in which a page passes them, and says which may import which. The
//! first line of each module says what it does.

pub mod api;
pub mod archive;
pub mod backup;
pub mod cli;
pub mod config;
pub mod crawl;
pub mod demo;
pub mod fetch;
pub mod shutdown;
pub mod signals;
pub mod sinks;
pub mod supervisor;
pub mod telemetry;
pub mod validate;
pub mod visit;
pub(crate) mod work;

pub use seine_delivery::{self as delivery, large};
pub use seine_formats as formats;
pub use seine_frontier as frontier;
pub use seine_page_log as page_log;
pub use seine_parse as parse;
pub use seine_parse::page;
pub use seine_policies::{budgets, duplicates, focus, relevance, revisit, traps};
pub use seine_simulation_hooks::{outside, planted};
pub use seine_system::{blocking, clock, descriptors, disk, folders};
