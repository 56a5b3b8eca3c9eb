//! Formats: one file each, bytes ⇄ records, both ways, no I/O of their own.

mod as_event;
pub mod base64;
pub mod cbor;
pub mod cdr31;
pub mod chunked;
pub mod csv_cells;
pub mod elastic;
pub mod elastic_mapping;
pub mod files;
pub mod filesystem;
pub mod http;
pub mod inflate;
pub mod letters;
pub mod lines;
pub mod pagestore;
pub mod text;
pub mod tianwang;
pub mod warc;
pub mod web_index;
pub mod zlib_stream;
