//! A copy of a crawl from which it can go on, taken while it runs.
//!
//! What a backup has: the frontier with its notes, as they were at one moment; the page log at that moment or a little later, so that
//! it has every event that the frontier has not; the sinks' cursors from a little before, so that none is beyond the log; dead letters
//! from a little later, which may be there twice and are known by their ids; orders; what the crawl was started with. As after
//! `kill -9` at that moment, sinks may deliver again what they had delivered just before. What sinks have written is not in it: an
//! archive may be a thousand times as large, and is the user's own to copy, after the backup, so that it has what the cursors say.
//!
//! * `stream`: the way from a crawl's process to whoever keeps the copy: files in pieces.
//! * `send`: what a crawl says of itself, in that stream. `receive`: a folder made of it.
//! * `manifest`: what a backup consists of; it is written last. `restore`: a data folder made of it.
//! * `draft`: a folder that is being made, and is not mistaken for a whole one.

mod draft;
mod error;
mod manifest;
mod receive;
mod restore;
mod send;
mod stream;

pub use draft::refuse_half_restored;
pub use error::BackupError;
pub use manifest::Manifest;
pub use receive::receive;
pub use restore::restore;
pub use send::{FILLINGS, SendError, send};
