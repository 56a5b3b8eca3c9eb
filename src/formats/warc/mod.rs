//! WARC (ISO 28500:2017, WARC/1.1): the archive format of the web. Records one behind the other, each a version line,
//! fields, an empty line, a block of as many bytes as `Content-Length` says, and two line ends; compressed, each record is
//! a gzip member of its own.
//!
//! What Seine writes of a page, in this order, all with the same `WARC-Date`:
//!
//! | record | block | in the file when |
//! |---|---|---|
//! | `response`, one a redirect | the redirect's head, rebuilt | it was redirected |
//! | `response` | the response, byte for byte as it came over the connection, or rebuilt | |
//! | or `revisit` | the response's head | a 304, or the same payload as before |
//! | `request` | the request | the client told what it sent |
//! | `metadata` | `hopsFromSeed`, `fetchTimeMs`, `outlink` | asked for |
//!
//! Decisions:
//!
//! * A message that was rebuilt from what the client told says so: `Seine-Message: rebuilt`. So is every HTTP/2 message,
//!   as HTTP/1.1, with `WARC-Protocol: h2` (the field that Nutch and StormCrawler use).
//! * `WARC-Payload-Digest` is left out where the body is still in its transfer coding: ISO 28500 takes the digest of the
//!   body without the coding, warcio and FastWARC of the body with it, and either way somebody finds the record damaged.
//!   The block's digest is always there. A [`cdxj`] line has the digest that ISO 28500 means.
//! * Record ids come from the event's id, so that an event delivered twice has the same ids.
//! * Failures and sitemaps are not held: without a response there is nothing to archive.
//! * ACHE's extension fields (`ACHE-Requested-URL`, `ACHE-Relevance`, `ACHE-IsRelevant`) are kept. Ours are
//!   `Seine-Message`, `Seine-Fetch-Ms` (milliseconds from the request to the body's last byte), `Seine-Redirects-To`
//!   (on a redirect: the id of the record where it led in the end), `Seine-Relevance-Model` (the page classifier that the
//!   relevance is by, where one was asked) and `Seine-Preferences` (what publishers ask, JSON as
//!   [`Statement`](crate::page::preferences::Statement)).

pub mod cdxj;
mod digest;
mod error;
mod format;
mod member_reader;
pub mod pages;
pub mod read;
mod record;
mod revisits;
mod salvage;
pub mod surt;
mod version;
pub mod write;

pub use digest::DigestVerdict;
pub use error::WarcError;
pub use format::FORMAT;
pub use pages::WarcPages;
pub use read::WarcReader;
pub use record::{WarcLocation, WarcRecord};
pub use write::WarcWriter;
