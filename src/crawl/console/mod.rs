//! The operator's questions and orders, the same for a running and a stopped crawl.

mod asks;
mod forget;
mod hosts;
mod orders;
mod past;
mod places;
mod retry;
mod seeds;
mod status;
mod why;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use seine_frontier::EmbeddedFrontier;
use seine_frontier::scope::CurrentScope;
use seine_page_log::PageLog;

use super::clients;
use super::limits::OrderedLimits;
use super::pauses::Pauses;
use crate::api::Refusal;
use crate::api::said::work::ClientStatus;
use crate::backup::{SendError, send};
use crate::config::Config;

pub(crate) use retry::reasons;
pub(crate) use status::Said;
pub(crate) use why::no_url;

/// Cheap to create for a running crawl.
pub(crate) struct Console {
    pub folder: PathBuf,
    /// Of this run, or of the last one.
    pub config: Arc<Config>,
    pub frontier: Arc<EmbeddedFrontier>,
    pub log: PageLog,
    pub scope: Arc<CurrentScope>,
    pub pauses: Arc<Pauses>,
    pub limits: Arc<OrderedLimits>,
    /// Remote workers; none for a stopped crawl.
    pub clients: Option<Arc<clients::Clients>>,
    /// Locked while something is being forgotten.
    pub forgetting: Arc<Mutex<()>>,
    /// Number of events accepted before this process started.
    pub accepted_before: u64,
}

impl Console {
    /// Remote workers as recorded by the last run.
    pub fn clients(&self) -> Result<Vec<ClientStatus>, Refusal> {
        Ok(clients::at_rest(&self.config.work, &*self.frontier)?)
    }

    /// Writes a backup of the crawl. Errors are also written into the output.
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
