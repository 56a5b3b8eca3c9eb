//! WARC (ISO 28500:2017, WARC/1.1): the archive format of the web. Records follow one another. Each has a version line,
//! fields, an empty line, a block with the length in `Content-Length`, and two line ends. In compressed files each
//! record is a gzip member.
//!
//! Seine writes these records for a page, in this order, all with the same `WARC-Date`:
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
//! * A message rebuilt from the client's report is marked `Seine-Message: rebuilt`. Every HTTP/2 message is rebuilt as
//!   HTTP/1.1, with `WARC-Protocol: h2` (the field that Nutch and StormCrawler use).
//! * `WARC-Payload-Digest` is omitted if the body is stored in its transfer coding. ISO 28500 defines the digest of the
//!   decoded body, warcio and FastWARC use the encoded one, so either value would look damaged to some tool. The
//!   block's digest is always written. A [`cdxj`] line has the digest that ISO 28500 defines.
//! * Record ids are derived from the event's id, so an event delivered twice has the same ids.
//! * Failures and sitemaps are not stored: without a response there is nothing to archive.
//! * ACHE's extension fields (`ACHE-Requested-URL`, `ACHE-Relevance`, `ACHE-IsRelevant`) are written.
//!
//! Seine's own extension fields:
//!
//! | field | value |
//! |---|---|
//! | `Seine-Message` | `rebuilt`, see above |
//! | `Seine-Fetch-Ms` | milliseconds from the request to the body's last byte |
//! | `Seine-Redirects-To` | on a redirect: the id of the final record |
//! | `Seine-Relevance-Model` | the page classifier that gave the relevance, if any |
//! | `Seine-Preferences` | the publisher's statements about the use of the page, JSON as [`Statement`](seine_parse::page::preferences::Statement) |

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
