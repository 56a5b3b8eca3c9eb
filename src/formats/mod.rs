//! Formats: one file each, bytes ⇄ records, both ways, no I/O of their own.

pub mod base64;
pub mod cdr31;
pub mod chunked;
pub mod elastic;
pub mod elastic_mapping;
pub mod files;
pub mod http;
pub mod inflate;
pub mod letters;
pub mod text;
pub mod warc;
pub mod zlib_stream;
