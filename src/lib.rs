#![forbid(unsafe_code)]
//! Seine: a streaming crawl service.
//!
//! # Layout
//!
//! The folders are the user's nouns; a page walks through them in this order.
//!
//! * [`config`]: what the user asked for: raw (what the file says) → checked (types that cannot be wrong).
//! * [`page`]: the event, what one fetch of one URL brought: plain data, no I/O.
//! * [`frontier`]: `work_proposed` and `page`: which URL is due, on which host, when.
//! * [`visit`]: a worker at a leased host: robots.txt, turns, redirects, what an answer means.
//! * [`fetch`]: one request and its answer: DNS, TLS, limits.
//! * [`descriptors`]: open files: how many there may be, and whose.
//! * [`large`]: pages that are large once decoded, few at a time.
//! * [`parse`]: pure functions of bytes: links, title, charset, sitemaps, robots.txt.
//! * [`delivery`]: what is delivered and how far: the entry, its place, a reader's cursor.
//! * [`page_log`]: `page_proposed`: the page log, where an event becomes accepted.
//! * [`revisit`]: when a page is looked at again.
//! * [`relevance`]: page classifiers, and the one that learns from examples.
//! * [`traps`]: pages without end that bring nothing new.
//! * [`focus`]: which links are worth following.
//! * [`budgets`]: how much a crawl, a host or a domain may bring.
//! * [`duplicates`]: by which bits of a text's fingerprint near copies are found.
//! * [`validate`]: the log's first reader: compares with `page`, proposes new work.
//! * [`formats`]: one file a format: bytes ⇄ records, both ways, no I/O.
//! * [`sinks`]: destinations, each taking any encoder that suits it.
//! * [`archive`]: files of any format, read as pages and written as any other.
//! * [`backup`]: a copy of a crawl from which it can go on.
//! * [`shutdown`]: the way to the end of a run, one value that everybody watches.
//! * [`supervisor`]: keeps every long-running part alive; the only one that retries.
//! * [`folders`]: a crawl's own folders are for its owner alone.
//! * [`telemetry`]: logs, metrics, health, progress.
//! * [`api`]: the HTTP API: what is asked of a crawl, and ordered.
//! * [`crawl`]: puts the parts together into a running crawl.
//! * `work`: a crawler that works for another, over its API.
//! * [`demo`]: the website that `seine demo` crawls.
//! * [`cli`]: one file a command.

pub mod api;
pub mod archive;
pub mod backup;
pub mod budgets;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crawl;
pub mod delivery;
pub mod demo;
pub mod descriptors;
mod disk;
pub mod duplicates;
pub mod fetch;
pub mod focus;
pub(crate) mod folders;
pub mod formats;
pub mod frontier;
pub(crate) mod large;
pub mod page;
pub mod page_log;
pub mod parse;
pub mod relevance;
pub mod revisit;
pub mod shutdown;
pub(crate) mod signals;
pub mod sinks;
pub mod supervisor;
pub mod telemetry;
pub mod traps;
pub mod validate;
pub mod visit;
pub(crate) mod work;
