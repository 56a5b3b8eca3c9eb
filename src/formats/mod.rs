//! Formats: one file each, bytes ⇄ records, both ways, no I/O of their own.
//!
//! `table` has a row for each, the only list. A row ([`mod@format`]) says its name, what it holds of a page ([`held`]), how
//! its bytes begin ([`sniff`]), its reader ([`records`]), its encoder ([`encoder`]), what its files look like
//! ([`layout`]) and how its records are found again ([`recovery`]).

mod as_event;
pub mod base64;
pub mod cbor;
pub mod cdr31;
pub(crate) mod change;
pub mod chunked;
pub(crate) mod compressed_streams;
pub mod csv_cells;
pub mod elastic;
pub mod elastic_about;
pub mod elastic_mapping;
pub mod encoder;
pub mod files;
pub mod filesystem;
pub(crate) mod format;
pub mod held;
pub mod http;
pub(crate) mod inflate;
mod json;
pub mod layout;
pub mod letters;
pub mod lines;
pub mod options;
pub mod pagestore;
pub mod records;
pub(crate) mod recovery;
pub(crate) mod sniff;
mod table;
pub mod text;
pub mod tianwang;
pub mod warc;
pub mod web_index;
pub mod zlib_stream;

pub use format::Format;
