//! A start on a full disk waits for space, like a running crawl, because nobody may be there to start it again. Nothing
//! is running yet, so a signal ends it at once.

use std::error::Error;
use std::io::ErrorKind;
use std::iter::successors;
use std::time::Duration;

use seine_frontier::{EmbeddedFrontier, FrontierError};
use seine_system::blocking::block_on;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::error::CrawlError;
use crate::signals::Signals;

const CHECK_EVERY: Duration = Duration::from_secs(1);

pub(super) struct StartDiskSpace {
    signals: Signals,
    is_reported: bool,
}

impl StartDiskSpace {
    pub(super) fn new(signals: Signals) -> StartDiskSpace {
        StartDiskSpace { signals, is_reported: false }
    }

    /// For the crawl that follows.
    pub(super) fn into_signals(self) -> Signals {
        self.signals
    }

    /// Opens a store; waits while the disk is full.
    pub(super) fn open<T>(
        &mut self,
        mut open: impl FnMut(&mut StartDiskSpace) -> Result<T, CrawlError>,
    ) -> Result<T, CrawlError> {
        loop {
            match open(self) {
                Err(error) if is_full(&error) => self.wait(&error)?,
                opened => return opened,
            }
        }
    }

    /// Writes to the frontier; waits while the disk is full.
    pub(super) fn write<T>(
        &mut self,
        frontier: &EmbeddedFrontier,
        write: impl Fn() -> Result<T, FrontierError>,
    ) -> Result<T, CrawlError> {
        loop {
            match write() {
                Err(error) if error.is_waiting() => {
                    self.wait(&error)?;
                    if let Err(error) = frontier.restore() {
                        tracing::debug!(%error, "the frontier waits");
                    }
                }
                written => return Ok(written?),
            }
        }
    }

    fn wait(&mut self, error: &dyn Error) -> Result<(), CrawlError> {
        if !std::mem::replace(&mut self.is_reported, true) {
            tracing::warn!(error = error.to_string(), "the crawl begins when the disk has room");
        }
        match block_on(&Handle::current(), async { timeout(CHECK_EVERY, self.signals.end()).await }) {
            Ok(()) => Err(CrawlError::Stopped),
            Err(_) => Ok(()),
        }
    }
}

fn is_full(error: &CrawlError) -> bool {
    let mut causes = successors(Some(error as &(dyn Error + 'static)), |&error| error.source());
    causes.any(|cause| {
        let kind = cause.downcast_ref().map(std::io::Error::kind);
        matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
    })
}
