//! Backups: a copy of a running crawl, from which the crawl can continue.
//!
//! A backup contains:
//!
//! - the frontier with its notes, as of one moment;
//! - the page log from that moment or slightly later, so that it has every event that the frontier does not have;
//! - the cursors of the sinks from slightly earlier, so that none is beyond the log;
//! - dead letters from slightly later; some may occur twice and are recognised by their ids;
//! - the operator's orders, and the configuration that the crawl was started with.
//!
//! Restoring it is like a restart after `kill -9`: sinks may deliver their last pages again. The output of sinks is not
//! in the backup, since an archive may be a thousand times larger. Copy it yourself after the backup, so that it has
//! everything that the cursors count as delivered.
//!
//! * `stream`: the format in which the crawl sends the copy: files in pieces.
//! * `send`: the crawl writes its copy to such a stream. `receive`: makes a folder from the stream.
//! * `manifest`: the list of files, written last. `restore`: makes a data folder from a backup.
//! * `draft`: a folder in the making, which cannot be mistaken for a complete one.

mod draft;
mod error;
mod manifest;
mod receive;
mod restore;
mod send;
mod stream;

pub(crate) use draft::refuse_half_restored;
pub(crate) use error::BackupError;
pub(crate) use manifest::Manifest;
pub(crate) use receive::receive;
pub(crate) use restore::{noticed, restore, was_restored};
pub(crate) use send::{FILLINGS, SendError, send};
