#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]
//!
//! Formats: one file each, bytes ⇄ records in both directions, no I/O of their own.
//!
//! `table` is the only list of formats, with one row each. A row ([`mod@format`]) has the name, the stored fields
//! ([`stored_fields`]), the detection by first bytes ([`sniff`]), the reader ([`records`]), the encoder ([`encoder`]), the
//! layout of files ([`layout`]) and the recovery of damaged files ([`recovery`]).

mod as_event;
pub mod base64;
pub mod cbor;
pub mod cdr31;
pub mod change;
pub mod chunked;
pub mod compressed_streams;
pub mod csv_cells;
pub mod elastic;
pub mod elastic_about;
pub mod elastic_mapping;
pub mod encoder;
pub mod files;
pub mod filesystem;
pub mod format;
pub mod http;
pub mod inflate;
mod json;
pub mod layout;
pub mod letters;
pub mod lines;
pub mod options;
pub mod pagestore;
pub mod records;
pub mod recovery;
pub mod sniff;
pub mod stored_fields;
mod table;
pub mod text;
pub mod tianwang;
pub mod warc;
pub mod web_index;
pub mod zlib_stream;

pub use format::Format;
