//! What a crawl is asked, and told, by its operator: the same for one that runs and for one that rests in its folder.

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

use super::clients;
use super::limits::OrderedLimits;
use super::pauses::Pauses;
use crate::api::Refusal;
use crate::api::said::work::ClientStatus;
use crate::backup::{SendError, send};
use crate::config::Config;
use crate::frontier::Frontier;
use crate::frontier::scope::CurrentScope;
use crate::page_log::PageLog;

pub(crate) use retry::reasons;
pub(crate) use status::Said;
pub(crate) use why::no_url;

/// Cheap to make of a running crawl.
pub(crate) struct Console {
    pub folder: PathBuf,
    /// Of this run, or of the last one.
    pub config: Arc<Config>,
    pub frontier: Arc<dyn Frontier>,
    pub log: PageLog,
    pub scope: Arc<CurrentScope>,
    pub pauses: Arc<Pauses>,
    pub limits: Arc<OrderedLimits>,
    /// Crawlers that take work; none of a crawl at rest.
    pub clients: Option<Arc<clients::Clients>>,
    /// Held while something is being forgotten.
    pub forgetting: Arc<Mutex<()>>,
    /// Events of the log that were accepted before this process came.
    pub accepted_before: u64,
}

impl Console {
    /// Crawlers that take work from this one, as they were when it last ran.
    pub fn clients(&self) -> Result<Vec<ClientStatus>, Refusal> {
        Ok(clients::at_rest(&self.config.work, &*self.frontier)?)
    }

    /// A copy of the crawl, for who keeps it. What goes wrong is said in what is written, too.
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
