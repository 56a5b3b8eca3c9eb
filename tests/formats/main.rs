//! The formats: what is written, what is read, and what comes of damage. One file a format.

mod files;
mod http;
