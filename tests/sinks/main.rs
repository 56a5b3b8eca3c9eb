//! The sinks at their public edge. One file a kind of sink.

mod appended;
mod files;
mod filesystem;
mod pagestore;
mod records;
