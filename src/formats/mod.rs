//! Formats: one file each, bytes ⇄ records, both ways, no I/O of their own.

pub mod base64;
pub mod elastic;
pub mod elastic_mapping;
pub mod files;
pub mod inflate;
pub mod text;
pub mod zlib_stream;
