//! `seine sinks refill`: delivers all pages again to a destination that lost them, while the crawl runs or at its next
//! start.
//!
//! The order is a file in [`FILLINGS`] until the sink has started again, so it survives a crash. The sink gets the
//! pages of an archive and then those of the page log; or every page is refetched.

use std::path::{Path, PathBuf};

use seine_system::folders::{if_there, make_private};

use super::anew;
use super::console::Console;
use super::filling;
use super::readers::{can_be_filled, own_archive};
use super::running::Running;
use crate::api::Refusal;
use crate::archive::inputs::ArchiveInputs;
use crate::archive::transfer_state::{TransferState, TransferStateError};
use crate::backup::FILLINGS;
use crate::config::SinkConfig;

/// First word of the task. Names of archives follow, or none for a refetch.
const TASK: &str = "refill";

/// Whether an order exists for this sink. Cheap; called between batches.
pub(super) fn is_ordered(folder: &Path, sink: &str) -> bool {
    order_file(folder, sink).exists()
}

fn order_file(folder: &Path, sink: &str) -> PathBuf {
    folder.join(FILLINGS).join(format!("{sink}.order.json"))
}

/// Resets the sink's counters if that was ordered. The sink is closed. An interrupted call starts again.
pub(super) fn obey(running: &Running, sink: &SinkConfig) -> anyhow::Result<()> {
    let path = order_file(&running.folder, sink.name());
    let Some(order) = TransferState::read(&path)? else { return Ok(()) };
    let names = order.task.get(1..).unwrap_or_default();
    anew::refill(running, sink.name(), names)?;
    if_there(std::fs::remove_file(&path))?;
    Ok(())
}

impl Console {
    /// `archives`: empty for the crawl's own. `refetch`: from the web instead.
    pub(super) fn refill_sink(&self, name: &str, archives: &[String], refetch: bool) -> Result<String, Refusal> {
        let Some(sink) = self.config.sink(name).filter(|sink| can_be_filled(sink)) else {
            let names: Vec<_> =
                self.config.sinks.iter().filter(|sink| can_be_filled(sink)).map(SinkConfig::name).collect();
            return Err(Refusal::NotFound(format!(
                "the sink {name} cannot be filled; these can: {}",
                names.join(", ")
            )));
        };
        if refetch && !archives.is_empty() {
            return Err(Refusal::Bad("give an archive or refetch, not both".to_owned()));
        }
        let names = match archives {
            _ if refetch => Vec::new(),
            [] => vec![self.own_archive_for(sink)?],
            given => given.to_vec(),
        };
        if let Some(relative) = names.iter().find(|name| !name.contains("://") && !Path::new(name).is_absolute()) {
            return Err(Refusal::Bad(format!("{relative}: give absolute paths of archives")));
        }
        if !refetch {
            ArchiveInputs::open(&names, filling::without_own(&self.folder, sink))
                .map_err(|problem| Refusal::Bad(problem.to_string()))?;
        }
        self.keep_order(name, &names)?;
        let from = if refetch { "the web: every page is refetched".to_owned() } else { names.join(", ") };
        Ok(format!(
            "{name} is filled again from {from}; its counters start at zero (at the next start, if the crawl is stopped)"
        ))
    }

    fn own_archive_for(&self, sink: &SinkConfig) -> Result<String, Refusal> {
        let archive = own_archive(&self.log.status(), &self.config, &self.folder, sink.name());
        let archive = archive.ok_or_else(|| {
            let problem = "no sink of this crawl has an archive of all pages";
            Refusal::Conflict(format!(
                "{problem}; give an archive with --from-archive, or refetch every page with --refetch"
            ))
        })?;
        let absolute = std::path::absolute(&archive).unwrap_or(archive);
        Ok(absolute.display().to_string())
    }

    fn keep_order(&self, sink: &str, names: &[String]) -> Result<(), Refusal> {
        let place = self.folder.join(FILLINGS);
        let failed = |why: String| Refusal::Failed(format!("the order cannot be stored: {why}"));
        make_private(&place).map_err(|error| failed(format!("{}: {error}", place.display())))?;
        let task = [TASK.to_owned()].into_iter().chain(names.iter().cloned()).collect();
        let order = TransferState { task, ..TransferState::default() };
        order.save(&order_file(&self.folder, sink)).map_err(|error: TransferStateError| failed(error.to_string()))
    }
}
