//! A copy of the crawl, for who keeps it.

use std::io::Write;

use super::Console;
use crate::backup::{SendError, send};

impl Console {
    /// What goes wrong is said in what is written, too.
    pub fn backup(&self, out: &mut dyn Write, by: &str) -> Result<(), SendError> {
        tracing::info!(by, "a backup is being taken");
        let sent = send(&self.folder, &*self.frontier, &self.log, out);
        match &sent {
            Ok(()) => tracing::info!(by, "the backup has everything"),
            Err(error) => tracing::warn!(by, %error, "no backup was taken"),
        }
        sent
    }
}
